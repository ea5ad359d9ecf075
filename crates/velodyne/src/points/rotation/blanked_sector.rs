//! The sector in which a lidar does not measure, because its field of view is limited.
//!
//! Such a lidar only sends the firings inside its field of view. A packet may start
//! before the blanked sector and end after it.

use serde::{Deserialize, Serialize};

use crate::points::firing::{sin_cos_table::TURN, timing::angle_between};

/// In a sector narrower than this, scans start close to its end, where no firing is. The
/// unit is hundredths of a degree.
const NARROW_WIDTH: u16 = 400;

/// The sector in which a lidar does not measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlankedSector {
    /// The last azimuth before the sector, in hundredths of a degree.
    pub from: u16,
    /// The first azimuth after the sector, in hundredths of a degree.
    pub to: u16,
    /// The duration of a rotation in nanoseconds.
    pub rotation_nanos: u64,
    /// Whether the time of a record is that of the last firing of its packet, e.g. because
    /// the host timestamps packets on arrival.
    pub is_stamped_at_end: bool,
    /// Whether the lidar still measured in the sector at the start of the log.
    #[serde(default)]
    pub starts_later: bool,
}

impl BlankedSector {
    /// Returns the width of the sector in hundredths of a degree.
    pub fn width(self) -> u16 {
        angle_between(self.from, self.to)
    }

    /// Returns the edges of the sector in whole degrees, the unit in which lidars are
    /// configured. The last firing before the sector and the first one after it are
    /// outside of it, with a tolerance of a tenth of a degree.
    pub fn edges_deg(self) -> (u16, u16) {
        let from = (self.from % TURN + 89) / 100;
        let to = (self.to % TURN + 10) / 100;
        (from % 360, to % 360)
    }

    /// Returns the azimuth inside the sector at which scans start.
    pub fn scan_start(self) -> u16 {
        let width = self.width();
        if width < NARROW_WIDTH {
            // A quarter of the width before the end of the sector.
            return angle_between(width / 4, self.to);
        }
        let middle = u32::from(self.from) + u32::from(width / 2);
        let degrees = (middle + 50) / 100 % 360;
        degrees as u16 * 100
    }

    /// Returns whether the head passes the whole sector between two consecutive azimuths. A
    /// quarter of the sector at each edge is ignored, because the edges vary slightly
    /// between rotations.
    pub(crate) fn is_crossed(self, azimuth: u16, next_azimuth: u16) -> bool {
        let quarter = self.width() / 4;
        let core_start = (self.from % TURN + quarter) % TURN;
        let core_width = u32::from(self.width() - 2 * quarter);
        u32::from(angle_between(azimuth, core_start)) + core_width
            <= u32::from(angle_between(azimuth, next_azimuth))
    }

    /// Returns the rotation rate in hundredths of a degree per nanosecond. It is 0 if
    /// unknown.
    pub(crate) fn rate(self) -> f64 {
        match self.rotation_nanos {
            0 => 0.0,
            nanos => f64::from(TURN) / nanos as f64,
        }
    }

    /// Returns the maximum difference in nanoseconds between the time of a firing and
    /// that of its packet. `packet_nanos` is the duration of a packet without a gap.
    pub(crate) fn longest_delay(self, packet_nanos: f64) -> u64 {
        let visible_width = f64::from(TURN - self.width()).max(1.0);
        // A packet of twelve blocks crosses the sector at most eleven times.
        let crossings = (self.rate() * packet_nanos / visible_width).ceil().min(11.0);
        let rotations = crossings + 1.0;
        (rotations * self.rotation_nanos as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(from: u16, to: u16) -> BlankedSector {
        let rotation_nanos = 100_000_000;
        BlankedSector {
            from,
            to,
            rotation_nanos,
            is_stamped_at_end: true,
            starts_later: false,
        }
    }

    #[test]
    fn edges_of_azimuths_beyond_a_full_turn_do_not_overflow() {
        assert_eq!(sector(u16::MAX, 36_000).edges_deg(), (296, 0));
        assert_eq!(sector(31_492, 4_530).edges_deg(), (315, 45));
    }

    #[test]
    fn scan_start_is_inside_the_sector() {
        assert_eq!(sector(31_492, 4_530).scan_start(), 0);
        assert_eq!(sector(6_999, 29_003).scan_start(), 18_000);
        assert_eq!(sector(35_960, 60).scan_start(), 35);
        assert_eq!(sector(35_900, 0).scan_start(), 35_975);
    }

    #[test]
    fn step_crosses_the_sector_only_if_it_contains_its_core() {
        let sector = sector(31_500, 4_500);
        assert!(sector.is_crossed(31_492, 4_530));
        assert!(sector.is_crossed(31_510, 4_490));
        assert!(!sector.is_crossed(31_450, 31_490));
        assert!(!sector.is_crossed(4_530, 31_492));
        assert!(!sector.is_crossed(31_492, 0));
        // Almost a whole rotation.
        assert!(sector.is_crossed(10_000, 9_990));
    }
}
