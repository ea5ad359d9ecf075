//! Decides whether the positions of a log are in degrees, or in degrees and minutes.
//!
//! Neither the specification nor a field states the unit. Values beyond 90 and 180 cannot
//! be degrees. However, a receiver without a fix may report any value, and bytes can be
//! corrupted. The majority of the positions therefore decides.

use crate::vel::message::Gps;

/// Statistics of the positions of a log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Positions {
    known: Votes,
    /// Positions of messages that state that they have no fix. Used if there are no
    /// others.
    unsure: Votes,
}

#[derive(Clone, Copy, Debug, Default)]
struct Votes {
    all: u64,
    /// Positions that cannot be degrees.
    odd: u64,
    /// Of these, positions that can be degrees and minutes.
    in_minutes: u64,
}

impl Positions {
    /// Adds a position.
    pub(crate) fn observe(&mut self, gps: &Gps) {
        let (north, east) = (gps.latitude.abs(), gps.longitude.abs());
        if north.is_nan() || east.is_nan() || (north, east) == (0.0, 0.0) {
            return;
        }
        let votes = if gps.quality > 0 { &mut self.known } else { &mut self.unsure };
        let is_odd = north > 90.0 || east > 180.0;
        let can_be = |value: f64, most: f64| value <= most && value % 100.0 < 60.0;
        let is_in_minutes = is_odd && can_be(north, 9_000.0) && can_be(east, 18_000.0);
        votes.all += 1;
        votes.odd += u64::from(is_odd);
        votes.in_minutes += u64::from(is_in_minutes);
    }

    /// Returns whether the positions are in degrees and minutes.
    pub(crate) fn are_in_minutes(&self) -> bool {
        let votes = self.votes();
        votes.in_minutes * 2 > votes.all
    }

    /// Describes the positions that cannot be degrees, if there are any.
    pub(crate) fn odd(&self) -> Option<String> {
        let Votes { all, odd, in_minutes } = *self.votes();
        let are_in_minutes = self.are_in_minutes();
        let some = match (if are_in_minutes { in_minutes } else { odd }, all) {
            (0, _) => return None,
            (1, 1) => "the position".to_owned(),
            (some, _) if some == all => format!("all {all} positions"),
            (some, _) => format!("{some} of {all} positions"),
        };
        Some(match are_in_minutes {
            true => format!(
                "{some} cannot be degrees: decoded as degrees and minutes, ddmm.mmmm"
            ),
            false => format!(
                "{some} cannot be degrees, unlike the others: dropped from tracks"
            ),
        })
    }

    fn votes(&self) -> &Votes {
        if self.known.all > 0 { &self.known } else { &self.unsure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(all: &[(f64, f64, i32)]) -> Positions {
        let mut positions = Positions::default();
        for (latitude, longitude, quality) in all.iter().copied() {
            let gps = Gps { latitude, longitude, quality, ..Gps::default() };
            positions.observe(&gps);
        }
        positions
    }

    #[test]
    fn single_impossible_position_is_an_outlier() {
        let good = (-33.9, -70.6, 1);
        let all = positions(&[good, good, good, (-33.9, 999.0, 1)]);
        assert!(!all.are_in_minutes());
        assert!(all.odd().unwrap().starts_with("1 of 4 positions cannot be degrees"));
        // A receiver without a fix may report any value.
        let all = positions(&[(5_021.8, 733.5, 0), (5_021.8, 733.5, 0), good]);
        assert_eq!((all.are_in_minutes(), all.odd()), (false, None));
    }

    #[test]
    fn most_positions_decide_between_degrees_and_minutes() {
        // Koblenz: 50.36 N, 7.56 E.
        let all = positions(&[(5_021.8, 733.5, 1), (5_021.8, 733.5, 2), (0.0, 0.0, 1)]);
        assert!(all.are_in_minutes());
        assert!(all.odd().unwrap().starts_with("all 2 positions cannot be degrees"));
        // Minutes are below 60.
        assert!(!positions(&[(5_075.0, 733.5, 1)]).are_in_minutes());
        assert!(positions(&[(5_021.8, 733.5, 0)]).are_in_minutes());
    }
}
