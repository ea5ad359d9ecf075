//! Charts of signals over time.

use std::collections::BTreeMap;

use crate::{
    palette::Rgb,
    sample::Signal,
    simplify::{PathSimplifier, TrackPoint},
};

/// Plots above each other with a common time axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The title above the plots, or an empty text.
    pub title: String,
    /// The plots over time, from the top.
    pub panels: Vec<Panel>,
    /// The plots of values against other values, below those over time.
    pub xy: Vec<XyPanel>,
    /// Coloured time ranges in the background of the lines, e.g. flight modes.
    pub bands: Vec<Band>,
    /// Coloured time ranges along the lower edge of each plot, e.g. the states of a VTOL vehicle.
    pub states: Vec<Band>,
    /// Events on the time axis, e.g. changes of parameters. Texts that would overlap others are not
    /// drawn. In SVG, only the first plot has texts.
    pub marks: Vec<Mark>,
    /// The time axis.
    pub time: TimeAxis,
    /// The width and the height in pixels.
    pub size: (u32, u32),
}

/// A plot.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The unit of the values, e.g. `m/s`.
    pub unit: String,
    /// The lowest and the highest value of the axis, or `None` to derive them from the
    /// values. Values outside are not visible.
    pub limits: Option<(f64, f64)>,
    /// The lines.
    pub lines: Vec<Line>,
    /// The axis on the right with its lines, if there is one.
    pub right: Option<RightAxis>,
    /// The style of the lines in pages. SVG always uses [`PanelStyle::Lines`].
    pub style: PanelStyle,
    /// Coloured value ranges of the left axis. Pages draw them instead of the bands; SVG ignores
    /// them.
    pub levels: Vec<Level>,
}

/// A coloured value range in a page, e.g. strong vibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The name, which is shown at the left of the range.
    pub name: String,
    /// The lowest value.
    pub low: f64,
    /// The highest value, which may be infinite.
    pub high: f64,
    /// The colour, which is drawn as a tint.
    pub color: Rgb,
}

impl Panel {
    /// Returns the lines of both axes.
    pub fn all_lines(&self) -> impl Iterator<Item = &Line> + Clone {
        let right = self.right.iter().flat_map(|right| &right.lines);
        self.lines.iter().chain(right)
    }
}

/// The style of the lines of a plot in a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PanelStyle {
    /// Lines.
    #[default]
    Lines,
    /// One row for each line, with its name, and with bars where its value is not 0.
    Flags,
}

/// The second value axis of a plot.
#[derive(Clone, Debug, Default)]
pub struct RightAxis {
    /// The unit of the values.
    pub unit: String,
    /// The limits of the axis, like [`Panel::limits`].
    pub limits: Option<(f64, f64)>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A plot of values against other values, e.g. a track seen from above.
#[derive(Clone, Debug, Default)]
pub struct XyPanel {
    /// The horizontal axis.
    pub x: XyAxis,
    /// The vertical axis.
    pub y: XyAxis,
    /// The lines.
    pub lines: Vec<XyLine>,
}

/// An axis of an [`XyPanel`].
#[derive(Clone, Debug, Default)]
pub struct XyAxis {
    /// The name of the values.
    pub name: String,
    /// The unit of the values. Axes of the same unit have the same scale.
    pub unit: String,
    /// The lowest and the highest value of the axis, or `None` to derive them from the
    /// values. Positions outside are not drawn.
    pub limits: Option<(f64, f64)>,
    /// The names of the values, if they are states.
    pub value_names: BTreeMap<i64, String>,
}

/// A line in an [`XyPanel`].
#[derive(Clone, Debug, Default)]
pub struct XyLine {
    /// The name in the legend.
    pub name: String,
    /// The number of positions that were added, including those that were removed because they make
    /// no visible difference.
    pub values: u64,
    /// The positions as (x, y), in runs that are separated by gaps.
    pub runs: Vec<Vec<(f64, f64)>>,
}

/// A signal in a plot.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// The values.
    pub signal: Signal,
    /// Whether a value lasts until the next one, so that the line has steps.
    pub is_held: bool,
    /// The names of the values, if they are states. An axis has them if all its lines have the same.
    pub value_names: BTreeMap<i64, String>,
}

impl XyLine {
    /// Creates a line through `points`, given as (x, y). Points that would make no visible
    /// difference are removed. A point with a coordinate that is not finite starts a gap.
    pub fn new(
        name: impl Into<String>,
        points: impl Iterator<Item = (f64, f64)> + Clone,
    ) -> Self {
        let is_finite = |point: &(f64, f64)| point.0.is_finite() && point.1.is_finite();
        let mut low = (f64::INFINITY, f64::INFINITY);
        let mut high = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for point in points.clone().filter(is_finite) {
            low = (low.0.min(point.0), low.1.min(point.1));
            high = (high.0.max(point.0), high.1.max(point.1));
        }
        // Both axes are scaled to the same length, because the plot may stretch one of them.
        let extent = |low: f64, high: f64| if low < high { high - low } else { 1.0 };
        let extent = (extent(low.0, high.0), extent(low.1, high.1));
        let mut path = PathSimplifier::new();
        let (mut segment, mut is_gap) = (0_u32, false);
        for point in points {
            if !is_finite(&point) {
                is_gap = true;
                continue;
            }
            segment = segment.saturating_add(u32::from(std::mem::take(&mut is_gap)));
            let (x, y) = ((point.0 - low.0) / extent.0, (point.1 - low.1) / extent.1);
            path.add(TrackPoint { x, y, segment });
        }
        let path = path.finish();
        let runs = path.positions.chunk_by(|a, b| a.segment == b.segment);
        let position = |point: &TrackPoint| {
            (low.0 + point.x * extent.0, low.1 + point.y * extent.1)
        };
        let runs = runs.map(|run| run.iter().map(position).collect()).collect();
        Self { name: name.into(), values: path.added, runs }
    }

    /// Returns the positions of all runs.
    pub fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.runs.iter().flatten()
    }
}

/// A coloured time range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The name in the legend. Bands with the same name have the same colour.
    pub name: String,
    /// The start in nanoseconds on the log's clock.
    pub start: i64,
    /// The end in nanoseconds, exclusive.
    pub end: i64,
    /// The colour, which is drawn as a tint.
    pub color: Rgb,
}

/// An event on the time axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The kind of the event in the legend. Marks of the same kind have the same colour.
    pub kind: String,
    /// The description of the event; may be empty.
    pub text: String,
    /// The start in nanoseconds on the log's clock.
    pub start: i64,
    /// The end in nanoseconds. If it equals the start, the mark is a vertical line.
    pub end: i64,
    /// The colour.
    pub color: Rgb,
}

/// A time axis for nanoseconds on the log's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeAxis {
    /// The time of the axis value 0.
    pub zero: i64,
    /// The day at the axis value 0, in days since 1970-01-01, if the labels are times of day.
    /// `None` if they are seconds.
    pub day: Option<i64>,
    /// The label of the axis.
    pub name: String,
    /// The start and the end, or `None` for the first and the last value.
    pub range: Option<(i64, i64)>,
}

impl TimeAxis {
    /// Extends the range to contain all `signals`. Without a range, the range of the signals is
    /// used.
    pub fn cover<'s>(&mut self, signals: impl Iterator<Item = &'s Signal> + Clone) {
        if let Some((start, end)) = all_times(signals) {
            let extend = |range: (i64, i64)| (range.0.min(start), range.1.max(end));
            self.range = Some(self.range.map_or((start, end), extend));
        }
    }

    /// Returns the seconds since the axis value 0.
    pub fn seconds(&self, nanos: i64) -> f64 {
        (i128::from(nanos) - i128::from(self.zero)) as f64 / 1e9
    }
}

impl Chart {
    /// Returns the start and the end of the chart in nanoseconds.
    pub fn times(&self) -> (i64, i64) {
        let lines = self.panels.iter().flat_map(Panel::all_lines);
        let signal_times = || all_times(lines.map(|line| &line.signal));
        self.time
            .range
            .or_else(signal_times)
            .unwrap_or((self.time.zero, self.time.zero))
    }

    /// Returns the start and the end in seconds of the axis. A single time is extended to
    /// one second around it.
    pub(crate) fn span(&self) -> (f64, f64) {
        let (start, end) = self.times();
        let (start, end) = (self.time.seconds(start), self.time.seconds(end));
        if start < end { (start, end) } else { (start - 0.5, end + 0.5) }
    }
}

/// Returns the names of the values of an axis, if all of its `lines` have the same ones.
pub(crate) fn names_of_axis(lines: &[Line]) -> Option<&BTreeMap<i64, String>> {
    let names = &lines.first()?.value_names;
    let is_same = lines.iter().all(|line| line.value_names == *names);
    (is_same && !names.is_empty()).then_some(names)
}

/// Returns the first and the last time of all `signals`.
fn all_times<'s>(
    signals: impl Iterator<Item = &'s Signal> + Clone,
) -> Option<(i64, i64)> {
    let first = signals.clone().filter_map(|signal| Some(signal.times()?.0)).min()?;
    Some((first, signals.filter_map(|signal| Some(signal.times()?.1)).max()?))
}
