//! `logtool plot`: fields over time.

use std::{collections::BTreeMap, io::Write as _, time::Instant};

use logtool::{
    Error, Result,
    error::Context as _,
    input::open::{self, Opened},
    lidar,
    losses::Findings,
    output::{guarded, provenance},
    px4_modes,
    signals::{self, Wanted},
    time::{
        clock::{ShownClock, TextTime},
        record_span::{self, Span},
    },
    units::{self, Count, counted},
};
use logtool_core::{Log, Manifest, Provenance, TimeRange, Timestamp};
use logtool_plot::{
    Band, Chart, LOOKS, Line, Panel, Signal, TimeAxis, png, with_metadata, with_texts,
};
use logtool_sinks::{Existing, TrackModes};

use crate::{
    args::{GlobalArgs, PlotArgs, TimeChoice},
    exit_status::Outcome,
    lidar_options, notices, progress,
    terminal::say,
};

/// How wide a picture is, and how high each of its plots, where nobody says.
const WIDTH: u32 = 1000;
const PLOT_HEIGHT: u32 = 260;
/// The axis of time, what is around, and rows of names.
const OTHER_HEIGHT: u32 = 90;

/// A second and a day, in nanoseconds.
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400_000_000_000;

/// Nobody wants to read so many seconds since the start of a log: eleven days.
const FAR: i64 = 1_000_000 * SECOND;

pub(super) fn run(args: &PlotArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let end = args.out.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let is_png = end.eq_ignore_ascii_case("png");
    let name = args.out.file_name().map(|name| name.to_string_lossy());
    let is_svg = end.eq_ignore_ascii_case("svg");
    let Some(name) = name.filter(|_| is_png || is_svg) else {
        let what = format!("{} is no picture", args.out.display());
        return Err(Error::invalid(what).with_hint("it has to end in .svg or .png"));
    };
    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let outputs = guarded::one_file(&args.out, existing, &global.session)?;
    let mut staged = outputs.create(&name)?;

    let lidar = lidar_options::options(&args.lidar, args.clock)?;
    let opened = open::open_with(&args.file, &global.session, &lidar)?;
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;
    let drawn =
        draw(args, &opened, global).with_context(|| opened.input.name.clone())?;
    let topics = drawn.wanted.iter().map(|wanted| wanted.topic).collect();
    findings.add(opened.log.manifest(), &topics, &drawn.damage);
    findings.check(global.strict)?;
    let svg = drawn.chart.svg()?;
    let provenance = provenance::of([&opened.input], &global.session)?.json();
    let mut missing = String::new();
    let bytes = match is_png {
        true => {
            let name = format!("logtool.{}", Provenance::NAME);
            let texts = BTreeMap::from([(name, provenance)]);
            let painted = png(&svg, f32::from(args.scale))?;
            missing = painted.missing;
            with_texts(painted.png, &texts)
        }
        false => with_metadata(&svg, &provenance).into_bytes(),
    };
    staged.write_all(&bytes)?;
    staged.finish()?;
    outputs.commit()?;
    if !global.quiet {
        let lines = drawn.chart.panels.iter().flat_map(|panel| &panel.lines);
        let values = lines.clone().map(|line| line.signal.values).sum();
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        say!(
            "{} → {}: {} of {} in {}",
            opened.input.name,
            args.out.display(),
            counted(lines.clone().count() as u64, "line"),
            counted(values, "value"),
            units::Span(took),
        );
        // Those that are at other times are told of below.
        let left_out = |line: &Line| line.signal.left_out - line.signal.astray;
        for line in lines.filter(|line| left_out(line) > 0) {
            let (name, count) = (&line.name, Count(left_out(line)));
            say!("  {name}: {count} left out, no number or without a time");
        }
        if !missing.is_empty() {
            say!(
                "  boxes are characters that no font here has, as {missing}: SVG has them"
            );
        }
        if let Some(stray) = &drawn.stray {
            say!("  {stray}; --start and --end choose other times");
        }
        for panel in drawn.chart.panels.iter().filter(|p| p.lines.len() > LOOKS) {
            let lines = counted(panel.lines.len() as u64, "line");
            say!("  {lines} in one plot: only {LOOKS} look different from each other");
        }
        let manifest = opened.log.manifest();
        for left_out in lidar::left_out(manifest, &topics) {
            say!("  {left_out}");
        }
        notices::lidars(&opened.input.name, manifest, &topics);
    }
    Ok(notices::losses(findings, global.quiet))
}

/// What is to be drawn.
struct Drawn {
    wanted: Vec<Wanted>,
    chart: Chart,
    damage: Vec<logtool_core::Damage>,
    /// What is told of values that are far from all others.
    stray: Option<String>,
}

/// What is told of `signals` of which values are left out, as their times are far from all
/// others.
pub(super) fn stray<'s>(
    signals: impl Iterator<Item = &'s Signal>,
    span: &Span,
    clock: &ShownClock,
) -> Option<String> {
    let astray: u64 = signals.map(|signal| signal.astray).sum();
    let astray = Some(astray).filter(|astray| *astray > 0)?;
    let values = counted(astray, "value");
    let far = "at times far from those of the log";
    let at = span.stray.map(|time| format!(", as {}", clock.typed(time)));
    Some(format!("not shown: {values} {far}{}", at.unwrap_or_default()))
}

fn draw(args: &PlotArgs, opened: &Opened, global: &GlobalArgs) -> Result<Drawn> {
    let log = &*opened.log;
    let manifest = log.manifest();
    let clock = ShownClock::new(manifest, args.clock)?;
    let wanted = signals::find(log, &args.fields)?;
    let asked = clock.range(args.time.start, args.time.end)?;
    let wanted = signals::each(log, wanted, asked)?;
    if record_span::within(asked, record_span::near(manifest)).is_empty() {
        return Err(Error::failed("the log has nothing at that time"));
    }
    let (width, columns) = match args.size {
        Some((width, _)) => (width, width as usize * usize::from(args.scale)),
        None => (WIDTH, WIDTH as usize * usize::from(args.scale)),
    };
    let bar = progress::bar(&opened.input.name, manifest.bytes, global);
    let read = signals::read(log, &wanted, asked, columns, &|bytes| bar.inc(bytes));
    bar.finish_and_clear();
    let read = read?;
    let stray = stray(read.signals.iter(), &read.span, &clock);
    let mut panels: Vec<Panel> = Vec::new();
    for (wanted, signal) in wanted.iter().zip(read.signals) {
        let line = Line { name: wanted.name.clone(), signal, is_held: wanted.is_held };
        // States are numbers of something else than what is measured.
        let is_beside = |panel: &&mut Panel| {
            let is_held = panel.lines.first().is_some_and(|line| line.is_held);
            panel.unit == wanted.unit && is_held == wanted.is_held
        };
        match panels.iter_mut().find(is_beside) {
            Some(panel) => panel.lines.push(line),
            None => panels.push(Panel {
                unit: wanted.unit.clone(),
                lines: vec![line],
                ..Panel::default()
            }),
        }
    }
    let lines = panels.iter().flat_map(|panel| &panel.lines);
    if lines.map(|line| line.signal.values).sum::<u64>() == 0 {
        let what = "nothing to draw: the fields have no numbers at that time";
        return Err(Error::failed(what));
    }
    let height = PLOT_HEIGHT * panels.len() as u32 + OTHER_HEIGHT;
    let mut chart = Chart {
        panels,
        size: args.size.unwrap_or((width, height.min(20_000))),
        ..Chart::default()
    };
    if args.time.start.or(args.time.end).is_some() {
        let time = record_span::within(asked, manifest.time.unwrap_or_default());
        chart.time.range = (!time.is_empty()).then(|| ends(time));
        let lines = chart.panels.iter().flat_map(|panel| &panel.lines);
        chart.time.cover(lines.map(|line| &line.signal));
    }
    let (start, end) = chart.times();
    let range = chart.time.range;
    let axis = axis(args.clock, &clock, manifest, start);
    chart.time = TimeAxis { range, ..axis };
    if !args.no_modes {
        chart.bands = bands(log, end)?;
    }
    Ok(Drawn { wanted, chart, damage: read.damage, stray })
}

/// The first and the last nanosecond of `time`.
pub(super) fn ends(time: TimeRange) -> (i64, i64) {
    (time.start.as_nanos(), time.end.as_nanos().saturating_sub(1))
}

/// The axis of time of a picture that begins at `first`.
pub(super) fn axis(
    choice: TimeChoice,
    clock: &ShownClock,
    manifest: &Manifest,
    first: i64,
) -> TimeAxis {
    let offset = clock.base().offset_nanos;
    if clock.is_unix() {
        // A day of UTC begins at a multiple of days of Unix time.
        let day = first.saturating_add(offset).div_euclid(DAY);
        let start = day.saturating_mul(DAY);
        let date = TextTime::date(Timestamp::from_nanos(start)).to_string();
        let name = format!("UTC, {}", date.split(' ').next().unwrap_or_default());
        let zero = start.saturating_sub(offset);
        return TimeAxis { zero, day: Some(day), name, range: None };
    }
    let start = manifest.time.map_or(0, |time| time.start.as_nanos());
    let (zero, name) = match choice {
        TimeChoice::Boot => (0, "time since boot (s)".to_owned()),
        // As of a log with something of 1970.
        _ if first.saturating_sub(start) > FAR => {
            let second = first - first.rem_euclid(SECOND);
            let since = clock.typed(Timestamp::from_nanos(second));
            (second, format!("time since {since} (s)"))
        }
        _ => (start, "time since the start (s)".to_owned()),
    };
    TimeAxis { zero, name, ..TimeAxis::default() }
}

/// The flight modes until `end`, if the log is of PX4.
pub(super) fn bands(log: &dyn Log, end: i64) -> Result<Vec<Band>> {
    let modes: TrackModes = px4_modes::of(log, 0)?.unwrap_or_default();
    let changes = modes.changes();
    let starts = changes.iter().map(|(start, _)| *start);
    let ends = starts.skip(1).chain([end]);
    Ok(changes
        .iter()
        .zip(ends)
        .map(|((start, mode), end)| Band {
            name: mode.name.clone(),
            start: *start,
            end,
            color: mode.color,
        })
        .filter(|band| band.start < band.end)
        .collect())
}
