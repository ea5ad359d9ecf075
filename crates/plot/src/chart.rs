//! Charts of signals over time.

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
    /// Coloured time ranges behind the lines, e.g. flight modes.
    pub bands: Vec<Band>,
    /// Coloured time ranges along the lower edge of each plot, e.g. the states of a VTOL vehicle.
    pub states: Vec<Band>,
    /// Events at the time axis, e.g. changes of parameters. Texts that would overlap others are
    /// not drawn; SVG has them only on the first plot.
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
    /// How pages draw the lines. SVG always has lines.
    pub style: PanelStyle,
    /// Coloured ranges of the values of the left axis. Pages draw them in place of the bands; SVG
    /// does not have them.
    pub levels: Vec<Level>,
}

/// A range of values that pages show by its colour, e.g. strong vibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The name, which is shown at the left of the range.
    pub name: String,
    /// The lowest value.
    pub low: f64,
    /// The highest value; may be infinite.
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

/// How a page draws the lines of a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PanelStyle {
    /// As lines.
    #[default]
    Lines,
    /// As rows with their names, each with a bar while its value is not 0.
    Flags,
}

/// The second value axis of a plot.
#[derive(Clone, Debug, Default)]
pub struct RightAxis {
    /// The unit of the values.
    pub unit: String,
    /// The limits, as those of a [`Panel`].
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
}

/// A line in an [`XyPanel`].
#[derive(Clone, Debug, Default)]
pub struct XyLine {
    /// The name in the legend.
    pub name: String,
    /// The number of positions that were added, including those that make no difference.
    pub values: u64,
    /// The positions. There is a gap between two runs.
    pub runs: Vec<Vec<(f64, f64)>>,
}

/// A signal in a plot.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// The values.
    pub signal: Signal,
    /// Whether a value holds until the next one, so that the line has steps.
    pub is_held: bool,
}

impl XyLine {
    /// Creates a line through `points` without those that would make no visible difference. A
    /// point with a coordinate that is not finite is a gap.
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
        // Both axes count the same: the plot may stretch one of them.
        let size = |low: f64, high: f64| if low < high { high - low } else { 1.0 };
        let size = (size(low.0, high.0), size(low.1, high.1));
        let mut path = PathSimplifier::new();
        let (mut segment, mut is_gap) = (0_u32, false);
        for point in points {
            if !is_finite(&point) {
                is_gap = true;
                continue;
            }
            segment = segment.saturating_add(u32::from(std::mem::take(&mut is_gap)));
            let (x, y) = ((point.0 - low.0) / size.0, (point.1 - low.1) / size.1);
            path.add(TrackPoint { x, y, segment });
        }
        let path = path.finish();
        let runs =
            path.positions.chunk_by(|before, after| before.segment == after.segment);
        let position =
            |point: &TrackPoint| (low.0 + point.x * size.0, low.1 + point.y * size.1);
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

/// An event at the time axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The kind of the event in the legend. Marks of the same kind have the same colour.
    pub kind: String,
    /// The description of the event; may be empty.
    pub text: String,
    /// The start in nanoseconds on the log's clock.
    pub start: i64,
    /// The end in nanoseconds. If it is the start, the mark is a vertical line.
    pub end: i64,
    /// The colour.
    pub color: Rgb,
}

/// A time axis for nanoseconds on the log's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeAxis {
    /// The time of the axis value 0.
    pub zero: i64,
    /// The day at the axis value 0, in days since 1970, to show the time of day. `None`
    /// shows seconds as numbers.
    pub day: Option<i64>,
    /// The label of the axis.
    pub name: String,
    /// The start and the end, or `None` for the first and the last value.
    pub range: Option<(i64, i64)>,
}

impl TimeAxis {
    /// Extends the range to contain all of `signals`. If there is no range, it becomes
    /// that of the signals.
    pub fn cover<'s>(&mut self, signals: impl Iterator<Item = &'s Signal> + Clone) {
        if let Some((start, end)) = all_times(signals) {
            let longer = |range: (i64, i64)| (range.0.min(start), range.1.max(end));
            self.range = Some(self.range.map_or((start, end), longer));
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
        let found = || all_times(lines.map(|line| &line.signal));
        self.time.range.or_else(found).unwrap_or((self.time.zero, self.time.zero))
    }

    /// Returns the start and the end in seconds of the axis. A single time is extended to
    /// one second around it.
    pub(crate) fn span(&self) -> (f64, f64) {
        let (start, end) = self.times();
        let (start, end) = (self.time.seconds(start), self.time.seconds(end));
        if start < end { (start, end) } else { (start - 0.5, end + 0.5) }
    }
}

/// Returns the first and the last time of all `signals`.
fn all_times<'s>(
    signals: impl Iterator<Item = &'s Signal> + Clone,
) -> Option<(i64, i64)> {
    let first = signals.clone().filter_map(|signal| Some(signal.times()?.0)).min()?;
    Some((first, signals.filter_map(|signal| Some(signal.times()?.1)).max()?))
}
