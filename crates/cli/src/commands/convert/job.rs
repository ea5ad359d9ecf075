//! The conversion of one log.

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressStyle};
use logtool_core::{
    Columns, Damage, Labels, Selection, TableJob, TopicSet, View, to_tables,
};
use logtool_sinks::{Existing, Outputs};

use crate::{
    args::{ConvertArgs, GlobalArgs, Layout, Target},
    clock::ShownClock,
    commands::convert::sink::{self, Counted},
    complaint::Complaint,
    findings::Findings,
    human::{Bytes, Span, counted},
    opened::{self, Opened},
    outcome::Outcome,
    selection,
    terminal::{self, say},
};

/// Converts `input` into tables in the folder `place`.
pub(super) fn run(
    input: &Path,
    place: &Path,
    args: &ConvertArgs,
    labels: Option<Arc<Labels>>,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let start = Instant::now();
    let opened = opened::open(input, global)?;
    let name = &opened.input.name;
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;

    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let outputs = Outputs::new(place, existing);
    let bar = progress(&opened, global);
    let made = write_tables(&opened, &outputs, args, labels, &bar);
    bar.finish_and_clear();
    let made = made.with_context(|| name.clone())?;
    findings.add(opened.log.manifest(), &made.topics, &made.damage);
    findings.check(global.strict)?;
    let files = outputs.commit().map_err(explained).with_context(|| name.clone())?;

    if !global.quiet {
        let len = |path| fs::metadata(path).map_or(0, |about| about.len());
        let took = start.elapsed();
        let speed =
            opened.input.source.len() as f64 / 1e6 / took.as_secs_f64().max(1e-6);
        say!(
            "{name} → {}: {}, {}, {} in {} ({speed:.0} MB/s)",
            place.join("").display(),
            counted(files.len() as u64, "table"),
            counted(made.rows, "row"),
            Bytes(files.iter().map(len).sum()),
            Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
        );
    }
    Ok(findings.tell(global.quiet))
}

/// What was made, before it gets its names.
struct Made {
    topics: TopicSet,
    rows: u64,
    damage: Vec<Damage>,
}

fn write_tables(
    opened: &Opened,
    outputs: &Arc<Outputs>,
    args: &ConvertArgs,
    labels: Option<Arc<Labels>>,
    bar: &ProgressBar,
) -> Result<Made> {
    let log = &*opened.log;
    let manifest = log.manifest();
    let clock = ShownClock::new(manifest, args.clock.time)?;
    let time = clock.range(args.records.from, args.end())?;
    let mut topics = selection::topics(manifest, &args.records.topics, true)?;
    let columns = Columns { view: view(args), only: None, labels };
    let columns_of = selection::columns(log, &mut topics, &columns, &args.fields)?;
    let sink = Counted::new(sink::new(opened, outputs, args));
    let job = TableJob {
        selection: Selection { topics: topics.clone(), time },
        columns,
        columns_of,
        time: clock.base(),
        part_bytes: part_bytes(manifest.bytes),
        progress: &|bytes| bar.inc(bytes),
    };
    let report = to_tables(log, &job, &sink).map_err(explained)?;
    let rows = sink.rows.load(Ordering::Relaxed);
    Ok(Made { topics, rows, damage: report.damage })
}

/// How much of the log is decoded at a time: little enough that every processor gets
/// some of it, and that what is decoded stays small.
fn part_bytes(bytes: u64) -> u64 {
    let threads = rayon::current_num_threads() as u64;
    (bytes / (threads * 4)).clamp(1 << 20, 4 << 20)
}

fn view(args: &ConvertArgs) -> View {
    let is_flat = args.flat || args.layout == Some(Layout::Flat);
    if is_flat || args.target() == Target::Csv { View::Flat } else { View::Nested }
}

/// `err`, with the hint that its text has as a hint of its own.
fn explained(err: logtool_core::Error) -> anyhow::Error {
    let text = err.to_string();
    let Some((what, _)) = text.split_once(" (--force") else { return err.into() };
    let what = what.split_once(": ").map_or(what, |(_, what)| what);
    Complaint::new(what).hint("--force replaces what is there").into()
}

/// A bar, where somebody looks.
fn progress(opened: &Opened, global: &GlobalArgs) -> ProgressBar {
    if global.quiet || !terminal::stderr_is_seen() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(opened.log.manifest().bytes);
    let style = "{prefix} {wide_bar} {bytes}/{total_bytes}  {bytes_per_sec}  {eta}";
    let style = ProgressStyle::with_template(style);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(opened.input.name.clone());
    bar
}
