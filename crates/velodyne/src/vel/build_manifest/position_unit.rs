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
        let count = if are_in_minutes { in_minutes } else { invalid };
        let positions = match count {
            0 => return None,
            1 if total == 1 => "the position".to_owned(),
            _ if count == total => format!("all {total} positions"),
            _ => format!("{count} of {total} positions"),
        };
        Some(if are_in_minutes {
            format!(
                "{positions} cannot be degrees: decoded as degrees and minutes, ddmm.mmmm"
            )
        } else if count == total {
            format!("{positions} cannot be degrees: dropped from tracks")
        } else {
            format!(
                "{positions} cannot be degrees, unlike the others: dropped from tracks"
            )
        })
    }

    /// Returns the counts that decide about the unit.
    fn counts(&self) -> &PositionCounts {
        if self.with_fix.total > 0 { &self.with_fix } else { &self.without_fix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the statistics of these latitudes, longitudes and qualities.
    fn stats(positions: &[(f64, f64, i32)]) -> PositionStats {
        let mut stats = PositionStats::default();
        for (latitude, longitude, quality) in positions.iter().copied() {
            let gps = Gps { latitude, longitude, quality, ..Gps::default() };
            stats.observe(&gps);
        }
        stats
    }

    #[test]
    fn only_position_is_not_compared_with_others() {
        let description = stats(&[(5_075.0, 733.5, 1)]).describe_invalid().unwrap();
        assert_eq!(description, "the position cannot be degrees: dropped from tracks");
    }

    #[test]
    fn single_impossible_position_is_an_outlier() {
        let plausible = (-33.9, -70.6, 1);
        let one_invalid = stats(&[plausible, plausible, plausible, (-33.9, 999.0, 1)]);
        assert!(!one_invalid.are_in_minutes());
        let description = one_invalid.describe_invalid().unwrap();
        assert!(description.starts_with("1 of 4 positions cannot be degrees"));
        // A receiver without a fix may report any value.
        let without_fix = (5_021.8, 733.5, 0);
        let only_one_fix = stats(&[without_fix, without_fix, plausible]);
        assert!(!only_one_fix.are_in_minutes());
        assert_eq!(only_one_fix.describe_invalid(), None);
    }

    #[test]
    fn most_positions_decide_between_degrees_and_minutes() {
        // Koblenz: 50.36 N, 7.56 E.
        let in_minutes =
            stats(&[(5_021.8, 733.5, 1), (5_021.8, 733.5, 2), (0.0, 0.0, 1)]);
        assert!(in_minutes.are_in_minutes());
        let description = in_minutes.describe_invalid().unwrap();
        assert!(description.starts_with("all 2 positions cannot be degrees"));
        // Minutes are below 60.
        assert!(!stats(&[(5_075.0, 733.5, 1)]).are_in_minutes());
        assert!(stats(&[(5_021.8, 733.5, 0)]).are_in_minutes());
    }
}
