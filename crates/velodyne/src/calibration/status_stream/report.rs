//! Parses the 1820 values of a round.

use serde::{Deserialize, Serialize};

use crate::{
    calibration::{
        laser::{Calibration, Laser, Origin, ranges},
        status_stream::{
            laser_values::{self, LaserValues},
            value_votes::{PER_CYCLE, VALUES},
        },
    },
    model::ReturnMode,
};

/// The lasers of an HDL-64E.
const LASERS: usize = 64;

/// The distance between the values of consecutive lasers.
const STRIDE: usize = 28;

/// The position of the last 28 values.
const TAIL: usize = PER_CYCLE + STRIDE * LASERS - PER_CYCLE;

/// The resolution of distances in metres.
const STEP_M: f64 = 0.002;

/// The power level at which the sensor corrects its intensities.
const CORRECTED: u8 = 0xa8;

/// The information in the status bytes of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// The calibration, if the values of all lasers are complete.
    pub calibration: Option<Calibration>,
    /// The lasers with missing or implausible values.
    pub incomplete: Vec<u16>,
    /// The lasers with implausible values.
    pub implausible: Vec<u16>,
    /// Whether the values were verified.
    pub check: ValueVerification,
    /// The last UTC time: hour, minute, second, day, month, and year since 2000.
    pub utc: Option<[u8; 6]>,
    /// The state of the clock: `A` synchronized with NMEA, `V` NMEA only, `P`
    /// synchronized only, 0 neither.
    pub gps: Option<u8>,
    /// The internal temperature in degrees Celsius.
    pub temperature: Option<u8>,
    /// The version of the firmware.
    pub firmware: Option<u8>,
    /// The return mode: 0 strongest, 1 last, 2 dual.
    pub returns: Option<u8>,
    /// The power level, from A0 to A8.
    pub power: Option<u8>,
    /// Rotations per minute.
    pub rpm: Option<i16>,
    /// The received values of each laser.
    received: Vec<LaserValues>,
}

/// The verification of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueVerification {
    /// Their CRC is correct: an S3.
    Crc,
    /// Their number is correct: an S2, which sends no CRC.
    Length,
    /// Neither is correct.
    Failed,
    /// Values are missing.
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
        self.power == Some(CORRECTED)
    }

    /// Returns the received values, completed with those of `other`, or `None` if nothing
    /// was received. Its origin lists the lasers with values of `other`.
    pub fn complete_with(&self, other: &Calibration) -> Option<Calibration> {
        if !self.received.iter().any(LaserValues::has_values) {
            return None;
        }
        let lasers = other.lasers.iter().zip(&self.received);
        Some(Calibration {
            lasers: lasers
                .map(|(other, received)| received.merge_into(other))
                .collect(),
            distance_step_m: Some(STEP_M),
            origin: Origin::Completed {
                lasers: self.incomplete.clone(),
                completed_from: other.origin.to_string(),
            },
            sends_corrected_intensity: self.sends_corrected_intensity(),
            warnings: vec![],
        })
    }

    /// Describes the incomplete lasers, if there are any.
    pub fn incomplete_lasers(&self) -> Option<String> {
        (!self.incomplete.is_empty()).then(|| {
            let count = self.incomplete.len();
            let names = if count == LASERS {
                String::new()
            } else {
                format!(": {}", ranges(&self.incomplete))
            };
            let implausible = if self.implausible.is_empty() {
                String::new()
            } else {
                let names = ranges(&self.implausible);
                format!("; implausible values were sent for lasers {names}")
            };
            format!(
                "the status bytes lack calibration values for {count} of \
                 {LASERS} lasers{names}{implausible}"
            )
        })
    }
}

/// Parses `values`. `is_s3` states whether there were warnings among them.
pub(super) fn read(
    values: &[Option<u8>],
    status: &[Option<u8>; 9],
    is_s3: bool,
) -> StreamReport {
    let at = |at: usize| values.get(at).copied().flatten();
    let mut incomplete = vec![];
    let mut all_received: Vec<LaserValues> = vec![];
    let mut transmitted = vec![];
    for (id, start) in (0_u16..).zip((0..LASERS).map(|i| PER_CYCLE + i * STRIDE)) {
        let bytes: Vec<Option<u8>> =
            (start..start + laser_values::BYTES).map(at).collect();
        let received = LaserValues::parse(id, &bytes);
        if !received.is_complete() {
            incomplete.push(id);
        }
        all_received.push(received);
        transmitted.extend(bytes.into_iter().skip(1).flatten());
    }
    let two = |first: usize| Some(u16::from_le_bytes([at(first)?, at(first + 1)?]));
    let check = match two(VALUES - 2) {
        None => ValueVerification::Missing,
        Some(_) if !incomplete.is_empty() => ValueVerification::Missing,
        Some(check) if check == crc16(&transmitted) => ValueVerification::Crc,
        Some(check) if !is_s3 && usize::from(check) == VALUES => {
            ValueVerification::Length
        }
        Some(_) => ValueVerification::Failed,
    };
    let mut implausible = vec![];
    if check != ValueVerification::Crc {
        // Without a correct CRC, only plausibility detects damaged values.
        for (id, received) in (0..).zip(&mut all_received) {
            if received.discard_implausible() {
                implausible.push(id);
            }
        }
        incomplete.extend(&implausible);
        incomplete.sort_unstable();
        incomplete.dedup();
    }
    let received = (0..).zip(&all_received);
    let lasers: Vec<Laser> =
        received.map(|(id, received)| received.merge_into(&Laser::new(id))).collect();
    let power = at(TAIL + 25);
    let mut warnings = vec![];
    if check == ValueVerification::Failed {
        warnings.push("the checksum of the status bytes is wrong".to_owned());
    }
    let calibration = incomplete.is_empty().then_some(Calibration {
        lasers,
        distance_step_m: Some(STEP_M),
        origin: Origin::Stream,
        sends_corrected_intensity: power == Some(CORRECTED),
        warnings,
    });
    let [h, m, s, d, n, y, gps, temperature, firmware] = *status;
    let utc = || Some([h?, m?, s?, d?, n?, y?]);
    StreamReport {
        calibration,
        incomplete,
        implausible,
        check,
        utc: utc(),
        gps,
        temperature,
        firmware,
        returns: at(TAIL + 23),
        power,
        rpm: two(TAIL + 7).map(u16::cast_signed),
        received: all_received,
    }
}

/// The CRC of the S3: polynomial 8005, initial value 0, most significant bit first.
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
        // CRC-16/UMTS (BUYPASS), check value of the catalogue of CRCs.
        assert_eq!(crc16(b"123456789"), 0xfee8);
    }
}
