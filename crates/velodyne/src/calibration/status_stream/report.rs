//! Parses the 1820 values of a round of status bytes.

use serde::{Deserialize, Serialize};

use crate::{
    calibration::{
        laser::{Calibration, Laser, Origin, format_lasers, format_ranges},
        status_stream::{
            laser_values::{self, LaserValues},
            value_votes::{VALUES, VALUES_PER_CYCLE},
        },
    },
    model::ReturnMode,
};

/// The number of lasers of an HDL-64E.
const LASERS: usize = 64;

/// The position of the values of the first laser: after the values of one cycle.
const LASERS_START: usize = VALUES_PER_CYCLE;

/// The number of values from the start of a laser to that of the next one.
const STRIDE: usize = 28;

/// The position of the last 28 values. The last laser lacks the values of a cycle: its
/// warning and the unused values.
const TAIL: usize = LASERS_START + STRIDE * LASERS - VALUES_PER_CYCLE;

/// The resolution of distances in metres.
const DISTANCE_STEP_M: f64 = 0.002;

/// The power level at which the sensor corrects its intensities.
const CORRECTING_POWER: u8 = 0xa8;

/// The information in the status bytes of a stream of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// The calibration, if the values of all lasers are complete.
    pub calibration: Option<Calibration>,
    /// The lasers with missing or implausible values.
    pub incomplete: Vec<u16>,
    /// The lasers with implausible values.
    pub implausible: Vec<u16>,
    /// The verification of the values.
    pub check: ValueVerification,
    /// The last UTC time: hour, minute, second, day, month, and year since 2000.
    pub utc: Option<[u8; 6]>,
    /// The state of the GPS receiver: `A` for a pulse and NMEA sentences, `V` for
    /// sentences only, `P` for a pulse only, 0 for neither.
    pub gps: Option<u8>,
    /// The internal temperature in degrees Celsius.
    pub temperature: Option<u8>,
    /// The version of the firmware.
    pub firmware: Option<u8>,
    /// The return mode: 0 strongest, 1 last, 2 dual.
    pub returns: Option<u8>,
    /// The power level, from 0xA0 to 0xA8.
    pub power: Option<u8>,
    /// The rotations per minute.
    pub rpm: Option<i16>,
    /// The received values of each laser.
    received: Vec<LaserValues>,
}

/// The result of verifying the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueVerification {
    /// The CRC of the values is correct. Only an S3 sends a CRC.
    Crc,
    /// The number of values is correct. An S2 sends it instead of a CRC.
    Length,
    /// Neither the CRC nor the number of values is correct.
    Failed,
    /// Values are missing, so the others cannot be verified.
    Missing,
}

impl StreamReport {
    /// Returns the return mode that the sensor states.
    pub fn return_mode(&self) -> Option<ReturnMode> {
        match self.returns? {
            0 => Some(ReturnMode::Strongest),
            1 => Some(ReturnMode::Last),
            2 => Some(ReturnMode::Dual),
            _ => None,
        }
    }

    /// Returns whether the sensor corrects its intensities, according to its power level.
    pub fn sends_corrected_intensity(&self) -> bool {
        self.power == Some(CORRECTING_POWER)
    }

    /// Returns a calibration of the received values, completed with values of `other`, or
    /// `None` if no values of lasers were received. The origin of the result lists the lasers
    /// with values of `other`.
    pub fn complete_with(&self, other: &Calibration) -> Option<Calibration> {
        if !self.received.iter().any(LaserValues::has_values) {
            return None;
        }
        let lasers = other.lasers.iter().zip(&self.received);
        Some(Calibration {
            lasers: lasers
                .map(|(other, received)| received.merge_into(other))
                .collect(),
            distance_step_m: Some(DISTANCE_STEP_M),
            origin: Origin::Completed {
                lasers: self.incomplete.clone(),
                completed_from: other.origin.to_string(),
            },
            sends_corrected_intensity: self.sends_corrected_intensity(),
            warnings: vec![],
        })
    }

    /// Describes the incomplete lasers, or returns `None` if there are none.
    pub fn incomplete_lasers(&self) -> Option<String> {
        if self.incomplete.is_empty() {
            return None;
        }
        let count = self.incomplete.len();
        let numbers = if count == LASERS {
            String::new()
        } else {
            format!(": {}", format_ranges(&self.incomplete))
        };
        let implausible = if self.implausible.is_empty() {
            String::new()
        } else {
            let lasers = format_lasers(&self.implausible);
            format!("; implausible values were sent for {lasers}")
        };
        Some(format!(
            "the status bytes lack calibration values for {count} of \
             {LASERS} lasers{numbers}{implausible}"
        ))
    }
}

/// Parses the `values` of a round and the last value of each type of `status`. `is_s3`
/// states whether the lidar is an S3, because it sends warnings.
pub(super) fn parse(
    values: &[Option<u8>],
    status: &[Option<u8>; 9],
    is_s3: bool,
) -> StreamReport {
    let byte = |position: usize| values.get(position).copied().flatten();
    let word = |position: usize| {
        Some(u16::from_le_bytes([byte(position)?, byte(position + 1)?]))
    };
    let mut incomplete = vec![];
    let mut received: Vec<LaserValues> = vec![];
    // The CRC covers the values of the lasers without their numbers.
    let mut checked_bytes = vec![];
    let starts = (LASERS_START..).step_by(STRIDE).take(LASERS);
    for (id, start) in (0_u16..).zip(starts) {
        let bytes: Vec<Option<u8>> =
            (start..start + laser_values::BYTES).map(byte).collect();
        let laser_values = LaserValues::parse(id, &bytes);
        if !laser_values.is_complete() {
            incomplete.push(id);
        }
        received.push(laser_values);
        checked_bytes.extend(bytes.into_iter().skip(1).flatten());
    }
    let check = match word(VALUES - 2) {
        None => ValueVerification::Missing,
        Some(_) if !incomplete.is_empty() => ValueVerification::Missing,
        Some(check) if check == crc16(&checked_bytes) => ValueVerification::Crc,
        Some(check) if !is_s3 && usize::from(check) == VALUES => {
            ValueVerification::Length
        }
        Some(_) => ValueVerification::Failed,
    };
    let mut implausible = vec![];
    if check != ValueVerification::Crc {
        // Without a correct CRC, only plausibility detects damaged values.
        for (id, laser_values) in (0..).zip(&mut received) {
            if laser_values.discard_implausible() {
                implausible.push(id);
            }
        }
        incomplete.extend(&implausible);
        incomplete.sort_unstable();
        incomplete.dedup();
    }
    let lasers: Vec<Laser> = (0..)
        .zip(&received)
        .map(|(id, laser_values)| laser_values.merge_into(&Laser::new(id)))
        .collect();
    let power = byte(TAIL + 25);
    let mut warnings = vec![];
    if check == ValueVerification::Failed {
        warnings.push("the checksum of the status bytes is wrong".to_owned());
    }
    let calibration = incomplete.is_empty().then_some(Calibration {
        lasers,
        distance_step_m: Some(DISTANCE_STEP_M),
        origin: Origin::Stream,
        sends_corrected_intensity: power == Some(CORRECTING_POWER),
        warnings,
    });
    let [hour, minute, second, day, month, year, gps, temperature, firmware] = *status;
    let utc = || Some([hour?, minute?, second?, day?, month?, year?]);
    StreamReport {
        calibration,
        incomplete,
        implausible,
        check,
        utc: utc(),
        gps,
        temperature,
        firmware,
        returns: byte(TAIL + 23),
        power,
        rpm: word(TAIL + 7).map(u16::cast_signed),
        received,
    }
}

/// Returns the CRC of an S3: polynomial 0x8005, initial value 0, most significant bit first.
fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carry = crc >> 15 == 1;
            crc <<= 1;
            if carry {
                crc ^= 0x8005;
            }
        }
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_is_crc_16_umts() {
        // The check value of CRC-16/UMTS in the catalogue of CRC algorithms.
        assert_eq!(crc16(b"123456789"), 0xfee8);
    }
}
