//! What a picture of signals shows.

use crate::{palette::Rgb, sample::Signal};

/// Plots above each other with one axis of time.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The plots, from the top.
    pub panels: Vec<Panel>,
    /// What went on meanwhile, behind the lines.
    pub bands: Vec<Band>,
    /// What the axis of time shows.
    pub time: TimeAxis,
    /// How many pixels the picture is wide, and high.
    pub size: (u32, u32),
}

/// A plot.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// What the values are in, as `m/s`.
    pub unit: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A signal in a plot.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Its values.
    pub signal: Signal,
    /// Whether a value holds until the next, so that lines are steps.
    pub is_held: bool,
}

/// A stretch of time that has a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// What it is called; bands of one name have one colour.
    pub name: String,
    /// The first nanosecond of it, on the log's clock.
    pub start: i64,
    /// The first after it.
    pub end: i64,
    /// The colour, of which a tint is painted.
    pub color: Rgb,
}

/// What an axis of time shows, of nanoseconds of the log's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeAxis {
    /// The moment that is zero.
    pub zero: i64,
    /// Whether seconds since then are shown as the time of a day that begins there; else
    /// as numbers.
    pub is_time_of_day: bool,
    /// What stands at the axis.
    pub name: String,
    /// From when to when, if that is not from the first value to the last.
    pub range: Option<(i64, i64)>,
}

impl TimeAxis {
    /// Seconds since its zero.
    pub fn seconds(&self, nanos: i64) -> f64 {
        (i128::from(nanos) - i128::from(self.zero)) as f64 / 1e9
    }
}

impl Chart {
    /// From when to when the picture goes, in seconds of its axis.
    pub(crate) fn span(&self) -> (f64, f64) {
        let lines = self.panels.iter().flat_map(|panel| &panel.lines);
        let times = || lines.clone().filter_map(|line| line.signal.times());
        let found = || Some((times().map(|t| t.0).min()?, times().map(|t| t.1).max()?));
        let (start, end) =
            self.time.range.or_else(found).unwrap_or((self.time.zero, self.time.zero));
        (self.time.seconds(start), self.time.seconds(end))
    }
}
