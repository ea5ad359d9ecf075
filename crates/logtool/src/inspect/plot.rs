//! Plots: fields and expressions over time, as SVG, PNG, or series.

mod axis;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use logtool_core::{
    Log as FormatLog, Manifest, Provenance, TimeRange, TopicId, TopicSet,
};
use logtool_plot::Sampler;
use logtool_series::SeriesComponent;
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    error::{Context as _, Error, Result},
    jobs::output::provenance,
    records::{
        log::Log,
        series::{self, ComputedSeries, PreparedSeries},
        signals::{self, RequestedSignal},
    },
    source::{
        input::open,
        lidar::{self, LidarWarnings},
        losses::{Findings, Strictness},
        progress_counter::ProgressCounter,
        session::Session,
    },
    time::{
        clock::{ShownClock, TimeChoice},
        record_span,
        typed_time::TypedTime,
    },
};

pub(crate) use self::axis::{
    first_and_last, flight_mode_bands, outlier_note, time_axis,
};
pub use logtool_plot::{
    Band, Chart, LOOKS, Line, Panel, RenderedPng, Signal, TimeAxis,
};

/// The default width, and the default height of each panel, in pixels.
const WIDTH: u32 = 1000;
const PANEL_HEIGHT: u32 = 260;
/// The height of the time axis, the margins and the legend, in pixels.
const MARGIN_HEIGHT: u32 = 90;
/// The maximum default height, in pixels.
const MAX_HEIGHT: u32 = 20_000;

/// A request to plot fields and expressions over time. Those of the same unit share a panel.
///
/// ```no_run
/// use logtool::{Session, plot::PlotRequest};
///
/// let request = PlotRequest::new("flight.ulg", ["battery_status.voltage_v"]);
/// let plot = request.run(&Session::new())?;
/// for line in plot.chart.panels.iter().flat_map(|panel| &panel.lines) {
///     println!("{}: {} values", line.name, line.signal.values);
/// }
/// std::fs::write("battery.svg", plot.svg()?)?;
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct PlotRequest {
    path: PathBuf,
    fields: Vec<String>,
    start: Option<TypedTime>,
    end: Option<TypedTime>,
    clock: TimeChoice,
    size: Option<(u32, u32)>,
    scale: u8,
    has_flight_modes: bool,
    lidar: LidarOptions,
    strictness: Strictness,
}

/// The result of a [`PlotRequest`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plot {
    /// The name of the log.
    pub log: String,
    /// The panels with their lines, and the flight modes behind them. Each line has at most
    /// two values for each column of pixels: the lowest and the highest.
    pub chart: Chart,
    /// A sentence about values that are left out because their times are far from all others.
    pub outliers: Option<String>,
    /// Sentences about topics of which only the valid records are plotted.
    pub partial_topics: Vec<String>,
    /// Warnings about the lidars whose points are plotted.
    pub lidar_warnings: LidarWarnings,
    /// The losses and the damage of the plotted topics.
    pub losses: Findings,
    /// The JSON text that states from which file the plot was made, and by which command.
    provenance: String,
    scale: u8,
}

impl PlotRequest {
    /// Creates a request for `fields` of the log at `path`: a path, a URL, or `-` for standard
    /// input. A field is a topic and a column, for example `sensor_gps.1.lat`. A prefix of
    /// columns selects all of them, `*` and `?` match anything, and of a list each element is
    /// plotted. Anything else is an expression, as `deg(yaw(vehicle_attitude.q))`; see
    /// [`series`](crate::records::series).
    pub fn new(
        path: impl AsRef<Path>,
        fields: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            fields: fields.into_iter().map(Into::into).collect(),
            start: None,
            end: None,
            clock: TimeChoice::Relative,
            size: None,
            scale: 1,
            has_flight_modes: true,
            lidar: LidarOptions::default(),
            strictness: Strictness::default(),
        }
    }

    /// Leaves out records before `start`.
    pub fn with_start(mut self, start: TypedTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Leaves out records at `end` or later.
    pub fn with_end(mut self, end: TypedTime) -> Self {
        self.end = Some(end);
        self
    }

    /// Sets the clock of the start, the end and the time axis. The default counts from the
    /// start of the log.
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the width and the height in pixels. The default is 1000 pixels wide, and as high
    /// as the panels need.
    pub fn with_size(mut self, width: u32, height: u32) -> Self {
        self.size = Some((width, height));
        self
    }

    /// Sets the number of dots per pixel of a PNG. The default is 1.
    pub fn with_scale(mut self, scale: u8) -> Self {
        self.scale = scale;
        self
    }

    /// Leaves out the flight modes behind the lines.
    pub fn without_flight_modes(mut self) -> Self {
        self.has_flight_modes = false;
        self
    }

    /// Sets how lidars are read. The default detects their models and calibrations.
    pub fn with_lidar(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Sets whether damage is an error. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads the fields and creates the plot.
    ///
    /// # Errors
    /// `NotFound` if the log has no such field; `InvalidRequest` if an expression is wrong;
    /// `Damaged` if something is lost in a strict request; others if the input cannot be read
    /// or is not a log, or if there is nothing to plot at the selected times.
    pub fn run(&self, session: &Session) -> Result<Plot> {
        let log = Log::from_opened(open::open_with(&self.path, session, &self.lidar)?);
        self.run_on(&log, session)
    }

    /// Like [`run`](Self::run), for a log that is open already. The path of the request is
    /// not used.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_on(&self, log: &Log, session: &Session) -> Result<Plot> {
        let mut losses = log.losses();
        losses.check(self.strictness)?;
        let (manifest, name) = (log.manifest(), log.name());
        let drawn = self.draw(log, session).with_context(|| name.to_owned())?;
        losses.add(manifest, &drawn.topics, &drawn.damage);
        losses.check(self.strictness)?;
        Ok(Plot {
            log: name.to_owned(),
            chart: drawn.chart,
            outliers: drawn.outliers,
            partial_topics: lidar::left_out(manifest, &drawn.topics),
            lidar_warnings: lidar::warnings(manifest, &drawn.topics),
            losses,
            provenance: provenance::collect([log.input()], session)?.json(),
            scale: self.scale,
        })
    }

    fn draw(&self, log: &Log, session: &Session) -> Result<PreparedChart> {
        let (format_log, manifest) = (log.format_log(), log.manifest());
        let clock = ShownClock::new(manifest, self.clock)?;
        let Requested { fields, expressions } = self.requested(format_log)?;
        let range = clock.range(self.start, self.end)?;
        let fields = expand_lists(format_log, fields, range)?;
        if record_span::intersection(range, record_span::max_shown_range(manifest))
            .is_empty()
        {
            return Err(Error::failed(
                "the log has no records in the selected time range",
            ));
        }
        let width = self.size.map_or(WIDTH, |(width, _)| width);
        let columns = width as usize * usize::from(self.scale);
        let topics = requested_topics(manifest, &fields, &expressions);
        let (span, sampler) = signals::sampler(format_log, &topics, range, columns)?;
        let passes = u64::from(!fields.is_empty()) + u64::from(!expressions.is_empty());
        let bytes = manifest.bytes.saturating_mul(passes);
        let progress = ProgressCounter::for_bytes(session, log.name(), bytes);
        let add = |bytes| progress.add(bytes);
        let (mut lines, mut damage) = (Vec::new(), Vec::new());
        if !fields.is_empty() {
            let wanted: Vec<RequestedSignal> =
                fields.iter().map(|(_, field)| field.clone()).collect();
            let (read, found) =
                signals::read_into(format_log, &wanted, range, &span, &sampler, &add)?;
            damage = found;
            for ((argument, field), signal) in fields.into_iter().zip(read) {
                let RequestedSignal { name, unit, is_held, .. } = field;
                lines.push((argument, unit, Line { name, signal, is_held }));
            }
        }
        if !expressions.is_empty() {
            let (arguments, wanted): (Vec<usize>, Vec<PreparedSeries>) =
                expressions.into_iter().unzip();
            let read = series::read(format_log, &wanted, range, &add)?;
            for one in read.damage {
                if !damage.contains(&one) {
                    damage.push(one);
                }
            }
            let read = wanted.iter().zip(read.series).zip(arguments);
            for ((wanted, computed), argument) in read {
                for (unit, line) in series_lines(wanted.text(), &computed, &sampler) {
                    lines.push((argument, unit, line));
                }
            }
        }
        drop(progress);
        // Lines are in the order of the arguments.
        lines.sort_by_key(|(argument, ..)| *argument);
        let shown = lines.iter().map(|(.., line)| &line.signal);
        let outliers = outlier_note(shown, &span, &clock);
        let mut panels: Vec<Panel> = Vec::new();
        for (_, unit, line) in lines {
            // States without a unit do not share a panel with measured values.
            let panel = panels.iter_mut().find(|panel| {
                let is_held = panel.lines.first().is_some_and(|line| line.is_held);
                panel.unit == unit && is_held == line.is_held
            });
            match panel {
                Some(panel) => panel.lines.push(line),
                None => {
                    panels.push(Panel { unit, lines: vec![line], ..Panel::default() })
                }
            }
        }
        let chart = self.chart(panels, width, format_log, &clock)?;
        Ok(PreparedChart { topics, chart, damage, outliers })
    }

    /// Finds the fields of the log, and those of expressions.
    fn requested(&self, log: &dyn FormatLog) -> Result<Requested> {
        let mut requested = Requested::default();
        for (argument, text) in self.fields.iter().enumerate() {
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
        signals::check_count(requested.fields.len())?;
        Ok(requested)
    }

    fn chart(
        &self,
        panels: Vec<Panel>,
        width: u32,
        log: &dyn FormatLog,
        clock: &ShownClock,
    ) -> Result<Chart> {
        let lines = panels.iter().flat_map(|panel| &panel.lines);
        if lines.map(|line| line.signal.values).sum::<u64>() == 0 {
            let what = "the fields have no numbers in the selected time range";
            return Err(Error::failed(what));
        }
        let manifest: &Manifest = log.manifest();
        let height = PANEL_HEIGHT * panels.len() as u32 + MARGIN_HEIGHT;
        let size = self.size.unwrap_or((width, height.min(MAX_HEIGHT)));
        let mut chart = Chart { panels, size, ..Chart::default() };
        if self.start.or(self.end).is_some() {
            let range = clock.range(self.start, self.end)?;
            let time =
                record_span::intersection(range, manifest.time.unwrap_or_default());
            chart.time.range = (!time.is_empty()).then(|| first_and_last(time));
            let lines = chart.panels.iter().flat_map(|panel| &panel.lines);
            chart.time.cover(lines.map(|line| &line.signal));
        }
        let (start, end) = chart.times();
        let axis = time_axis(self.clock, clock, manifest, start);
        chart.time = TimeAxis { range: chart.time.range, ..axis };
        if self.has_flight_modes {
            chart.bands = flight_mode_bands(log, end)?;
        }
        Ok(chart)
    }
}

/// What a plot shows, each with the index of its argument.
#[derive(Default)]
struct Requested {
    fields: Vec<(usize, RequestedSignal)>,
    expressions: Vec<(usize, PreparedSeries)>,
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
    let all = expanded.into_iter().zip(arguments);
    Ok(all
        .flat_map(|(signals, argument)| {
            signals.into_iter().map(move |signal| (argument, signal))
        })
        .collect())
}

/// Returns the topics of `fields` and `expressions`.
fn requested_topics(
    manifest: &Manifest,
    fields: &[(usize, RequestedSignal)],
    expressions: &[(usize, PreparedSeries)],
) -> TopicSet {
    let sets: Vec<TopicSet> =
        expressions.iter().map(|(_, series)| series.topics()).collect();
    let is_used = |id: &TopicId| {
        fields.iter().any(|(_, signal)| signal.topic == *id)
            || sets.iter().any(|set| set.contains(*id))
    };
    manifest.topics().map(|(id, _)| id).filter(is_used).collect()
}

/// Returns a line for each component of a series, and its unit.
fn series_lines(
    text: &str,
    computed: &ComputedSeries,
    sampler: &Sampler,
) -> Vec<(String, Line)> {
    let ComputedSeries { series, left_out } = computed;
    let line = |component: &SeriesComponent| {
        let mut sampler = sampler.clone();
        (0..*left_out).for_each(|_| sampler.leave_out());
        for (time, value) in series.times.iter().zip(&*component.values) {
            sampler.add(*time, *value);
        }
        let is_held = series.is_held;
        let signal = if is_held { sampler.held_signal() } else { sampler.signal() };
        let name = series::component_name(text, &component.name);
        (component.unit.clone(), Line { name, signal, is_held })
    };
    series.components.iter().map(line).collect()
}

/// A chart, and the damage and outliers of its signals.
struct PreparedChart {
    topics: TopicSet,
    chart: Chart,
    damage: Vec<logtool_core::Damage>,
    outliers: Option<String>,
}

impl Plot {
    /// Returns the plot as SVG. Its metadata states the provenance.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        Ok(logtool_plot::with_metadata(&self.chart.svg()?, &self.provenance))
    }

    /// Returns the plot as PNG, with the scale of the request, and the characters that no font
    /// of the system has. Its metadata states the provenance.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn png(&self) -> Result<RenderedPng> {
        let key = format!("logtool.{}", Provenance::NAME);
        let metadata = BTreeMap::from([(key, self.provenance.clone())]);
        let mut painted = logtool_plot::png(&self.chart.svg()?, f32::from(self.scale))?;
        painted.png = logtool_plot::with_texts(painted.png, &metadata);
        Ok(painted)
    }
}
