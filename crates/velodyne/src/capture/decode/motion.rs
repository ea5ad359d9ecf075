//! The motion data in position packets of an HDL-32E.
//!
//! ```text
//! 14    three times: gyro u16 | temperature u16 | acceleration x u16 | acceleration y u16
//! ```
//! Each value has 12 bits in two's complement. The steps are 0.09766 deg/s, 0.1453 °C, and
//! 0.001221 g. The value zero is a temperature of 25 °C. (HDL-32E manual 63-9113, appendix
//! B; VeloView uses the same values.) In all packets of an HDL-32E, the upper four bits of
//! the four values are 0, 1, 2 and 3. Other lidars have no motion sensors and send zeros.
//! The orientation of the three pairs of axes is shown in figure B2 of the manual. The
//! values are not rotated here.

use std::sync::Arc;

use arrow_array::{ArrayRef, builder::Float32Builder};
use arrow_schema::{DataType, Field};
use logtool_core::ByteReader;

use crate::points::UNIT;

/// The number of columns.
pub(crate) const COUNT: usize = 12;

/// The offset of the motion data in a position packet.
const START: usize = 14;

/// The name, the unit, the step and the offset of each value.
const VALUES: [(&str, &str, f64, f64); COUNT] = {
    const GYRO: f64 = 0.097_66;
    const TEMPERATURE: f64 = 0.145_3;
    const ACCELERATION: f64 = 0.001_221;
    [
        ("gyro_1", "deg/s", GYRO, 0.0),
        ("temperature_1", "degC", TEMPERATURE, 25.0),
        ("acceleration_1_x", "g", ACCELERATION, 0.0),
        ("acceleration_1_y", "g", ACCELERATION, 0.0),
        ("gyro_2", "deg/s", GYRO, 0.0),
        ("temperature_2", "degC", TEMPERATURE, 25.0),
        ("acceleration_2_x", "g", ACCELERATION, 0.0),
        ("acceleration_2_y", "g", ACCELERATION, 0.0),
        ("gyro_3", "deg/s", GYRO, 0.0),
        ("temperature_3", "degC", TEMPERATURE, 25.0),
        ("acceleration_3_x", "g", ACCELERATION, 0.0),
        ("acceleration_3_y", "g", ACCELERATION, 0.0),
    ]
};

/// Returns the columns.
pub(crate) fn fields() -> impl Iterator<Item = Field> {
    VALUES.iter().map(|(name, unit, ..)| {
        let metadata = [(UNIT.to_owned(), (*unit).to_owned())].into();
        Field::new(*name, DataType::Float32, true).with_metadata(metadata)
    })
}

/// Returns the motion data of the position packet `bytes`, if its lidar has motion
/// sensors.
pub(crate) fn motion(bytes: &[u8]) -> Option<[f32; COUNT]> {
    let mut reader = ByteReader::new(bytes.get(START..)?);
    let mut motion = [0.0; COUNT];
    for (index, (value, (_, _, step, offset))) in
        (0_u16..).zip(motion.iter_mut().zip(&VALUES))
    {
        let word = reader.u16()?;
        if word >> 12 != index % 4 {
            return None;
        }
        // Drops the upper four bits and extends the sign of the lower twelve bits.
        let steps = (word << 4).cast_signed() >> 4;
        *value = (f64::from(steps) * step + offset) as f32;
    }
    Some(motion)
}

/// Builders of the columns.
#[derive(Default)]
pub(crate) struct MotionColumns([Float32Builder; COUNT]);

impl MotionColumns {
    /// Appends the data of a packet, or nulls.
    pub(crate) fn append(&mut self, motion: Option<[f32; COUNT]>) {
        for (index, column) in self.0.iter_mut().enumerate() {
            column.append_option(motion.and_then(|values| values.get(index).copied()));
        }
    }

    /// Returns the columns and resets the builders.
    pub(crate) fn finish(&mut self) -> impl Iterator<Item = ArrayRef> {
        self.0.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_real_hdl_32e_are_decoded() {
        // From a real HDL-32E, calculated by hand: 0xf70 is -144, 0x30c is 780.
        let words: [u16; COUNT] = [
            0x0f70, 0x104b, 0x230c, 0x3115, 0x0fcb, 0x105d, 0x2307, 0x3fc8, 0x0ebf,
            0x1074, 0x2f01, 0x3fc6,
        ];
        let mut packet = vec![0; START];
        words.iter().for_each(|word| packet.extend(word.to_le_bytes()));
        let motion = motion(&packet).unwrap();
        let expected = [-14.063, 35.897, 0.952, 0.338, -5.176, 38.513, 0.946, -0.068];
        for (value, expected) in motion.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-3, "{motion:?}");
        }
    }

    #[test]
    fn packet_without_motion_data_has_no_motion() {
        assert_eq!(motion(&[0; 512]), None);
        assert_eq!(motion(&[0; 20]), None);
    }
}
