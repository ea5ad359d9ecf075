//! What brings the times of one clock onto another: an offset, and a drift.

use crate::time::{TimeRange, Timestamp};

/// What brings the times of one clock onto another that is apart from it, and goes faster
/// or slower.
///
/// ```
/// use logtool_core::{Shift, Timestamp};
///
/// // A second later, and from there on a millionth faster.
/// let reference = Timestamp::from_nanos(5_000_000_000);
/// let shift = Shift::new(1_000_000_000).with_drift(1.0, reference);
/// assert_eq!(shift.of(reference).as_nanos(), 6_000_000_000);
/// let later = Timestamp::from_nanos(15_000_000_000);
/// assert_eq!(shift.of(later).as_nanos(), 16_000_010_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    offset_nanos: i64,
    /// How much is added for each [`UNIT`] that passed since the reference.
    drift: i64,
    reference: i64,
}

/// Drifts are counted in millionths of a millionth, so that no time is a matter of rounding.
const UNIT: i128 = 1_000_000_000_000;

/// No clock is off by more: a tenth.
const MOST_PPM: f64 = 1e5;

impl Shift {
    /// So many nanoseconds later.
    pub const fn new(offset_nanos: i64) -> Self {
        Self { offset_nanos, drift: 0, reference: 0 }
    }

    /// The same at `reference`, and so many millionths of the time since then more. (No more
    /// than a tenth is added, and nothing where `ppm` is no number.)
    #[must_use]
    pub fn with_drift(self, ppm: f64, reference: Timestamp) -> Self {
        let drift = (ppm.clamp(-MOST_PPM, MOST_PPM) * 1e6).round() as i64;
        Self { drift, reference: reference.as_nanos(), ..self }
    }

    /// The same, and then so many nanoseconds later.
    #[must_use]
    pub const fn later(self, nanos: i64) -> Self {
        Self { offset_nanos: self.offset_nanos.saturating_add(nanos), ..self }
    }

    /// What `time` is on the other clock. The earliest and the latest, which stand for what
    /// cannot be told, stay what they are.
    #[must_use]
    pub fn of(&self, time: Timestamp) -> Timestamp {
        if self.drift == 0 || [Timestamp::MIN, Timestamp::MAX].contains(&time) {
            return time.later(self.offset_nanos);
        }
        let since = i128::from(time.as_nanos()) - i128::from(self.reference);
        // Rounded down, so that what is later stays later.
        let more = (since * i128::from(self.drift)).div_euclid(UNIT);
        saturating(i128::from(time.as_nanos()) + more + i128::from(self.offset_nanos))
    }

    /// The times of the other clock that those in `range` become.
    #[must_use]
    pub fn of_range(&self, range: TimeRange) -> TimeRange {
        if self.drift == 0 {
            return range.later(self.offset_nanos);
        }
        let end = match range.end {
            Timestamp::MIN | Timestamp::MAX => range.end,
            end => self.of(end.later(-1)).later(1),
        };
        TimeRange { start: self.of(range.start), end }
    }

    /// The times that become those in `range` of the other clock: no more and no less.
    #[must_use]
    pub fn back(&self, range: TimeRange) -> TimeRange {
        if self.drift == 0 {
            return range.later(self.offset_nanos.saturating_neg());
        }
        TimeRange { start: self.first(range.start), end: self.first(range.end) }
    }

    /// The first time that becomes `wanted`, or later.
    fn first(&self, wanted: Timestamp) -> Timestamp {
        if [Timestamp::MIN, Timestamp::MAX].contains(&wanted) {
            return wanted;
        }
        let [wanted, offset, drift, reference] =
            [wanted.as_nanos(), self.offset_nanos, self.drift, self.reference]
                .map(i128::from);
        // t + ⌊(t - reference) drift / UNIT⌋ + offset ≥ wanted, for t.
        let (above, below) =
            ((wanted - offset) * UNIT + reference * drift, UNIT + drift);
        saturating(-(-above).div_euclid(below))
    }
}

fn saturating(nanos: i128) -> Timestamp {
    let least = i128::from(i64::MIN) + 1;
    let most = i128::from(i64::MAX) - 1;
    Timestamp::from_nanos(nanos.clamp(least, most) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn fifty_millionths_are_fifty_microseconds_a_second() {
        let shift = Shift::new(2_345_000_000).with_drift(50.0, at(0));
        assert_eq!(shift.of(at(1_000_000_000)).as_nanos(), 3_345_050_000);
        assert_eq!(shift.of(at(-1_000_000_000)).as_nanos(), 1_344_950_000);
        let day = 86_400_000_000_000_i64;
        assert_eq!(shift.of(at(day)).as_nanos(), day + 2_345_000_000 + 4_320_000_000);
        assert_eq!(shift.of(Timestamp::MAX), Timestamp::MAX);
    }

    #[test]
    fn the_way_back_finds_just_those_times_that_become_a_range() {
        // A tenth slower and faster: several times become one, or none does.
        for ppm in [-1e5, -50.0, 0.0, 50.0, 1e5] {
            let shift = Shift::new(7).with_drift(ppm, at(3));
            for start in -40..40 {
                for end in start..40 {
                    let range = TimeRange { start: at(start), end: at(end) };
                    let back = shift.back(range);
                    for time in (-100..100).map(at) {
                        let is_in = range.contains(shift.of(time));
                        assert_eq!(
                            back.contains(time),
                            is_in,
                            "{ppm} {range:?} {time:?}"
                        );
                        let all = shift.of_range(range);
                        assert!(!range.contains(time) || all.contains(shift.of(time)));
                    }
                }
            }
        }
    }
}
