//! Charts of signals over time.

use crate::{palette::Rgb, sample::Signal};

/// Plots above each other with a common time axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The plots, from the top.
    pub panels: Vec<Panel>,
    /// Coloured time ranges behind the lines, e.g. flight modes.
    pub bands: Vec<Band>,
    /// Events at the time axis, e.g. changes of parameters. Pages show them; SVG does not.
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
    /// How pages draw the lines. SVG always has lines.
    pub style: PanelStyle,
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
        let lines = self.panels.iter().flat_map(|panel| &panel.lines);
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
