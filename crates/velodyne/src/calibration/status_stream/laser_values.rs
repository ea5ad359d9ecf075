//! The values of one laser in the status bytes. Some of them may be lost.

use serde::{Deserialize, Serialize};

use crate::calibration::{laser::Laser, plausibility::BOUNDS};

/// The number of bytes of a laser's values: its number, nine words, two bytes.
pub(super) const BYTES: usize = 21;

/// The number of 16-bit words among the values of a laser.
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
        let byte = |index: usize| bytes.get(index).copied().flatten();
        let number = byte(0);
        if number.is_some_and(|number| u16::from(number) != id) {
            return Self::default();
        }
        let mut received = Self { is_numbered: number.is_some(), ..Self::default() };
        for (word, low) in received.words.iter_mut().zip((1..).step_by(2)) {
            let both_bytes = byte(low).zip(byte(low + 1));
            *word = both_bytes.map(|(low, high)| i16::from_le_bytes([low, high]));
        }
        (received.min_intensity, received.max_intensity) = (byte(19), byte(20));
        received
    }

    /// Returns whether all values were received.
    pub(super) fn is_complete(&self) -> bool {
        self.is_numbered
            && self.words.iter().all(Option::is_some)
            && self.min_intensity.is_some()
            && self.max_intensity.is_some()
    }

    /// Discards implausible values. Returns whether there were any.
    pub(super) fn discard_implausible(&mut self) -> bool {
        let laser = self.merge_into(&Laser::new(0));
        let mut has_implausible = false;
        for (word, (_, value, min, max, _)) in self.words.iter_mut().zip(BOUNDS) {
            if word.is_some() && !(min..=max).contains(&value(&laser)) {
                (*word, has_implausible) = (None, true);
            }
        }
        has_implausible
    }

    /// Returns whether any word was received.
    pub(super) fn has_values(&self) -> bool {
        self.words.iter().any(Option::is_some)
    }

    /// Returns `other`, with its values replaced by those that were received.
    pub(super) fn merge_into(&self, other: &Laser) -> Laser {
        let mut laser = other.clone();
        // In the order of the words, with the number of steps of a word per unit.
        let targets = [
            (&mut laser.vertical_deg, 100.0),
            (&mut laser.rotation_deg, 100.0),
            (&mut laser.far_correction_m, 1e3),
            (&mut laser.near_correction_x_m, 1e3),
            (&mut laser.near_correction_y_m, 1e3),
            (&mut laser.vertical_offset_m, 1e3),
            (&mut laser.horizontal_offset_m, 1e3),
            (&mut laser.focal_distance_m, 1e3),
            (&mut laser.focal_slope, 10.0),
        ];
        for ((target, steps), word) in targets.into_iter().zip(self.words) {
            if let Some(word) = word {
                *target = f64::from(word) / steps;
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

    /// Returns the bytes of laser 5 at 1.00° up and 2.00° to the left, with a far correction
    /// of 0.300 m.
    fn bytes() -> Vec<Option<u8>> {
        let mut bytes = vec![Some(0); BYTES];
        for (index, byte) in [(0, 5), (1, 100), (3, 200), (5, 44), (6, 1), (20, 9)] {
            bytes[index] = Some(byte);
        }
        bytes
    }

    #[test]
    fn only_lost_values_are_taken_from_the_other_calibration() {
        let mut other = Laser::new(5);
        (other.vertical_deg, other.rotation_deg) = (7.0, 8.0);
        let complete = LaserValues::parse(5, &bytes());
        assert!(complete.is_complete());
        let laser = complete.merge_into(&other);
        let values = [laser.vertical_deg, laser.rotation_deg, laser.far_correction_m];
        assert_eq!((values, laser.max_intensity), ([1.0, 2.0, 0.3], 9));
        // A word with a lost byte is not used.
        for lost in [3, 4] {
            let mut bytes = bytes();
            bytes[lost] = None;
            let incomplete = LaserValues::parse(5, &bytes);
            assert!(!incomplete.is_complete());
            let laser = incomplete.merge_into(&other);
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
        assert_eq!((laser.vertical_deg, laser.far_correction_m), (1.0, 0.0));
    }

    #[test]
    fn bytes_of_another_laser_are_ignored() {
        assert_eq!(LaserValues::parse(6, &bytes()), LaserValues::default());
        let mut without_number = bytes();
        without_number[0] = None;
        let received = LaserValues::parse(6, &without_number);
        assert!(received.has_values() && !received.is_complete());
    }
}
