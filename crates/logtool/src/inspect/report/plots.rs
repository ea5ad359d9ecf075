//! The plots of a report over time: those of PX4's Flight Review, or plots of the topics of known
//! types in other logs.

mod message_types;
mod px4;
mod transform;

use std::{ops::Range, sync::Arc};

use arrow_schema::DataType;
use logtool_core::{
    Columns, Damage, Log, TimeRange, Topic, TopicId, TopicOrigin, View,
};
use logtool_plot::{
    Band, Block, Chart, Line, Mark, Panel, PanelStyle, RightAxis, Signal, TimeAxis,
};
use logtool_ulog::px4_vibration_is_velocity;

use crate::{
    error::Result,
    formats::LogFormat,
    inspect::{
        plot,
        report::{
            devices,
            plots::{
                message_types::TYPES,
                px4::{FlagTopic, Px4Line, ValueLevel},
                transform::Transform,
            },
        },
        value_names,
    },
    records::{
        labels,
        signals::{self, RequestedSignal, SampledSignals, SignalColumn, ValuePart},
    },
    text::units::count_of,
    time::{
        clock::{ShownClock, TimeChoice},
        record_span,
    },
};

/// The maximum number of lines of the elements of a list.
const MAX_ELEMENTS: usize = 32;

/// The number of columns of a plot. Each has the lowest and the highest value of its time.
const COLUMNS: usize = 450;

/// The maximum number of plots of a log that is not of PX4.
const MAX_PLOTS: usize = 40;

/// The maximum number of fields of a topic that are flags.
const MAX_FLAGS: usize = 200;

/// The selected times, the clock of the time axis, and the flight modes and events behind the
/// lines.
pub(super) struct PlotContext<'c> {
    pub(super) time: TimeRange,
    pub(super) choice: TimeChoice,
    pub(super) clock: &'c ShownClock,
    pub(super) bands: &'c [Band],
    pub(super) states: &'c [Band],
    pub(super) marks: &'c [Mark],
}

/// The plots of a log, and their time axis.
pub(super) struct SignalPlots {
    pub(super) blocks: Vec<Block>,
    pub(super) time: TimeAxis,
    /// The table of the sensors, whose IDs are read along with the plots.
    pub(super) devices: Vec<Block>,
}

/// A plot: its title, its unit, the limits of its value axis, and its signals as a range of
/// those that are read.
#[derive(Default)]
struct PlannedPlot {
    title: String,
    unit: String,
    limits: Option<(f64, f64)>,
    signals: Range<usize>,
    /// The unit and the limits of the axis on the right, and its signals.
    right: Option<(&'static str, (f64, f64), Range<usize>)>,
    style: PanelStyle,
    levels: &'static [ValueLevel],
    /// Whether lines that are always 0 are left out.
    omits_zero: bool,
}

/// The plots of a log, and the signals to read for them.
#[derive(Default)]
struct PlotPlan {
    signals: Vec<RequestedSignal>,
    plots: Vec<PlannedPlot>,
    /// The index of the first signal that is the ID of a device.
    devices: Option<usize>,
    /// The number of plots beyond [`MAX_PLOTS`].
    omitted: u64,
}

/// The signals of the plots of a log.
pub(super) struct PlotSignals {
    plan: PlotPlan,
    read: SampledSignals,
}

/// Reads the signals of the plots of `log` within `time`, and adds the damage that is found to
/// `damage`.
///
/// # Errors
/// If reading fails.
pub(super) fn read(
    log: &dyn Log,
    time: TimeRange,
    damage: &mut Vec<Damage>,
) -> Result<PlotSignals> {
    let plan = if LogFormat::from_manifest(log.manifest()) == Some(LogFormat::Ulog) {
        plan_px4(log)
    } else {
        plan_types(log)
    };
    let mut read = signals::read(log, &plan.signals, time, COLUMNS, &|_| {})?;
    damage.append(&mut read.damage);
    Ok(PlotSignals { plan, read })
}

/// Returns the plots of `log` from their `signals`.
pub(super) fn signal_plots(
    log: &dyn Log,
    signals: PlotSignals,
    context: &PlotContext<'_>,
) -> SignalPlots {
    let omitted = signals.plan.omitted;
    let mut plots = draw(log, signals, context);
    if omitted > 0 {
        let more = count_of(omitted, "more plot");
        let message =
            format!("and {more}, which `logtool plot` draws, of other topics");
        plots.blocks.push(Block::Note(message));
    }
    plots
}

/// Plans the plots of a log of PX4. All are shown.
fn plan_px4(log: &dyn Log) -> PlotPlan {
    let mut plan = PlotPlan::default();
    // Loggers also declare topics without writing records.
    let has = |name: &str| {
        let manifest = log.manifest();
        let topic = manifest.topic_id(name).and_then(|id| manifest.topic(id));
        topic.is_ok_and(|topic| topic.records != Some(0))
    };
    let is_former = px4_vibration_is_velocity(log.manifest());
    for plot in px4::plots() {
        let is_needed =
            plot.needs.is_empty() || plot.needs.iter().any(|topic| has(topic));
        if !is_needed || plot.superseded_by.is_some_and(has) {
            continue;
        }
        let former_unit = plot.former_unit.filter(|_| is_former);
        let lines = plan.add_px4_lines(log, plot.lines);
        if plot.is_flags {
            let flags = plan.signals.iter_mut().skip(lines.start);
            flags.for_each(|flag| flag.is_held = true);
        }
        let right = plot.right.filter(|_| !lines.is_empty());
        let right = right.map(|(unit, limits, lines)| {
            (unit, limits, plan.add_px4_lines(log, lines))
        });
        plan.add(PlannedPlot {
            title: plot.title.to_owned(),
            unit: former_unit.unwrap_or(plot.unit).to_owned(),
            limits: plot.limits,
            signals: lines,
            right,
            style: style(plot.is_flags),
            levels: if former_unit.is_some() { &[] } else { plot.levels },
            omits_zero: plot.omits_zero,
        });
    }
    for FlagTopic { title, topics } in px4::FLAG_TOPICS {
        let first = plan.signals.len();
        for (name, starts) in topics {
            let Ok(topic) = log.manifest().topic_id(name) else { continue };
            plan.signals.extend(flags(log, topic, starts));
        }
        plan.add(PlannedPlot {
            title: title.to_owned(),
            signals: first..plan.signals.len(),
            style: PanelStyle::Flags,
            ..PlannedPlot::default()
        });
    }
    plan.devices = Some(plan.signals.len());
    plan.signals.extend(devices::requested_signals(log));
    plan
}

/// Returns whether a log of PX4 may have a plot of this title.
#[cfg(all(test, feature = "flight"))]
pub(super) fn has_px4_plot(title: &str) -> bool {
    px4::plots().any(|plot| plot.title == title)
        || px4::FLAG_TOPICS.iter().any(|plot| plot.title == title)
}

impl PlotPlan {
    /// Adds the signals of `lines` that the log has, and returns their indices. Of several lines of
    /// the same name, the first that the log has is added.
    fn add_px4_lines(&mut self, log: &dyn Log, lines: &[Px4Line]) -> Range<usize> {
        let first = self.signals.len();
        for (name, topic, columns, transform) in lines {
            let mut added = self.signals.iter().skip(first);
            if added.any(|signal| signal.name == *name) {
                continue;
            }
            let Ok(topic) = log.manifest().topic_id(topic) else { continue };
            if !columns.iter().any(|column| column.contains("[*]")) {
                self.signals.extend(signal(log, topic, name, columns, *transform));
                continue;
            }
            let element = |index: usize| {
                let columns = columns.iter();
                let columns: Vec<String> = columns
                    .map(|column| column.replace("[*]", &format!("[{index}]")))
                    .collect();
                let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                let name = name.replace('*', &index.to_string());
                signal(log, topic, &name, &columns, *transform)
            };
            self.signals.extend((0..MAX_ELEMENTS).map_while(element));
        }
        first..self.signals.len()
    }

    /// Adds a plot, unless it has no signals.
    fn add(&mut self, plot: PlannedPlot) {
        if !plot.signals.is_empty() {
            self.plots.push(plot);
        }
    }
}

fn style(is_flags: bool) -> PanelStyle {
    if is_flags { PanelStyle::Flags } else { PanelStyle::Lines }
}

/// Returns the fields of `topic` that are flags and whose names start with one of `starts`.
fn flags(log: &dyn Log, topic: TopicId, starts: &[&str]) -> Vec<RequestedSignal> {
    let Ok(decoder) = log.decoder(topic, &Columns::new(View::Flat)) else {
        return Vec::new();
    };
    let fields = decoder.schema().fields().iter().filter(|field| {
        *field.data_type() == DataType::Boolean
            && starts.iter().any(|start| field.name().starts_with(start))
    });
    let flag = |name: &String| {
        let signal = signals::find_in_topic(log, topic, name)?;
        Some(RequestedSignal { name: name.clone(), ..signal })
    };
    fields.filter_map(|field| flag(field.name())).take(MAX_FLAGS).collect()
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
                signals: first..plan.signals.len(),
                ..PlannedPlot::default()
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
    match transform {
        Transform::Interval => {
            signal.inputs.iter_mut().for_each(|input| input.part = ValuePart::Interval);
        }
        Transform::Latency => {
            let column = signal.inputs.first()?.column;
            signal.inputs.push(SignalColumn { column, part: ValuePart::Time });
        }
        _ => {}
    }
    if !matches!(transform, Transform::Same) {
        signal.field.clear();
    }
    signal.name = name.to_owned();
    signal.function = Arc::new(move |values| transform.apply(values));
    Some(signal)
}

/// Returns the plots that are planned.
fn draw(
    log: &dyn Log,
    PlotSignals { plan, read }: PlotSignals,
    context: &PlotContext<'_>,
) -> SignalPlots {
    let manifest = log.manifest();
    let shown_time = match read.span.outlier {
        Some(_) => read.span.shown,
        None => manifest.time.unwrap_or(read.span.shown),
    };
    // If the whole log is shown, the axis covers only the times of the signals.
    let is_part = context.time != TimeRange::ALL;
    let range =
        plot::first_and_last(record_span::intersection(context.time, shown_time));
    let mut time = TimeAxis { range: is_part.then_some(range), ..TimeAxis::default() };
    time.cover(read.signals.iter());
    let (first, _) = time.range.unwrap_or(range);
    let axis = plot::time_axis(context.choice, context.clock, manifest, first);
    let time = TimeAxis { range: time.range, ..axis };
    let labels = labels::from_manifest(manifest).unwrap_or_default();
    let mut blocks = Vec::new();
    for planned in plan.plots {
        let plot_signals = |range: &Range<usize>| {
            let plot_signals = plan.signals.iter().zip(&read.signals);
            let plot_signals = plot_signals.skip(range.start).take(range.len());
            plot_signals.filter(|(_, signal)| signal.values > 0)
        };
        if planned.style == PanelStyle::Flags {
            blocks.extend(flag_block(
                &planned,
                plot_signals(&planned.signals),
                context,
                &time,
            ));
            continue;
        }
        let lines = |range: &Range<usize>| -> Vec<Line> {
            let is_shown = |signal: &Signal| !planned.omits_zero || !is_zero(signal);
            plot_signals(range)
                .filter(|(_, signal)| is_shown(signal))
                .map(|(wanted, signal)| Line {
                    value_names: value_names::of(&labels, manifest, wanted),
                    ..line((wanted, signal))
                })
                .collect()
        };
        let left = lines(&planned.signals);
        if left.is_empty() {
            continue;
        }
        let right = planned.right.as_ref().map(|(unit, limits, signals)| RightAxis {
            unit: (*unit).to_owned(),
            limits: Some(*limits),
            lines: lines(signals),
        });
        let PlannedPlot { title, unit, limits, levels, .. } = planned;
        let signals = left.iter().map(|line| &line.signal);
        let panel = Panel {
            unit,
            limits: limits.filter(|limits| are_visible(signals, *limits)),
            lines: left,
            right: right.filter(|right| !right.lines.is_empty()),
            levels: levels.iter().map(ValueLevel::level).collect(),
            ..Panel::default()
        };
        blocks.push(Block::Plot(title, chart(panel, context, &time)));
    }
    let note = plot::outlier_note(read.signals.iter(), &read.span, context.clock);
    blocks.extend(note.map(Block::Note));
    let sensors = plan.signals.iter().zip(&read.signals);
    let sensors = sensors.skip(plan.devices.unwrap_or(plan.signals.len()));
    SignalPlots { blocks, time, devices: devices::blocks(sensors) }
}

fn line((wanted, signal): (&RequestedSignal, &Signal)) -> Line {
    Line {
        name: wanted.name.clone(),
        signal: signal.clone(),
        is_held: wanted.is_held,
        ..Line::default()
    }
}

/// Returns the chart of `panel` with the background of all plots over time.
pub(super) fn chart(panel: Panel, context: &PlotContext<'_>, time: &TimeAxis) -> Chart {
    Chart {
        panels: vec![panel],
        bands: context.bands.to_vec(),
        states: context.states.to_vec(),
        marks: context.marks.to_vec(),
        time: time.clone(),
        ..Chart::default()
    }
}

/// Returns a plot of the flags among `plot_signals` that are ever set. Without such flags, returns
/// a note that they were logged.
fn flag_block<'s>(
    planned: &PlannedPlot,
    plot_signals: impl Iterator<Item = (&'s RequestedSignal, &'s Signal)> + Clone,
    context: &PlotContext<'_>,
    time: &TimeAxis,
) -> Option<Block> {
    let count = plot_signals.clone().count() as u64;
    let lines: Vec<Line> =
        plot_signals.filter(|(_, signal)| !is_zero(signal)).map(line).collect();
    if !lines.is_empty() {
        let panel = Panel { lines, style: PanelStyle::Flags, ..Panel::default() };
        return Some(Block::Plot(planned.title.clone(), chart(panel, context, time)));
    }
    let flags = count_of(count, "flag");
    (count > 0).then(|| {
        Block::Note(format!("{}: none of {flags} was ever set", planned.title))
    })
}

/// Returns whether any of `signals` has values within the limits of an axis.
fn are_visible<'s>(
    mut signals: impl Iterator<Item = &'s Signal>,
    (low, high): (f64, f64),
) -> bool {
    signals.any(|signal| {
        signal.span().is_some_and(|(least, most)| least <= high && most >= low)
    })
}

/// Returns whether all values are 0.
fn is_zero(signal: &Signal) -> bool {
    signal.span() == Some((0.0, 0.0))
}

#[cfg(test)]
mod tests {
    use logtool_plot::Sampler;

    use super::*;

    #[test]
    fn limits_apply_only_if_a_line_is_within_them() {
        let signal = |values: [f64; 2]| {
            let mut sampler = Sampler::new(0, 100, 10);
            (0..).zip(values).for_each(|(at, value)| sampler.add(at, value));
            sampler.signal()
        };
        // The intervals of a sensor at 250 Hz, and of one at 10 Hz, in microseconds.
        let (fast, slow) = (signal([3_900.0, 4_100.0]), signal([99_000.0, 101_000.0]));
        let limits = (0.0, 25_000.0);
        assert!(are_visible([&slow, &fast].into_iter(), limits));
        assert!(!are_visible([&slow].into_iter(), limits));
        assert!(are_visible([&signal([-1.0, 30_000.0])].into_iter(), limits));
    }
}
