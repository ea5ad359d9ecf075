//! Corrects intensities for the distance.

use crate::{
    calibration::Calibration,
    packet::CHANNELS,
    points::{
        block::laser_bank::{PaddedPerChannel, PerChannel},
        options::Formula,
    },
};

/// The coefficients for correcting the intensities of a laser bank (HDL-64E S2 manual,
/// appendix F):
///
/// ```text
/// 256 slope |(1 - focus / 131 m)^2 - (1 - n / 65535)^2|, added, then clamped to least and most
/// ```
#[derive(Clone, Debug)]
#[repr(align(32))] // for aligned vector loads
pub(crate) struct IntensityCorrection {
    focus: PerChannel<f32>,
    slope: PerChannel<f32>,
    min: PerChannel<f32>,
    max: PerChannel<f32>,
}

impl IntensityCorrection {
    /// Returns the coefficients of the lasers from `first` on, or `None` if intensities
    /// are not corrected.
    pub(crate) fn new(
        calibration: &Calibration,
        first: usize,
        formula: Formula,
    ) -> Option<Self> {
        // The longest distance is 131.07 m. ROS divides metres by centimetres.
        let longest = match formula {
            Formula::VeloView => return None,
            Formula::Ros => 13_100.0,
            Formula::Manual | Formula::ManualTwoPoint | Formula::VelodyneDecoder => {
                131.0
            }
        };
        if calibration.sends_corrected_intensity && !formula.corrects_twice() {
            return None;
        }
        let lasers = calibration.lasers.iter().skip(first).take(CHANNELS);
        let plain = |l: &crate::calibration::Laser| {
            l.focal_slope == 0.0 && l.min_intensity == 0 && l.max_intensity == 255
        };
        if lasers.clone().all(plain) {
            return None;
        }
        let mut correction = Self {
            focus: [0.0; CHANNELS],
            slope: [0.0; CHANNELS],
            min: [0.0; CHANNELS],
            max: [255.0; CHANNELS],
        };
        for (at, laser) in lasers.enumerate() {
            let focus = 1.0 - laser.focal_distance_m / longest;
            correction.focus[at] = (focus * focus) as f32;
            correction.slope[at] = (256.0 * laser.focal_slope) as f32;
            correction.min[at] = f32::from(laser.min_intensity);
            correction.max[at] = f32::from(laser.max_intensity);
        }
        Some(correction)
    }

    /// Corrects the intensities `intensities` of returns with the raw distances `raw`.
    #[inline(always)]
    pub(crate) fn correct(
        &self,
        raw: &PerChannel<u16>,
        intensities: &PaddedPerChannel<u8>,
        corrected: &mut PaddedPerChannel<f32>,
    ) {
        for at in 0..CHANNELS {
            let near = 1.0 - f32::from(raw[at]) * (1.0 / 65_535.0);
            let added = self.slope[at] * (self.focus[at] - near * near).abs();
            let value = f32::from(intensities[at]) + added;
            // Unlike `max` and `min`, each of these lines is one instruction.
            let value = if value > self.min[at] { value } else { self.min[at] };
            corrected[at] = if value < self.max[at] { value } else { self.max[at] };
        }
    }
}
