//! The values of one laser in the status bytes. Some may have been lost.

use serde::{Deserialize, Serialize};

use crate::calibration::{laser::Laser, plausibility::BOUNDS};

/// The bytes of a laser's values: its number, nine words, two bytes.
pub(super) const BYTES: usize = 21;

/// The number of words.
const WORDS: usize = 9;

/// The received values of a laser.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LaserValues {
    words: [Option<i16>; WORDS],
    min_intensity: Option<u8>,
    max_intensity: Option<u8>,
    /// Whether the laser number was received, which confirms that the values are of this
    /// laser.
    is_numbered: bool,
}

impl LaserValues {
    /// Parses the `bytes` of the laser `id`. Bytes with the number of another laser are
    /// ignored. If the number was lost, the position identifies the laser.
    pub(super) fn parse(id: u16, bytes: &[Option<u8>]) -> Self {
        let at = |at: usize| bytes.get(at).copied().flatten();
        let number = at(0);
        if number.is_some_and(|number| u16::from(number) != id) {
            return Self::default();
        }
        let mut received = Self { is_numbered: number.is_some(), ..Self::default() };
        for (word, low) in received.words.iter_mut().zip((1..).step_by(2)) {
            let bytes = at(low).zip(at(low + 1));
            *word = bytes.map(|(low, high)| i16::from_le_bytes([low, high]));
        }
        (received.min_intensity, received.max_intensity) = (at(19), at(20));
        received
    }

    /// Returns whether all values were received.
    pub(super) fn is_complete(&self) -> bool {
        self.is_numbered
            && self.words.iter().all(Option::is_some)
            && self.min_intensity.is_some()
            && self.max_intensity.is_some()
    }

    /// Discards implausible values. Returns whether there were some.
    pub(super) fn discard_implausible(&mut self) -> bool {
        let laser = self.merge_into(&Laser::new(0));
        let mut has_values = false;
        for (word, (_, value, min, max, _)) in self.words.iter_mut().zip(BOUNDS) {
            if word.is_some() && !(min..=max).contains(&value(&laser)) {
                (*word, has_values) = (None, true);
            }
        }
        has_values
    }

    /// Returns whether any value was received.
    pub(super) fn has_values(&self) -> bool {
        self.words.iter().any(Option::is_some)
    }

    /// Returns `other` with the received values in place of its own.
    pub(super) fn merge_into(&self, other: &Laser) -> Laser {
        let mut laser = other.clone();
        let [vertical, rotation, far, x, y, up, left, focus, slope] = self.words;
        let targets = [
            (&mut laser.vertical_deg, vertical, 100.0),
            (&mut laser.rotation_deg, rotation, 100.0),
            (&mut laser.distance_m, far, 1e3),
            (&mut laser.distance_x_m, x, 1e3),
            (&mut laser.distance_y_m, y, 1e3),
            (&mut laser.vertical_offset_m, up, 1e3),
            (&mut laser.horizontal_offset_m, left, 1e3),
            (&mut laser.focal_distance_m, focus, 1e3),
            (&mut laser.focal_slope, slope, 10.0),
        ];
        for (target, word, unit) in targets {
            if let Some(word) = word {
                *target = f64::from(word) / unit;
            }
        }
        laser.min_intensity = self.min_intensity.unwrap_or(laser.min_intensity);
        laser.max_intensity = self.max_intensity.unwrap_or(laser.max_intensity);
        laser
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A laser at 1.00° up and 2.00° to the left, with a far correction of 0.300 m.
    fn bytes() -> Vec<Option<u8>> {
        let mut bytes = vec![Some(0); BYTES];
        for (at, byte) in [(0, 5), (1, 100), (3, 200), (5, 44), (6, 1), (20, 9)] {
            bytes[at] = Some(byte);
        }
        bytes
    }

    #[test]
    fn only_lost_values_are_taken_from_the_other_calibration() {
        let mut other = Laser::new(5);
        (other.vertical_deg, other.rotation_deg) = (7.0, 8.0);
        let whole = LaserValues::parse(5, &bytes());
        assert!(whole.is_complete());
        let laser = whole.merge_into(&other);
        let numbers = [laser.vertical_deg, laser.rotation_deg, laser.distance_m];
        assert_eq!((numbers, laser.max_intensity), ([1.0, 2.0, 0.3], 9));
        // Half of a word is discarded.
        for at in [3, 4] {
            let mut bytes = bytes();
            bytes[at] = None;
            let part = LaserValues::parse(5, &bytes);
            assert!(!part.is_complete());
            let laser = part.merge_into(&other);
            assert_eq!((laser.vertical_deg, laser.rotation_deg), (1.0, 8.0));
        }
    }

    #[test]
    fn implausible_value_is_treated_as_lost() {
        let mut received = LaserValues::parse(5, &bytes());
        assert!(!received.discard_implausible() && received.is_complete());
        // A distance correction of 32.556 m.
        let mut corrupted = bytes();
        corrupted[6] = Some(0x7f);
        let mut received = LaserValues::parse(5, &corrupted);
        assert!(received.discard_implausible() && !received.is_complete());
        let laser = received.merge_into(&Laser::new(5));
        assert_eq!((laser.vertical_deg, laser.distance_m), (1.0, 0.0));
    }

    #[test]
    fn bytes_of_another_laser_are_ignored() {
        assert_eq!(LaserValues::parse(6, &bytes()), LaserValues::default());
        let mut nameless = bytes();
        nameless[0] = None;
        let received = LaserValues::parse(6, &nameless);
        assert!(received.has_values() && !received.is_complete());
    }
}
