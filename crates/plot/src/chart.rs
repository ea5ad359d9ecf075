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
    /// The lowest and the highest value of the axis, if they do not follow the values;
    /// values outside are not seen.
    pub limits: Option<(f64, f64)>,
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
    /// The day that begins there, in days since 1970, if seconds are shown as the time of
    /// that day; else they are shown as numbers.
    pub day: Option<i64>,
    /// What stands at the axis.
    pub name: String,
    /// From when to when, if that is not from the first value to the last.
    pub range: Option<(i64, i64)>,
}

impl TimeAxis {
    /// Makes the range as much longer as it takes to show all of `signals`; if none is told,
    /// it becomes theirs.
    pub fn cover<'s>(&mut self, signals: impl Iterator<Item = &'s Signal> + Clone) {
        if let Some((start, end)) = all_times(signals) {
            let longer = |range: (i64, i64)| (range.0.min(start), range.1.max(end));
            self.range = Some(self.range.map_or((start, end), longer));
        }
    }

    /// Seconds since its zero.
    pub fn seconds(&self, nanos: i64) -> f64 {
        (i128::from(nanos) - i128::from(self.zero)) as f64 / 1e9
    }
}

impl Chart {
    /// From when to when the picture goes.
    pub fn times(&self) -> (i64, i64) {
        let lines = self.panels.iter().flat_map(|panel| &panel.lines);
        let found = || all_times(lines.map(|line| &line.signal));
        self.time.range.or_else(found).unwrap_or((self.time.zero, self.time.zero))
    }

    /// The same in seconds of its axis. A moment is shown with a second around it.
    pub(crate) fn span(&self) -> (f64, f64) {
        let (start, end) = self.times();
        let (start, end) = (self.time.seconds(start), self.time.seconds(end));
        if start < end { (start, end) } else { (start - 0.5, end + 0.5) }
    }
}

/// The first and the last time of all of `signals`.
fn all_times<'s>(
    signals: impl Iterator<Item = &'s Signal> + Clone,
) -> Option<(i64, i64)> {
    let first = signals.clone().filter_map(|signal| Some(signal.times()?.0)).min()?;
    Some((first, signals.filter_map(|signal| Some(signal.times()?.1)).max()?))
}
