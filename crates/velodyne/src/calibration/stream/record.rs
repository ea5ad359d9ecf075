//! What the 1820 values of a round say.

use serde::{Deserialize, Serialize};

use crate::{
    calibration::{
        laser::{Calibration, Laser, Origin, ranges},
        stream::{
            laser_status::{self, Heard},
            votes::{PER_CYCLE, VALUES},
        },
    },
    model::ReturnMode,
};

/// How many lasers an HDL-64E has.
const LASERS: usize = 64;

/// How far it is from the values of one laser to those of the next.
const STRIDE: usize = 28;

/// Where the last 28 values begin.
const TAIL: usize = PER_CYCLE + STRIDE * LASERS - PER_CYCLE;

/// Metres in one step of a distance.
const STEP_M: f64 = 0.002;

/// The power level at which the sensor corrects its intensities itself.
const CORRECTED: u8 = 0xa8;

/// What is in the status bytes of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// The calibration, if that of every laser is complete.
    pub calibration: Option<Calibration>,
    /// The lasers of which values are missing, or are such as no lidar has.
    pub incomplete: Vec<u16>,
    /// Those of which a value is such as no lidar has.
    pub doubted: Vec<u16>,
    /// Whether the values are what was sent.
    pub check: Check,
    /// The hour, minute, second, day, month and year (of 2000) that were sent last.
    pub utc: Option<[u8; 6]>,
    /// What is said of the time: `A` synchronised and told by NMEA, `V` NMEA only, `P`
    /// synchronised only, 0 neither.
    pub gps: Option<u8>,
    /// Degrees Celsius inside.
    pub temperature: Option<u8>,
    /// The version of the firmware.
    pub firmware: Option<u8>,
    /// The returns that are sent: 0 the strongest, 1 the last, 2 both.
    pub returns: Option<u8>,
    /// The power level, from A0 to A8.
    pub power: Option<u8>,
    /// Turns a minute.
    pub rpm: Option<i16>,
    /// What was heard of each laser.
    heard: Vec<Heard>,
}

/// How values were checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Their CRC is right: an S3.
    Crc,
    /// Their number is right: an S2, which sends no more.
    Length,
    /// Neither is.
    Failed,
    /// Some are missing.
    Missing,
}

impl StreamReport {
    /// The returns that the sensor says it sends.
    pub fn return_mode(&self) -> Option<ReturnMode> {
        match self.returns? {
            0 => Some(ReturnMode::Strongest),
            1 => Some(ReturnMode::Last),
            2 => Some(ReturnMode::Dual),
            _ => None,
        }
    }

    /// Whether the sensor corrects its intensities itself, as its power level says.
    pub fn sends_corrected_intensity(&self) -> bool {
        self.power == Some(CORRECTED)
    }

    /// What was heard, and for what was not, what `other` says; nothing if nothing was.
    /// Its origin names the lasers of which something is of `other`.
    pub fn completed(&self, other: &Calibration) -> Option<Calibration> {
        if !self.heard.iter().any(Heard::is_any) {
            return None;
        }
        let lasers = other.lasers.iter().zip(&self.heard);
        Some(Calibration {
            lasers: lasers.map(|(other, heard)| heard.over(other)).collect(),
            distance_step_m: Some(STEP_M),
            origin: Origin::Completed {
                lasers: self.incomplete.clone(),
                with: other.origin.to_string(),
            },
            sends_corrected_intensity: self.sends_corrected_intensity(),
            remarks: vec![],
        })
    }

    /// Which lasers are incomplete, in a sentence, if some are.
    pub fn complaint(&self) -> Option<String> {
        (!self.incomplete.is_empty()).then(|| {
            let count = self.incomplete.len();
            let names = match count == LASERS {
                true => String::new(),
                false => format!(": {}", ranges(&self.incomplete)),
            };
            let doubted = match self.doubted.is_empty() {
                true => String::new(),
                false => {
                    let names = ranges(&self.doubted);
                    format!("; values that no lidar has were sent of lasers {names}")
                }
            };
            format!(
                "the status bytes do not hold the whole calibration of {count} of \
                 {LASERS} lasers{names}{doubted}"
            )
        })
    }
}

/// Reads `values`; `is_s3` if warnings were seen among them.
pub(super) fn read(
    values: &[Option<u8>],
    status: &[Option<u8>; 9],
    is_s3: bool,
) -> StreamReport {
    let at = |at: usize| values.get(at).copied().flatten();
    let mut incomplete = vec![];
    let mut all_heard: Vec<Heard> = vec![];
    let mut sent = vec![];
    for (id, start) in (0_u16..).zip((0..LASERS).map(|i| PER_CYCLE + i * STRIDE)) {
        let bytes: Vec<Option<u8>> =
            (start..start + laser_status::BYTES).map(at).collect();
        let heard = Heard::of(id, &bytes);
        if !heard.is_whole() {
            incomplete.push(id);
        }
        all_heard.push(heard);
        sent.extend(bytes.into_iter().skip(1).flatten());
    }
    let two = |first: usize| Some(u16::from_le_bytes([at(first)?, at(first + 1)?]));
    let check = match two(VALUES - 2) {
        None => Check::Missing,
        Some(_) if !incomplete.is_empty() => Check::Missing,
        Some(check) if check == crc16(&sent) => Check::Crc,
        Some(check) if !is_s3 && usize::from(check) == VALUES => Check::Length,
        Some(_) => Check::Failed,
    };
    let mut doubted = vec![];
    if check != Check::Crc {
        // Nothing says that all values are as they were sent, but what they say.
        for (id, heard) in (0..).zip(&mut all_heard) {
            if heard.doubt() {
                doubted.push(id);
            }
        }
        incomplete.extend(&doubted);
        incomplete.sort_unstable();
        incomplete.dedup();
    }
    let heard = (0..).zip(&all_heard);
    let lasers: Vec<Laser> =
        heard.map(|(id, heard)| heard.over(&Laser::new(id))).collect();
    let power = at(TAIL + 25);
    let mut remarks = vec![];
    if check == Check::Failed {
        remarks.push("the check of the status bytes is wrong".to_owned());
    }
    let calibration = incomplete.is_empty().then_some(Calibration {
        lasers,
        distance_step_m: Some(STEP_M),
        origin: Origin::Stream,
        sends_corrected_intensity: power == Some(CORRECTED),
        remarks,
    });
    let [h, m, s, d, n, y, gps, temperature, firmware] = *status;
    let utc = || Some([h?, m?, s?, d?, n?, y?]);
    StreamReport {
        calibration,
        incomplete,
        doubted,
        check,
        utc: utc(),
        gps,
        temperature,
        firmware,
        returns: at(TAIL + 23),
        power,
        rpm: two(TAIL + 7).map(u16::cast_signed),
        heard: all_heard,
    }
}

/// The CRC of the S3: polynomial 8005, from 0, the highest bit first.
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
    fn the_crc_is_the_one_known_as_buypass() {
        // CRC-16/UMTS (BUYPASS), check value of the catalogue of CRCs.
        assert_eq!(crc16(b"123456789"), 0xfee8);
    }
}
