//! Reads the values of a plot and draws it.

use logtool_core::{
    Damage, Log as FormatLog, Manifest, TimeRange, Timestamp, TopicId, TopicSet,
};
use logtool_plot::{Chart, Line, Panel, Sampler, TimeAxis, XyPanel};
use logtool_series::SeriesComponent;

use crate::{
    error::{Error, ErrorKind, Result},
    inspect::{
        marks::MarkBuilder,
        plot::{
            PlotRequest,
            axis::{first_and_last, flight_mode_bands, outlier_note, time_axis},
            panels::{self, PlottedLine},
            vtol_states::vtol_states,
            xy::PreparedXy,
        },
        value_names,
    },
    records::{
        labels,
        log::Log,
        series::{self, ComputedSeries, PreparedSeries},
        signals::{self, RequestedSignal},
    },
    source::{progress_counter::ProgressCounter, session::Session},
    text::units::count_of,
    time::{
        clock::{self, ShownClock},
        record_span,
    },
};

/// The default width, and the default height of each panel, in pixels.
const WIDTH: u32 = 1000;
const PANEL_HEIGHT: u32 = 260;
/// The default height of a plot of values against others, in pixels.
const XY_HEIGHT: u32 = 560;
/// The height of the time axis, the margins and the legend, in pixels.
const MARGIN_HEIGHT: u32 = 90;
/// The maximum default height, in pixels.
const MAX_HEIGHT: u32 = 20_000;

/// A chart, and the damage and outliers of its signals.
pub(super) struct PreparedChart {
    pub(super) topics: TopicSet,
    pub(super) chart: Chart,
    pub(super) damage: Vec<Damage>,
    pub(super) outliers: Option<String>,
}

/// The fields and expressions of a plot.
#[derive(Default)]
struct RequestedSeries {
    /// The fields and the expressions over time, each with the index of its argument.
    fields: Vec<(usize, RequestedSignal)>,
    expressions: Vec<(usize, PreparedSeries)>,
    /// The requested panel of each argument.
    panels: Vec<Option<usize>>,
    xy: Vec<PreparedXy>,
}

/// Reads the fields of `request` from `log` and creates the chart.
///
/// # Errors
/// Those of [`PlotRequest::run`].
pub(super) fn draw(
    request: &PlotRequest,
    log: &Log,
    session: &Session,
) -> Result<PreparedChart> {
    let (format_log, manifest) = (log.format_log(), log.manifest());
    let clock = ShownClock::new(manifest, request.clock)?;
    let mut requested = find(request, format_log)?;
    let range = clock.range(request.start, request.end)?;
    session.warn_of_late_times(log.name(), manifest, request.start, request.end);
    requested.fields = expand_lists(format_log, requested.fields, range)?;
    if record_span::intersection(range, record_span::max_shown_range(manifest))
        .is_empty()
    {
        let message = clock::empty_selection(&manifest.clock);
        return Err(Error::new(ErrorKind::EmptySelection, message));
    }
    let width = request.size.map_or(WIDTH, |(width, _)| width);
    let columns = width as usize * usize::from(request.scale);
    let topics = requested.topics(manifest);
    let (span, sampler) = signals::sampler(format_log, &topics, range, columns)?;
    let has_expressions = !requested.expressions.is_empty() || !requested.xy.is_empty();
    let passes = u64::from(!requested.fields.is_empty()) + u64::from(has_expressions);
    let bytes = manifest.bytes.saturating_mul(passes);
    let progress = ProgressCounter::for_bytes(session, log.name(), bytes);
    let add = |bytes| progress.add(bytes);
    let RequestedSeries { mut fields, expressions, panels, xy } = requested;
    let (mut lines, mut damage) = (Vec::new(), Vec::new());
    if !fields.is_empty() {
        let labels = labels::from_manifest(manifest).unwrap_or_default();
        let names = fields.iter().map(|(_, f)| value_names::of(&labels, manifest, f));
        let names: Vec<_> = names.collect();
        for ((_, field), names) in fields.iter_mut().zip(&names) {
            // A state lasts until the next one, whatever the type of its field.
            field.is_held |= !names.is_empty();
        }
        let signals: Vec<RequestedSignal> =
            fields.iter().map(|(_, field)| field.clone()).collect();
        let (read, found) =
            signals::read_into(format_log, &signals, range, &span, &sampler, &add)?;
        damage = found;
        let read = fields.into_iter().zip(names).zip(read);
        for (((argument, field), value_names), signal) in read {
            let RequestedSignal { name, unit, is_held, .. } = field;
            let line = Line { name, signal, is_held, value_names };
            lines.push((argument, unit, line));
        }
    }
    let mut xy_panels: Vec<XyPanel> = Vec::new();
    if has_expressions {
        let over_time = expressions.iter().map(|(_, series)| series);
        let xy_expressions = xy.iter().flat_map(|xy| &xy.expressions);
        let series_list: Vec<PreparedSeries> =
            over_time.chain(xy_expressions).cloned().collect();
        let read = series::read(format_log, &series_list, range, &add)?;
        for found in read.damage {
            if !damage.contains(&found) {
                damage.push(found);
            }
        }
        let (computed, mut xy_expressions) = read.series.split_at(expressions.len());
        for ((argument, series), computed) in expressions.iter().zip(computed) {
            for (unit, line) in series_lines(series.text(), computed, &sampler) {
                lines.push((*argument, unit, line));
            }
        }
        for xy in &xy {
            let (xy_series, remaining) =
                xy_expressions.split_at(xy.expressions.len().min(xy_expressions.len()));
            xy_panels.push(xy.panel(xy_series)?);
            xy_expressions = remaining;
        }
    }
    drop(progress);
    // Lines are in the order of the arguments.
    lines.sort_by_key(|(argument, ..)| *argument);
    let shown = lines.iter().map(|(.., line)| &line.signal);
    let outliers = outlier_note(shown, &span, &clock);
    let lines = lines.into_iter().map(|(argument, unit, line)| {
        let panel = panels.get(argument).copied().flatten();
        PlottedLine { panel, unit, line }
    });
    let panels = panels::group(lines.collect(), request.panels.len())?;
    let chart = Chart {
        title: request.title.clone(),
        panels,
        xy: xy_panels,
        ..Chart::default()
    };
    let mut chart = complete(request, chart, width, format_log, &clock)?;
    if request.has_marks && !chart.panels.is_empty() {
        let (start, end) = chart.times();
        let [start, end] = [start, end].map(Timestamp::from_nanos);
        let mut marks = MarkBuilder::new(TimeRange { start, end }, width);
        // An index does not state the damage of the records, which is found by reading them.
        marks.add_damage(manifest.damage.iter().chain(&damage));
        if let Some(ulog) = log.ulog()? {
            marks.add_parameter_changes(&ulog);
            marks.add_dropouts(&ulog)?;
        }
        chart.marks = marks.finish();
    }
    Ok(PreparedChart { topics, chart, damage, outliers })
}

/// Finds the fields of `request` in `log`, and those of its expressions.
fn find(request: &PlotRequest, log: &dyn FormatLog) -> Result<RequestedSeries> {
    let mut requested = RequestedSeries::default();
    let in_panels = (0..).zip(&request.panels);
    let in_panels = in_panels.flat_map(|(panel, fields)| {
        fields.iter().map(move |field| (Some(panel), field))
    });
    let arguments = request.fields.iter().map(|field| (None, field)).chain(in_panels);
    for (argument, (panel, text)) in arguments.enumerate() {
        requested.panels.push(panel);
        match signals::find(log, std::slice::from_ref(text)) {
            Ok(found) => {
                let found = found.into_iter().map(|signal| (argument, signal));
                requested.fields.extend(found);
            }
            Err(error) if !series::is_expression(log, text) => return Err(error),
            Err(_) => {
                let series = PreparedSeries::new(log, text)?;
                requested.expressions.push((argument, series));
            }
        }
    }
    for (x, y) in &request.xy {
        requested.xy.push(PreparedXy::new(log, x, y)?);
    }
    signals::check_count(requested.fields.len())?;
    Ok(requested)
}

impl RequestedSeries {
    /// Returns the topics of all fields.
    fn topics(&self, manifest: &Manifest) -> TopicSet {
        let over_time = self.expressions.iter().map(|(_, series)| series);
        let xy_expressions = self.xy.iter().flat_map(|xy| &xy.expressions);
        let sets: Vec<TopicSet> =
            over_time.chain(xy_expressions).map(PreparedSeries::topics).collect();
        let is_used = |id: &TopicId| {
            self.fields.iter().any(|(_, signal)| signal.topic == *id)
                || sets.iter().any(|set| set.contains(*id))
        };
        manifest.topics().map(|(id, _)| id).filter(is_used).collect()
    }
}

/// Completes `chart`, which has the panels, with its size, limits, time axis and flight modes.
fn complete(
    request: &PlotRequest,
    mut chart: Chart,
    width: u32,
    log: &dyn FormatLog,
    clock: &ShownClock,
) -> Result<Chart> {
    let lines = chart.panels.iter().flat_map(Panel::all_lines);
    let values = lines.map(|line| line.signal.values).sum::<u64>();
    let mut xy_lines = chart.xy.iter().flat_map(|panel| &panel.lines);
    if values == 0 && xy_lines.all(|line| line.runs.is_empty()) {
        return Err(match request.start.or(request.end) {
            Some(_) => Error::new(
                ErrorKind::EmptySelection,
                "the fields have no numbers at the selected times",
            ),
            None => Error::other("the fields have no numbers"),
        });
    }
    set_limits(request, &mut chart)?;
    let manifest: &Manifest = log.manifest();
    let panels = PANEL_HEIGHT.saturating_mul(chart.panels.len() as u32);
    let xy = XY_HEIGHT.saturating_mul(chart.xy.len() as u32);
    let height = panels.saturating_add(xy).saturating_add(MARGIN_HEIGHT);
    chart.size = request.size.unwrap_or((width, height.min(MAX_HEIGHT)));
    if request.start.or(request.end).is_some() {
        let range = clock.range(request.start, request.end)?;
        let time = record_span::intersection(range, manifest.time.unwrap_or_default());
        chart.time.range = (!time.is_empty()).then(|| first_and_last(time));
        let lines = chart.panels.iter().flat_map(Panel::all_lines);
        chart.time.cover(lines.map(|line| &line.signal));
    }
    let (start, end) = chart.times();
    let axis = time_axis(request.clock, clock, manifest, start);
    chart.time = TimeAxis { range: chart.time.range, ..axis };
    if request.has_flight_modes {
        chart.bands = flight_mode_bands(log, end)?;
        chart.states = vtol_states(log, end)?;
    }
    Ok(chart)
}

/// Sets the requested limits of the axes of `chart`.
fn set_limits(request: &PlotRequest, chart: &mut Chart) -> Result<()> {
    let mut limits = request.limits.iter().copied();
    for panel in &mut chart.panels {
        let span = span(&panel.lines);
        panel.limits = limits.next().unwrap_or_default().ends(span);
        if let Some(right) = &mut panel.right {
            let span = self::span(&right.lines);
            right.limits = limits.next().unwrap_or_default().ends(span);
        }
    }
    for XyPanel { x, y, lines } in &mut chart.xy {
        for (axis, is_y) in [(x, false), (y, true)] {
            let points = || lines.iter().flat_map(|line| line.points());
            let values = || points().map(|point| if is_y { point.1 } else { point.0 });
            let span = values().reduce(f64::min).zip(values().reduce(f64::max));
            axis.limits = limits.next().unwrap_or_default().ends(span);
        }
    }
    match limits.count() {
        0 => Ok(()),
        more => {
            let message = format!(
                "{} more than the plot has axes",
                count_of(more as u64, "limit")
            );
            Err(Error::invalid_request(message)
                .with_hint("`:` leaves out the limits of an axis"))
        }
    }
}

/// Returns the lowest and the highest value of `lines`.
fn span(lines: &[Line]) -> Option<(f64, f64)> {
    let spans = lines.iter().filter_map(|line| line.signal.span());
    spans.reduce(|total, line| (total.0.min(line.0), total.1.max(line.1)))
}

/// Replaces each list in `fields` by its elements.
fn expand_lists(
    log: &dyn FormatLog,
    fields: Vec<(usize, RequestedSignal)>,
    time: TimeRange,
) -> Result<Vec<(usize, RequestedSignal)>> {
    let (arguments, signals): (Vec<usize>, Vec<RequestedSignal>) =
        fields.into_iter().unzip();
    let expanded = signals::expand_lists(log, signals, time)?;
    let expanded_fields = expanded.into_iter().zip(arguments);
    Ok(expanded_fields
        .flat_map(|(signals, argument)| {
            signals.into_iter().map(move |signal| (argument, signal))
        })
        .collect())
}

/// Returns a line for each component of a series, and its unit.
fn series_lines(
    text: &str,
    computed: &ComputedSeries,
    sampler: &Sampler,
) -> Vec<(String, Line)> {
    let ComputedSeries { series, untimed } = computed;
    let line = |component: &SeriesComponent| {
        let mut sampler = sampler.clone();
        (0..*untimed).for_each(|_| sampler.add_dropped());
        for (time, value) in series.times.iter().zip(&*component.values) {
            sampler.add(*time, *value);
        }
        let is_held = series.is_held;
        let signal = if is_held { sampler.held_signal() } else { sampler.signal() };
        let name = series::component_name(text, &component.name);
        (component.unit.clone(), Line { name, signal, is_held, ..Line::default() })
    };
    series.components.iter().map(line).collect()
}
