//! The transform between two clocks: an offset and a drift.

use crate::model::time::{TimeRange, Timestamp};

/// A transform from one clock to another: an offset and a linear drift.
///
/// ```
/// use logtool_core::{ClockTransform, Timestamp};
///
/// // One second later, and one part per million faster from the reference on.
/// let reference = Timestamp::from_nanos(5_000_000_000);
/// let transform = ClockTransform::new(1_000_000_000).with_drift(1.0, reference);
/// assert_eq!(transform.apply(reference).as_nanos(), 6_000_000_000);
/// let later = Timestamp::from_nanos(15_000_000_000);
/// assert_eq!(transform.apply(later).as_nanos(), 16_000_010_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockTransform {
    offset_nanos: i64,
    /// The nanoseconds to add per [`DRIFT_DENOMINATOR`] nanoseconds since the reference.
    drift: i64,
    /// The time at which only the offset applies.
    reference_nanos: i64,
}

/// The unit of drifts is 10⁻¹², one divided by this number. Integers make the result
/// independent of floating-point rounding.
const DRIFT_DENOMINATOR: i128 = 1_000_000_000_000;

/// The largest drift in parts per million: 10 %.
const MAX_DRIFT_PPM: f64 = 1e5;

impl ClockTransform {
    /// Creates a transform that adds `offset_nanos` nanoseconds.
    pub const fn new(offset_nanos: i64) -> Self {
        Self { offset_nanos, drift: 0, reference_nanos: 0 }
    }

    /// Adds a drift of `ppm` parts per million relative to `reference`, at which only the
    /// offset applies. The drift is limited to 10 %, and is 0 if `ppm` is NaN.
    #[must_use]
    pub fn with_drift(self, ppm: f64, reference: Timestamp) -> Self {
        let drift = (ppm.clamp(-MAX_DRIFT_PPM, MAX_DRIFT_PPM) * 1e6).round() as i64;
        Self { drift, reference_nanos: reference.as_nanos(), ..self }
    }

    /// Adds `nanos` nanoseconds to the offset.
    #[must_use]
    pub const fn shifted_by(self, nanos: i64) -> Self {
        Self { offset_nanos: self.offset_nanos.saturating_add(nanos), ..self }
    }

    /// Returns `time` on the other clock. [`Timestamp::MIN`] and [`Timestamp::MAX`] stand
    /// for unknown times and are returned unchanged.
    #[must_use]
    pub fn apply(&self, time: Timestamp) -> Timestamp {
        if self.drift == 0 || [Timestamp::MIN, Timestamp::MAX].contains(&time) {
            return time.shifted_by(self.offset_nanos);
        }
        let elapsed = i128::from(time.as_nanos()) - i128::from(self.reference_nanos);
        // Rounding down preserves the order of times.
        let drift_nanos =
            (elapsed * i128::from(self.drift)).div_euclid(DRIFT_DENOMINATOR);
        saturating_timestamp(
            i128::from(time.as_nanos()) + drift_nanos + i128::from(self.offset_nanos),
        )
    }

    /// Returns the range on the other clock to which the times in `range` are mapped.
    #[must_use]
    pub fn apply_to_range(&self, range: TimeRange) -> TimeRange {
        if self.drift == 0 {
            return range.shifted_by(self.offset_nanos);
        }
        let end = match range.end {
            Timestamp::MIN | Timestamp::MAX => range.end,
            end => self.apply(end.shifted_by(-1)).shifted_by(1),
        };
        TimeRange { start: self.apply(range.start), end }
    }

    /// Returns exactly those times that are mapped into `range` of the other clock.
    #[must_use]
    pub fn inverse_range(&self, range: TimeRange) -> TimeRange {
        if self.drift == 0 {
            return range.shifted_by(self.offset_nanos.saturating_neg());
        }
        TimeRange {
            start: self.first_time_mapped_to(range.start),
            end: self.first_time_mapped_to(range.end),
        }
    }

    /// Returns the first time that is mapped to `target` or a later time.
    fn first_time_mapped_to(&self, target: Timestamp) -> Timestamp {
        if [Timestamp::MIN, Timestamp::MAX].contains(&target) {
            return target;
        }
        let [target, offset, drift, reference] =
            [target.as_nanos(), self.offset_nanos, self.drift, self.reference_nanos]
                .map(i128::from);
        // Solves t + ⌊(t - reference) drift / DRIFT_DENOMINATOR⌋ + offset ≥ target for t.
        let numerator = (target - offset) * DRIFT_DENOMINATOR + reference * drift;
        let denominator = DRIFT_DENOMINATOR + drift;
        // The negations turn rounding down into rounding up.
        saturating_timestamp(-(-numerator).div_euclid(denominator))
    }
}

/// Returns the timestamp `nanos`, clamped to the times that are known.
fn saturating_timestamp(nanos: i128) -> Timestamp {
    let min = i128::from(i64::MIN) + 1;
    let max = i128::from(i64::MAX) - 1;
    Timestamp::from_nanos(nanos.clamp(min, max) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn drift_of_50_ppm_adds_50_microseconds_per_second() {
        let transform =
            ClockTransform::new(2_345_000_000).with_drift(50.0, timestamp(0));
        assert_eq!(transform.apply(timestamp(1_000_000_000)).as_nanos(), 3_345_050_000);
        assert_eq!(
            transform.apply(timestamp(-1_000_000_000)).as_nanos(),
            1_344_950_000
        );
        let day = 86_400_000_000_000_i64;
        assert_eq!(
            transform.apply(timestamp(day)).as_nanos(),
            day + 2_345_000_000 + 4_320_000_000
        );
        assert_eq!(transform.apply(Timestamp::MAX), Timestamp::MAX);
    }

    #[test]
    fn inverse_range_has_exactly_the_times_that_map_into_the_range() {
        // With a drift of 10 %, several times map to one, or none does.
        for ppm in [-1e5, -50.0, 0.0, 50.0, 1e5] {
            let transform = ClockTransform::new(7).with_drift(ppm, timestamp(3));
            for start in -40..40 {
                for end in start..40 {
                    let range =
                        TimeRange { start: timestamp(start), end: timestamp(end) };
                    let inverse = transform.inverse_range(range);
                    for time in (-100..100).map(timestamp) {
                        let is_in_range = range.contains(transform.apply(time));
                        assert_eq!(
                            inverse.contains(time),
                            is_in_range,
                            "{ppm} {range:?} {time:?}"
                        );
                        let mapped = transform.apply_to_range(range);
                        assert!(
                            !range.contains(time)
                                || mapped.contains(transform.apply(time))
                        );
                    }
                }
            }
        }
    }
}
