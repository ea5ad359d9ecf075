//! Corrects intensities for the distance.

use crate::{
    calibration::{Calibration, Laser},
    packet::CHANNELS,
    points::{
        block::laser_bank::{PaddedPerChannel, PerChannel},
        options::Formula,
    },
};

/// The coefficients for correcting the intensities of a laser bank (HDL-64E S2 manual,
/// appendix F). For a return with the raw distance `n`:
///
/// ```text
/// corrected = intensity + 256 slope |(1 - focal distance / 131 m)^2 - (1 - n / 65535)^2|
/// ```
///
/// The result is clamped to the minimum and maximum intensity of the laser.
#[derive(Clone, Debug)]
#[repr(align(32))] // for aligned vector loads
pub(crate) struct IntensityCorrection {
    focus: PerChannel<f32>,
    slope: PerChannel<f32>,
    min: PerChannel<f32>,
    max: PerChannel<f32>,
}

impl IntensityCorrection {
    /// Returns the coefficients of the bank whose first laser is `first`, or `None` if its
    /// intensities are not corrected.
    pub(crate) fn new(
        calibration: &Calibration,
        first: usize,
        formula: Formula,
    ) -> Option<Self> {
        // The maximum distance is 131.07 m. ROS divides metres by centimetres.
        let max_distance = match formula {
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
        let is_uncorrected = |l: &Laser| {
            l.focal_slope == 0.0 && l.min_intensity == 0 && l.max_intensity == 255
        };
        if lasers.clone().all(is_uncorrected) {
            return None;
        }
        let mut correction = Self {
            focus: [0.0; CHANNELS],
            slope: [0.0; CHANNELS],
            min: [0.0; CHANNELS],
            max: [255.0; CHANNELS],
        };
        for (channel, laser) in lasers.enumerate() {
            let focus = 1.0 - laser.focal_distance_m / max_distance;
            correction.focus[channel] = (focus * focus) as f32;
            correction.slope[channel] = (256.0 * laser.focal_slope) as f32;
            correction.min[channel] = f32::from(laser.min_intensity);
            correction.max[channel] = f32::from(laser.max_intensity);
        }
        Some(correction)
    }

    /// Corrects `intensities` of returns with the raw distances `raw`.
    #[inline(always)]
    pub(crate) fn correct(
        &self,
        raw: &PerChannel<u16>,
        intensities: &PaddedPerChannel<u8>,
        corrected: &mut PaddedPerChannel<f32>,
    ) {
        for i in 0..CHANNELS {
            let nearness = 1.0 - f32::from(raw[i]) * (1.0 / 65_535.0);
            let added = self.slope[i] * (self.focus[i] - nearness * nearness).abs();
            let value = f32::from(intensities[i]) + added;
            // Unlike `max` and `min`, each of these lines is one instruction.
            let value = if value > self.min[i] { value } else { self.min[i] };
            corrected[i] = if value < self.max[i] { value } else { self.max[i] };
        }
    }
}
