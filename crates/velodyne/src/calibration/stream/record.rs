//! What the 1820 values of a round say.

use logtool_core::Cut;
use serde::{Deserialize, Serialize};

use crate::{
    calibration::{
        laser::{Calibration, Laser, Origin},
        stream::votes::{PER_CYCLE, VALUES},
    },
    model::ReturnMode,
};

/// How many lasers an HDL-64E has.
const LASERS: usize = 64;

/// How many values one laser has, and how far it is from one to the next.
const LASER_VALUES: usize = 21;
const STRIDE: usize = 28;

/// Where the last 28 values begin.
const TAIL: usize = PER_CYCLE + STRIDE * LASERS - PER_CYCLE;

/// The power level at which the sensor corrects its intensities itself.
const CORRECTED: u8 = 0xa8;

/// What is in the status bytes of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// The calibration, if that of every laser is complete.
    pub calibration: Option<Calibration>,
    /// The lasers of which values are missing, or wrong.
    pub incomplete: Vec<u16>,
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

    /// Which lasers are incomplete, in a sentence, if some are.
    pub fn complaint(&self) -> Option<String> {
        (!self.incomplete.is_empty()).then(|| {
            let count = self.incomplete.len();
            let names = match count == LASERS {
                true => String::new(),
                false => format!(": {}", ranges(&self.incomplete)),
            };
            format!(
                "the status bytes do not hold the whole calibration of {count} of \
                 {LASERS} lasers{names}"
            )
        })
    }
}

/// `3, 5-7`, of numbers in their order.
fn ranges(numbers: &[u16]) -> String {
    let follow = |a: &u16, b: &u16| a.checked_add(1) == Some(*b);
    let text = |run: &[u16]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.first().map(u16::to_string).unwrap_or_default(),
    };
    let runs: Vec<String> = numbers.chunk_by(follow).map(text).collect();
    runs.join(", ")
}

/// Reads `values`; `is_s3` if warnings were seen among them.
pub(super) fn read(
    values: &[Option<u8>],
    status: &[Option<u8>; 9],
    is_s3: bool,
) -> StreamReport {
    let at = |at: usize| values.get(at).copied().flatten();
    let mut incomplete = vec![];
    let mut lasers = vec![];
    let mut sent = vec![];
    for (id, start) in (0_u16..).zip((0..LASERS).map(|i| PER_CYCLE + i * STRIDE)) {
        let bytes: Option<Vec<u8>> = (start..start + LASER_VALUES).map(at).collect();
        match bytes.as_deref().and_then(|bytes| laser(id, bytes)) {
            Some(laser) => lasers.push(laser),
            None => incomplete.push(id),
        }
        sent.extend(bytes.unwrap_or_default().into_iter().skip(1));
    }
    let two = |first: usize| Some(u16::from_le_bytes([at(first)?, at(first + 1)?]));
    let check = match two(VALUES - 2) {
        None => Check::Missing,
        Some(_) if !incomplete.is_empty() => Check::Missing,
        Some(check) if check == crc16(&sent) => Check::Crc,
        Some(check) if !is_s3 && usize::from(check) == VALUES => Check::Length,
        Some(_) => Check::Failed,
    };
    let power = at(TAIL + 25);
    let mut remarks = vec![];
    if check == Check::Failed {
        remarks.push("the check of the status bytes is wrong".to_owned());
    }
    let calibration = incomplete.is_empty().then_some(Calibration {
        lasers,
        distance_step_m: Some(0.002),
        origin: Origin::Stream,
        sends_corrected_intensity: power == Some(CORRECTED),
        remarks,
    });
    let [h, m, s, d, n, y, gps, temperature, firmware] = *status;
    let utc = || Some([h?, m?, s?, d?, n?, y?]);
    StreamReport {
        calibration,
        incomplete,
        check,
        utc: utc(),
        gps,
        temperature,
        firmware,
        returns: at(TAIL + 23),
        power,
        rpm: two(TAIL + 7).map(u16::cast_signed),
    }
}

/// The laser `id`, if `bytes` are of that one.
fn laser(id: u16, bytes: &[u8]) -> Option<Laser> {
    let mut cut = Cut::new(bytes);
    (u16::from(cut.u8()?) == id).then_some(())?;
    let mut next = || Some(f64::from(cut.u16()?.cast_signed()));
    let vertical = next()?;
    let rotation = next()?;
    let [far, x, y, up, left] = [next()?, next()?, next()?, next()?, next()?];
    let [focus, slope] = [next()?, next()?];
    Some(Laser {
        id,
        is_enabled: true,
        rotation_deg: rotation / 100.0,
        vertical_deg: vertical / 100.0,
        distance_m: far / 1e3,
        distance_x_m: x / 1e3,
        distance_y_m: y / 1e3,
        two_point: None,
        vertical_offset_m: up / 1e3,
        horizontal_offset_m: left / 1e3,
        focal_distance_m: focus / 1e3,
        focal_slope: slope / 10.0,
        min_intensity: cut.u8()?,
        max_intensity: cut.u8()?,
    })
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
