//! Decides whether the positions of a log are in degrees, or in degrees and minutes.
//!
//! Neither the specification nor a field states the unit. Values beyond 90 and 180 cannot
//! be degrees. However, a receiver without a fix may report any value, and bytes can be
//! corrupted. The majority of the positions therefore decides.

use crate::vel::message::Gps;

/// Statistics of the positions of a log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PositionStats {
    with_fix: PositionCounts,
    /// Positions of messages that state that they have no fix. Used if there are no
    /// others.
    without_fix: PositionCounts,
}

#[derive(Clone, Copy, Debug, Default)]
struct PositionCounts {
    total: u64,
    /// Positions that cannot be degrees.
    invalid: u64,
    /// Of these, positions that can be degrees and minutes.
    in_minutes: u64,
}

impl PositionStats {
    /// Adds a position.
    pub(crate) fn observe(&mut self, gps: &Gps) {
        let (north, east) = (gps.latitude.abs(), gps.longitude.abs());
        if north.is_nan() || east.is_nan() || (north, east) == (0.0, 0.0) {
            return;
        }
        let counts =
            if gps.quality > 0 { &mut self.with_fix } else { &mut self.without_fix };
        let is_invalid = north > 90.0 || east > 180.0;
        let can_be = |value: f64, max: f64| value <= max && value % 100.0 < 60.0;
        let is_in_minutes =
            is_invalid && can_be(north, 9_000.0) && can_be(east, 18_000.0);
        counts.total += 1;
        counts.invalid += u64::from(is_invalid);
        counts.in_minutes += u64::from(is_in_minutes);
    }

    /// Returns whether the positions are in degrees and minutes.
    pub(crate) fn are_in_minutes(&self) -> bool {
        let counts = self.counts();
        counts.in_minutes * 2 > counts.total
    }

    /// Describes the positions that cannot be degrees, if there are any.
    pub(crate) fn describe_invalid(&self) -> Option<String> {
        let PositionCounts { total, invalid, in_minutes } = *self.counts();
        let are_in_minutes = self.are_in_minutes();
        let some = match (if are_in_minutes { in_minutes } else { invalid }, total) {
            (0, _) => return None,
            (1, 1) => "the position".to_owned(),
            (some, _) if some == total => format!("all {total} positions"),
            (some, _) => format!("{some} of {total} positions"),
        };
        Some(if are_in_minutes {
            format!(
                "{some} cannot be degrees: decoded as degrees and minutes, ddmm.mmmm"
            )
        } else {
            format!("{some} cannot be degrees, unlike the others: dropped from tracks")
        })
    }

    fn counts(&self) -> &PositionCounts {
        if self.with_fix.total > 0 { &self.with_fix } else { &self.without_fix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(total: &[(f64, f64, i32)]) -> PositionStats {
        let mut positions = PositionStats::default();
        for (latitude, longitude, quality) in total.iter().copied() {
            let gps = Gps { latitude, longitude, quality, ..Gps::default() };
            positions.observe(&gps);
        }
        positions
    }

    #[test]
    fn single_impossible_position_is_an_outlier() {
        let good = (-33.9, -70.6, 1);
        let total = positions(&[good, good, good, (-33.9, 999.0, 1)]);
        assert!(!total.are_in_minutes());
        assert!(
            total
                .describe_invalid()
                .unwrap()
                .starts_with("1 of 4 positions cannot be degrees")
        );
        // A receiver without a fix may report any value.
        let total = positions(&[(5_021.8, 733.5, 0), (5_021.8, 733.5, 0), good]);
        assert_eq!((total.are_in_minutes(), total.describe_invalid()), (false, None));
    }

    #[test]
    fn most_positions_decide_between_degrees_and_minutes() {
        // Koblenz: 50.36 N, 7.56 E.
        let total =
            positions(&[(5_021.8, 733.5, 1), (5_021.8, 733.5, 2), (0.0, 0.0, 1)]);
        assert!(total.are_in_minutes());
        assert!(
            total
                .describe_invalid()
                .unwrap()
                .starts_with("all 2 positions cannot be degrees")
        );
        // Minutes are below 60.
        assert!(!positions(&[(5_075.0, 733.5, 1)]).are_in_minutes());
        assert!(positions(&[(5_021.8, 733.5, 0)]).are_in_minutes());
    }
}
