//! Whether the positions of a log are degrees, or degrees and minutes.
//!
//! The specification does not say, and no field does. What is beyond 90 and 180 cannot be
//! degrees; but a receiver may say anything before it knows where it is, and bytes flip, so
//! most of the positions have to agree.

use crate::vel::message::Gps;

/// The positions of a log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Positions {
    known: Votes,
    /// The same of messages that say that they know none, for want of better.
    unsure: Votes,
}

#[derive(Clone, Copy, Debug, Default)]
struct Votes {
    all: u64,
    /// Those that cannot be degrees,
    odd: u64,
    /// and of these those that can be degrees and minutes.
    in_minutes: u64,
}

impl Positions {
    /// Takes note of one.
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

    /// Whether they are degrees and minutes.
    pub(crate) fn are_in_minutes(&self) -> bool {
        let votes = self.votes();
        votes.in_minutes * 2 > votes.all
    }

    /// What is odd about them, in a sentence.
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
                "{some} cannot be degrees: they are taken for degrees and minutes, ddmm.mmmm"
            ),
            false => format!("{some} cannot be degrees, as the others are: no places"),
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
    fn one_that_cannot_be_is_an_outlier_and_no_unit() {
        let good = (-33.9, -70.6, 1);
        let all = positions(&[good, good, good, (-33.9, 999.0, 1)]);
        assert!(!all.are_in_minutes());
        assert!(all.odd().unwrap().starts_with("1 of 4 positions cannot be degrees"));
        // Whoever knows of no place may say what it likes.
        let all = positions(&[(5_021.8, 733.5, 0), (5_021.8, 733.5, 0), good]);
        assert_eq!((all.are_in_minutes(), all.odd()), (false, None));
    }

    #[test]
    fn degrees_and_minutes_are_what_most_positions_can_be() {
        // Koblenz: 50.36 N, 7.56 E.
        let all = positions(&[(5_021.8, 733.5, 1), (5_021.8, 733.5, 2), (0.0, 0.0, 1)]);
        assert!(all.are_in_minutes());
        assert!(all.odd().unwrap().starts_with("all 2 positions cannot be degrees"));
        // There are no 75 minutes.
        assert!(!positions(&[(5_075.0, 733.5, 1)]).are_in_minutes());
        assert!(positions(&[(5_021.8, 733.5, 0)]).are_in_minutes());
    }
}
