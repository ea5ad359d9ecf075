//! The plots of a report: those of PX4's Flight Review that need no analysis, or plots of the
//! topics of known types in other logs.

mod message_types;
mod px4;
mod transform;

use std::{ops::Range, sync::Arc};

use logtool_core::{Damage, Log, TimeRange, Topic, TopicId, TopicOrigin};
use logtool_plot::{Band, Block, Chart, Line, Panel, TimeAxis};

use crate::{
    error::Result,
    formats::LogFormat,
    inspect::{
        plot,
        report::plots::{message_types::TYPES, transform::Transform},
    },
    records::signals::{self, RequestedSignal},
    text::units::count_of,
    time::{
        clock::{ShownClock, TimeChoice},
        record_span,
    },
};

/// The number of columns of a plot. Each has the lowest and the highest value of its time.
const COLUMNS: usize = 450;

/// The maximum number of plots of a log that is not of PX4.
const MAX_PLOTS: usize = 40;

/// The selected times, the clock of the time axis, and the flight modes behind the lines.
pub(super) struct PlotContext<'c> {
    pub(super) time: TimeRange,
    pub(super) choice: TimeChoice,
    pub(super) clock: &'c ShownClock,
    pub(super) bands: &'c [Band],
}

/// A plot: its title, its unit, the limits of its value axis, and its signals as a range of
/// those that are read.
struct PlannedPlot {
    title: String,
    unit: String,
    limits: Option<(f64, f64)>,
    signals: Range<usize>,
}

/// The plots of a log, and the signals to read for them.
#[derive(Default)]
struct PlotPlan {
    signals: Vec<RequestedSignal>,
    plots: Vec<PlannedPlot>,
    /// The number of plots beyond [`MAX_PLOTS`].
    omitted: u64,
}

/// Returns the plots of `log`, and adds the damage that is met to `damage`.
pub(super) fn signal_plots(
    log: &dyn Log,
    context: &PlotContext<'_>,
    damage: &mut Vec<Damage>,
) -> Result<Vec<Block>> {
    let plan = if LogFormat::from_manifest(log.manifest()) == Some(LogFormat::Ulog) {
        plan_px4(log)
    } else {
        plan_types(log)
    };
    if plan.plots.is_empty() {
        return Ok(Vec::new());
    }
    let omitted = plan.omitted;
    let mut blocks = draw(log, plan, context, damage)?;
    if omitted > 0 {
        let more = count_of(omitted, "more plot");
        let what = format!("and {more}, which `logtool plot` draws, of other topics");
        blocks.push(Block::Note(what));
    }
    Ok(blocks)
}

/// Plans the plots of a log of PX4. All are shown.
fn plan_px4(log: &dyn Log) -> PlotPlan {
    let mut plan = PlotPlan::default();
    for (title, unit, lines) in px4::PLOTS {
        let first = plan.signals.len();
        for (name, topic, columns, transform) in *lines {
            // The first line of each name that the log has is shown.
            let mut own = plan.signals.iter().skip(first);
            if own.any(|signal| signal.name == *name) {
                continue;
            }
            let topic = log.manifest().topic(topic).ok();
            plan.signals.extend(
                topic.and_then(|topic| signal(log, topic, name, columns, *transform)),
            );
        }
        if plan.signals.len() > first {
            plan.plots.push(PlannedPlot {
                title: (*title).to_owned(),
                unit: (*unit).to_owned(),
                limits: px4::limits(title),
                signals: first..plan.signals.len(),
            });
        }
    }
    plan
}

/// Plans the plots of the topics of known types.
fn plan_types(log: &dyn Log) -> PlotPlan {
    let mut plan = PlotPlan::default();
    let logged = |(_, topic): &(TopicId, &Topic)| {
        topic.origin == TopicOrigin::Logged && topic.records != Some(0)
    };
    for (id, topic) in log.manifest().topics().filter(logged) {
        // ROS 2 calls `sensor_msgs/Imu` `sensor_msgs/msg/Imu`.
        let name = topic.type_name.replace("/msg/", "/");
        let known = TYPES.iter().find(|(known, _)| name == *known);
        for (quantity, unit, lines) in known.map_or(&[][..], |(_, plots)| *plots) {
            let first = plan.signals.len();
            plan.signals.extend(lines.iter().filter_map(
                |(name, columns, transform)| {
                    let signal = signal(log, id, name, columns, *transform)?;
                    Some(RequestedSignal { is_held: false, ..signal })
                },
            ));
            let Some(own) = plan.signals.get(first) else { continue };
            if plan.plots.len() >= MAX_PLOTS {
                plan.signals.truncate(first);
                plan.omitted += 1;
                continue;
            }
            let unit = if unit.is_empty() { own.unit.clone() } else { (*unit).into() };
            let title = format!("{} {quantity}", topic.label());
            plan.plots.push(PlannedPlot {
                title: title.trim_end().to_owned(),
                unit,
                limits: None,
                signals: first..plan.signals.len(),
            });
        }
    }
    plan
}

/// Returns the signal called `name` that `transform` computes from these columns of `topic`,
/// if the topic has all of them.
fn signal(
    log: &dyn Log,
    topic: TopicId,
    name: &str,
    columns: &[&str],
    transform: Transform,
) -> Option<RequestedSignal> {
    let mut columns =
        columns.iter().map(|column| signals::find_in_topic(log, topic, column));
    let mut signal = columns.next()??;
    for column in columns {
        signal.inputs.extend(column?.inputs);
    }
    signal.name = name.to_owned();
    signal.of = Arc::new(move |values| transform.apply(values));
    Some(signal)
}

/// Reads the signals of `plan`, and returns its plots.
fn draw(
    log: &dyn Log,
    plan: PlotPlan,
    context: &PlotContext<'_>,
    damage: &mut Vec<Damage>,
) -> Result<Vec<Block>> {
    let read = signals::read(log, &plan.signals, context.time, COLUMNS, &|_| {})?;
    damage.extend(read.damage);
    let manifest = log.manifest();
    let all = match read.span.stray {
        Some(_) => read.span.usual,
        None => manifest.time.unwrap_or(read.span.usual),
    };
    // If the whole log is shown, the axis covers only the times of the signals.
    let is_part = context.time != TimeRange::ALL;
    let range = plot::first_and_last(record_span::intersection(context.time, all));
    let mut time = TimeAxis { range: is_part.then_some(range), ..TimeAxis::default() };
    time.cover(read.signals.iter());
    let (first, _) = time.range.unwrap_or(range);
    let axis = plot::time_axis(context.choice, context.clock, manifest, first);
    let time = TimeAxis { range: time.range, ..axis };
    let mut blocks = Vec::new();
    for PlannedPlot { title, unit, limits, signals } in plan.plots {
        let own = plan.signals.iter().zip(&read.signals);
        let own = own.skip(signals.start).take(signals.len());
        let lines: Vec<Line> = own
            .filter(|(_, signal)| signal.values > 0)
            .map(|(wanted, signal)| Line {
                name: wanted.name.clone(),
                signal: signal.clone(),
                is_held: wanted.is_held,
            })
            .collect();
        if lines.is_empty() {
            continue;
        }
        let chart = Chart {
            panels: vec![Panel { unit, limits, lines, ..Panel::default() }],
            bands: context.bands.to_vec(),
            time: time.clone(),
            ..Chart::default()
        };
        blocks.push(Block::Plot(title, chart));
    }
    let note = plot::outlier_note(read.signals.iter(), &read.span, context.clock);
    blocks.extend(note.map(Block::Note));
    Ok(blocks)
}
