//! What was said, and how the vehicle was set up.

use logtool::{
    Result, formats::LogFormat, input::open::Opened, read::Reader, rows::Rows,
    time::clock::ShownClock, units::counted,
};
use logtool_core::{Columns, Selection, TimeRange, Timestamp};
use logtool_plot::{Block, Row};
use logtool_ulog::UlogLog;

use crate::{
    args::{LevelChoice, Order},
    commands::{
        messages,
        params::{Shown, is_non_default, or_nothing},
        report::Seen,
    },
};

/// More messages than these are not shown.
const MOST: usize = 5000;

/// The messages and events, as a table, with times of the `clock`.
pub(super) fn messages(
    opened: &Opened,
    time: TimeRange,
    clock: ShownClock,
    seen: &mut Seen,
) -> Result<Vec<Block>> {
    let (log, manifest) = (&*opened.log, opened.log.manifest());
    let Ok((topics, text, _)) = messages::said(manifest) else { return Ok(Vec::new()) };
    let selection = Selection { topics, time };
    let reader = Reader::new(
        log,
        selection,
        Order::File,
        Columns::default(),
        text,
        move |_, rows, row, said: &mut Vec<(Timestamp, Row)>| {
            said.push((rows.time(row), line(rows, row, &clock)));
        },
    );
    let mut all: Vec<(Timestamp, Row)> = Vec::new();
    let mut more = 0;
    reader.each(
        &mut |said| {
            let shown = said.len().min(MOST - all.len());
            all.extend(said.drain(..shown));
            more += said.drain(..).len() as u64;
            Ok(true)
        },
        &mut |damage| {
            seen.damage.extend_from_slice(damage);
            Ok(())
        },
    )?;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    all.sort_by_key(|(time, _)| *time);
    let rows = all.into_iter().map(|(_, row)| row).collect();
    let head = ["time", "level", "message"].map(str::to_owned).to_vec();
    let mut blocks = vec![Block::Table(head, rows)];
    if more > 0 {
        blocks.push(Block::Note(format!("and {} more", counted(more, "message"))));
    }
    Ok(blocks)
}

/// What was said in row number `row`.
fn line(rows: &Rows, row: usize, clock: &ShownClock) -> Row {
    let mut line = Vec::new();
    rows.write(row, clock, None, &mut line);
    let line = String::from_utf8_lossy(&line);
    // `[time] LEVEL  text`
    let (time, rest) = line.trim_end().split_once("] ").unwrap_or(("", &line));
    let (level, text) = rest.split_once(' ').unwrap_or(("", rest));
    let cells = [time.trim_start_matches('['), level, text.trim_start()];
    Row {
        cells: cells.map(str::to_owned).to_vec(),
        is_warning: rows.is_urgent(row, LevelChoice::Warning),
    }
}

/// The parameters that are not at their default; all, where the log knows no defaults.
pub(super) fn parameters(opened: &Opened) -> Result<Vec<Block>> {
    if LogFormat::of(opened.log.manifest()) != Some(LogFormat::Ulog) {
        return Ok(Vec::new());
    }
    let source = opened.input.source.clone();
    let log = UlogLog::open(source, logtool_core::OpenOptions::default())?;
    let all = &log.metadata().parameters;
    let has_defaults =
        all.values().any(|p| p.system_default.or(p.setup_default).is_some());
    let wanted = all.iter().filter(|(_, p)| !has_defaults || is_non_default(p, false));
    let rows: Vec<Row> = wanted
        .map(|(name, parameter)| Row {
            cells: vec![
                name.clone(),
                Shown(parameter.value).to_string(),
                or_nothing(parameter.setup_default.or(parameter.system_default)),
                match parameter.changes.len() {
                    0 => String::new(),
                    times => counted(times as u64, "change"),
                },
            ],
            is_warning: false,
        })
        .collect();
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let count = counted(rows.len() as u64, "parameter");
    let note = match has_defaults {
        true => format!("{count} not at the default, of {}", all.len()),
        false => format!("{count}; the log does not say what the defaults are"),
    };
    let head =
        ["name", "value", "default", "while logging"].map(str::to_owned).to_vec();
    Ok(vec![Block::Note(note), Block::Table(head, rows)])
}
