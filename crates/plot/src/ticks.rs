//! The ticks of an axis and their labels.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::calendar;

/// An axis: its range and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) ticks: Vec<f64>,
    /// The distance between ticks.
    step: f64,
    kind: TickUnit,
    /// The labels of values that have a name.
    names: BTreeMap<i64, String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TickUnit {
    Number,
    /// Seconds since the start of this day, counted from 1970-01-01. The labels are times of day,
    /// and dates at the starts of days.
    TimeOfDay(i64),
}

/// The tick distances of clocks below a day, in seconds.
const CLOCK_STEPS: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0,
    7200.0, 10_800.0, 21_600.0, 43_200.0,
];

const DAY: f64 = 86_400.0;

impl Axis {
    /// Creates an axis of numbers with about `tick_count` ticks. If `has_margin` is set, the axis
    /// starts slightly before `start` and ends slightly after `end`.
    pub(crate) fn numbers(
        start: f64,
        end: f64,
        tick_count: usize,
        has_margin: bool,
    ) -> Self {
        let (start, end) = widen(start, end, has_margin);
        let step = round_step((end - start) / tick_count.max(1) as f64);
        Self::new(start, end, step, TickUnit::Number)
    }

    /// Creates an axis of integers with ticks at integers.
    pub(crate) fn whole_numbers(start: f64, end: f64, tick_count: usize) -> Self {
        let (start, end) = widen(start, end, true);
        let step = round_step((end - start) / tick_count.max(1) as f64).max(1.0);
        Self::new(start, end, step, TickUnit::Number)
    }

    /// Creates an axis of states, with ticks at the `values` that occur between the `limits`. Without
    /// limits, all values are within the axis. Labels that would overlap others are left out: there is
    /// room for about twice `tick_count`.
    pub(crate) fn states(
        values: &BTreeSet<i64>,
        names: &BTreeMap<i64, String>,
        limits: Option<(f64, f64)>,
        tick_count: usize,
    ) -> Self {
        let end = |value: Option<&i64>| value.copied().unwrap_or_default() as f64;
        let axis = match limits {
            Some((low, high)) => Self::numbers(low, high, tick_count, false),
            None => {
                Self::whole_numbers(end(values.first()), end(values.last()), tick_count)
            }
        };
        let distance = (axis.end - axis.start) / (2 * tick_count.max(1)) as f64;
        let mut next = axis.start;
        let mut ticks = Vec::new();
        for value in values.iter().map(|value| *value as f64) {
            if (next..=axis.end).contains(&value) {
                ticks.push(value);
                next = value + distance;
            }
        }
        Self { ticks, names: names.clone(), ..axis }
    }

    /// Creates an axis of times of day. `start` and `end` are seconds since the start of the day
    /// `day`, which is counted from 1970-01-01.
    pub(crate) fn times_of_day(
        start: f64,
        end: f64,
        tick_count: usize,
        day: i64,
    ) -> Self {
        let (start, end) = widen(start, end, false);
        let min_step = (end - start) / tick_count.max(1) as f64;
        let step = match min_step {
            min_step if min_step <= 1.0 => round_step(min_step),
            min_step if min_step > DAY / 2.0 => {
                DAY * round_step(min_step / DAY).max(1.0)
            }
            min_step => {
                CLOCK_STEPS.into_iter().find(|step| *step >= min_step).unwrap_or(DAY)
            }
        };
        Self::new(start, end, step, TickUnit::TimeOfDay(day))
    }

    fn new(start: f64, end: f64, step: f64, kind: TickUnit) -> Self {
        let first = (start / step).ceil();
        // The small number compensates for rounding errors: 0.1 is not exactly ten hundredths.
        let count = ((end / step + 1e-9).floor() - first).clamp(0.0, 100.0) as usize;
        let ticks = (0..=count).map(|n| (first + n as f64) * step);
        let ticks = ticks.filter(|tick| *tick <= end + step * 1e-9).collect();
        Self { start, end, ticks, step, kind, names: BTreeMap::new() }
    }

    /// Returns the label of the tick `tick`.
    pub(crate) fn label(&self, tick: f64) -> String {
        if let Some(name) = self.names.get(&(tick.round() as i64)) {
            return name.clone();
        }
        match self.kind {
            TickUnit::Number => self.number(tick),
            TickUnit::TimeOfDay(day) => self.time_of_day(tick, day),
        }
    }

    fn number(&self, tick: f64) -> String {
        let tick = if tick.abs() < self.step * 1e-6 { 0.0 } else { tick };
        let largest = self.start.abs().max(self.end.abs());
        let digits = -self.step.log10().floor();
        let text = match digits {
            digits if digits <= 0.0 && largest < 1e6 => format!("{tick:.0}"),
            digits if (0.0..=9.0).contains(&digits) && largest < 1e6 => {
                format!("{tick:.0$}", digits as usize)
            }
            _ if tick == 0.0 => "0".to_owned(),
            digits => {
                let decimals =
                    (tick.abs().log10().floor() + digits).clamp(0.0, 9.0) as usize;
                format!("{tick:.decimals$e}")
            }
        };
        text.replace('-', "\u{2212}")
    }

    fn time_of_day(&self, tick: f64, day: i64) -> String {
        let digits = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        let scale = 10_f64.powi(digits as i32);
        let units = (tick * scale).round();
        let seconds = (units / scale).floor();
        let fraction = (units - seconds * scale) as u64;
        let seconds_of_day = seconds.rem_euclid(DAY) as u64;
        if seconds_of_day == 0 && fraction == 0 {
            return date(day.saturating_add((seconds / DAY).floor() as i64));
        }
        let (h, m, s) =
            (seconds_of_day / 3600, seconds_of_day / 60 % 60, seconds_of_day % 60);
        match (self.step >= 60.0, digits) {
            (true, _) => format!("{h:02}:{m:02}"),
            (false, 0) => format!("{h:02}:{m:02}:{s:02}"),
            _ => format!("{h:02}:{m:02}:{s:02}.{fraction:0digits$}"),
        }
    }
}

/// Formats the day that is `days` days after 1970-01-01 as `2024-05-01`.
fn date(days: i64) -> String {
    let (year, month, day) = calendar::date_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns the range from `start` to `end`, widened if it is empty or a single number.
fn widen(start: f64, end: f64, has_margin: bool) -> (f64, f64) {
    let (start, end) = if start.is_finite() && end.is_finite() {
        (start.min(end).max(-1e300), start.max(end).min(1e300))
    } else {
        return (0.0, 1.0);
    };
    let largest = start.abs().max(end.abs());
    if end - start <= largest * 1e-9 {
        let margin = if largest == 0.0 { 1.0 } else { largest * 0.05 };
        return (start - margin, end + margin);
    }
    let margin = if has_margin { (end - start) * 0.04 } else { 0.0 };
    (start - margin, end + margin)
}

/// Returns the smallest number of the form 1, 2 or 5 times a power of ten that is at least
/// `min_step`.
pub(crate) fn round_step(min_step: f64) -> f64 {
    let power = 10_f64.powf(min_step.max(1e-300).log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0].into_iter();
    factors
        .map(|factors| factors * power)
        .find(|step| *step >= min_step * (1.0 - 1e-9))
        .unwrap_or(min_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|tick| axis.label(*tick)).collect()
    }

    #[test]
    fn marks_are_at_round_numbers() {
        assert_eq!(
            labels(&Axis::numbers(0.0, 1.0, 5, false)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(&Axis::numbers(-7.0, 7.0, 4, false)),
            ["\u{2212}5", "0", "5"]
        );
        assert_eq!(
            labels(&Axis::numbers(49.449_99, 49.450_02, 3, false)),
            ["49.44999", "49.45000", "49.45001", "49.45002"]
        );
        assert_eq!(
            labels(&Axis::numbers(0.0, 3e7, 3, false)),
            ["0", "1e7", "2e7", "3e7"]
        );
    }

    #[test]
    fn one_number_or_none_has_an_axis_too() {
        let axis = Axis::numbers(5.0, 5.0, 5, true);
        assert!(axis.start < 5.0 && axis.end > 5.0 && !axis.ticks.is_empty());
        let none = Axis::numbers(f64::INFINITY, f64::NEG_INFINITY, 5, true);
        assert_eq!((none.start, none.end), (0.0, 1.0));
        let wide = Axis::numbers(-f64::MAX, f64::MAX, 5, true);
        assert!(wide.start.is_finite() && (wide.end - wide.start).is_finite());
    }

    #[test]
    fn times_of_day_are_as_clocks_have_them() {
        let hour = 36_000.0;
        assert_eq!(
            labels(&Axis::times_of_day(hour, hour + 30.0, 3, 0)),
            ["10:00:00", "10:00:10", "10:00:20", "10:00:30"]
        );
        assert_eq!(
            labels(&Axis::times_of_day(hour + 1.0, hour + 400.0, 4, 0)),
            ["10:02", "10:04", "10:06"]
        );
        assert_eq!(
            labels(&Axis::times_of_day(hour, hour + 0.3, 3, 0)),
            ["10:00:00.0", "10:00:00.1", "10:00:00.2", "10:00:00.3"]
        );
        // After midnight of 2024-06-01.
        assert_eq!(
            labels(&Axis::times_of_day(86_399.0, 86_401.0, 2, 19_875)),
            ["23:59:59", "2024-06-02", "00:00:01"]
        );
    }

    #[test]
    fn days_are_dates() {
        // From `date -u -d @$((86400 * N)) +%F`.
        for (day, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (19_783, "2024-03-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(day), text, "{day}");
        }
        assert!(!date(i64::MAX).is_empty() && !date(i64::MIN).is_empty());
    }

    #[test]
    fn states_have_no_marks_between_them() {
        assert_eq!(labels(&Axis::whole_numbers(0.0, 1.0, 5)), ["0", "1"]);
        assert_eq!(labels(&Axis::whole_numbers(3.0, 3.0, 5)), ["3"]);
        assert_eq!(labels(&Axis::whole_numbers(0.0, 14.0, 4)), ["0", "5", "10"]);
    }

    #[test]
    fn states_have_names_at_the_values_that_occur() {
        let names: BTreeMap<i64, String> =
            [(0, "MANUAL".to_owned()), (3, "AUTO".to_owned())].into();
        let axis =
            |limits, count| Axis::states(&[0, 3, 17].into(), &names, limits, count);
        assert_eq!(labels(&axis(None, 5)), ["MANUAL", "AUTO", "17"]);
        assert_eq!(labels(&axis(None, 2)), ["MANUAL", "17"]);
        assert!(Axis::states(&BTreeSet::new(), &names, None, 5).ticks.is_empty());
        let limited = axis(Some((1.0, 20.0)), 5);
        assert_eq!(labels(&limited), ["AUTO", "17"]);
        assert_eq!((limited.start, limited.end), (1.0, 20.0));
    }
}
