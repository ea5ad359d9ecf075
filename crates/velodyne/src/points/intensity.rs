//! Intensities as they would be at the same distance.

use crate::{
    calibration::Calibration,
    packet::CHANNELS,
    points::{
        lasers::{Lane, Roomy},
        options::Formula,
    },
};

/// The numbers that correct the intensities of a bank (HDL-64E S2 manual, appendix F):
///
/// ```text
/// 256 slope |(1 - focus / 131 m)^2 - (1 - n / 65535)^2|, added, within least and most
/// ```
#[derive(Clone, Debug)]
#[repr(align(32))] // so that wide loads need no check
pub(super) struct Intensities {
    focus: Lane<f32>,
    slope: Lane<f32>,
    least: Lane<f32>,
    most: Lane<f32>,
}

impl Intensities {
    /// Those of the lasers from `first` on; none where intensities stay as they are.
    pub(super) fn of(
        calibration: &Calibration,
        first: usize,
        formula: Formula,
    ) -> Option<Self> {
        // 131.07 m is the longest distance. ROS divides metres by centimetres of it.
        let longest = match formula {
            Formula::VeloView => return None,
            Formula::Ros => 13_100.0,
            Formula::Manual | Formula::ManualTwoPoint | Formula::VelodyneDecoder => {
                131.0
            }
        };
        if calibration.sends_corrected_intensity && !formula.corrects_corrected() {
            return None;
        }
        let lasers = calibration.lasers.iter().skip(first).take(CHANNELS);
        let plain = |l: &crate::calibration::Laser| {
            l.focal_slope == 0.0 && l.min_intensity == 0 && l.max_intensity == 255
        };
        if lasers.clone().all(plain) {
            return None;
        }
        let mut own = Self {
            focus: [0.0; CHANNELS],
            slope: [0.0; CHANNELS],
            least: [0.0; CHANNELS],
            most: [255.0; CHANNELS],
        };
        for (at, laser) in lasers.enumerate() {
            let focus = 1.0 - laser.focal_distance_m / longest;
            own.focus[at] = (focus * focus) as f32;
            own.slope[at] = (256.0 * laser.focal_slope) as f32;
            own.least[at] = f32::from(laser.min_intensity);
            own.most[at] = f32::from(laser.max_intensity);
        }
        Some(own)
    }

    /// Corrects `sent`, which came back over the raw distances `raw`.
    #[inline(always)]
    pub(super) fn correct(
        &self,
        raw: &Lane<u16>,
        sent: &Roomy<u8>,
        corrected: &mut Roomy<f32>,
    ) {
        for at in 0..CHANNELS {
            let near = 1.0 - f32::from(raw[at]) * (1.0 / 65_535.0);
            let added = self.slope[at] * (self.focus[at] - near * near).abs();
            let value = f32::from(sent[at]) + added;
            // Not `max` and `min`: this is one instruction each.
            let value = if value > self.least[at] { value } else { self.least[at] };
            corrected[at] = if value < self.most[at] { value } else { self.most[at] };
        }
    }
}
