//! Computes the azimuth of the head at each firing of a block.

use crate::{
    model::{Model, Sensor},
    packet::{BLOCKS, CHANNELS},
    points::{
        block::{
            azimuth_steps::AzimuthSteps,
            laser_bank::{PaddedPerChannel, PerChannel},
        },
        firing::{
            sin_cos_table::{SinCosTable, TURN},
            timing::{S1_STEP_NANOS, Timing, angle_between, s1_steps, seconds},
        },
        options::Formula,
    },
};

/// How the azimuth of a firing is computed from that of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AzimuthModel {
    /// The azimuth of the block.
    PerBlock,
    /// The azimuth of the block plus the rotation until the firing.
    Exact,
    /// Like `Exact`, but rounded to hundredths of a degree.
    Rounded,
    /// The azimuth of the block plus a fraction of a [step](AzimuthSteps), as in ROS and
    /// VeloView.
    Stepped,
}

/// The azimuths of the firings of a block, as sine and cosine.
#[derive(Clone, Debug)]
pub(crate) struct FiringAzimuths {
    pub(crate) sin: PerChannel<f64>,
    pub(crate) cos: PerChannel<f64>,
    /// The sine and the cosine of the rotation from the azimuth of a block to each firing, at
    /// `rate`. They are only valid for blocks in [`Timing::first_equal_block`].
    turn_sin: [PerChannel<f64>; BLOCKS],
    turn_cos: [PerChannel<f64>; BLOCKS],
    rate: f64,
}

/// The rotation rate of the head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RotationRate {
    /// Hundredths of a degree per nanosecond.
    pub(crate) exact: f64,
    /// Hundredths of a degree per second, with the rounding of velodyne_decoder.
    rounded: f32,
}

impl AzimuthModel {
    pub(crate) fn for_formula(sensor: Sensor, formula: Formula) -> Self {
        let model = sensor.model;
        match formula {
            Formula::Manual | Formula::ManualTwoPoint if model.is_hdl64e() => {
                Self::PerBlock
            }
            Formula::Manual | Formula::ManualTwoPoint => Self::Exact,
            Formula::VelodyneDecoder => Self::Rounded,
            Formula::VeloView => Self::Stepped,
            Formula::Ros if model.is_vls128() || model.lasers() == 16 => Self::Stepped,
            Formula::Ros => Self::PerBlock,
        }
    }
}

impl RotationRate {
    /// Returns the rate in a packet whose blocks have these azimuths.
    pub(crate) fn rate_in_packet(
        timing: &Timing,
        azimuths: &[u16; BLOCKS],
        model: Model,
    ) -> Self {
        let exact = timing.rate(azimuths);
        let rounded = if model == Model::Hdl64eS1 {
            rounded_s1_rate(azimuths)
        } else {
            let duration = seconds(timing.azimuth_nanos[BLOCKS - 1])
                - seconds(timing.azimuth_nanos[0]);
            f32::from(angle_between(azimuths[0], azimuths[BLOCKS - 1])) / duration
        };
        let rounded = if rounded.is_finite() { rounded } else { 0.0 };
        Self { exact, rounded }
    }

    /// Converts a rate in hundredths of a degree per nanosecond.
    pub(crate) fn from_nanos(rate: f64) -> Self {
        Self { exact: rate, rounded: (rate * 1e9) as f32 }
    }
}

impl FiringAzimuths {
    pub(crate) fn new() -> Self {
        Self {
            sin: [0.0; CHANNELS],
            cos: [1.0; CHANNELS],
            turn_sin: [[0.0; CHANNELS]; BLOCKS],
            turn_cos: [[1.0; CHANNELS]; BLOCKS],
            rate: 0.0,
        }
    }

    /// Sets the rotation rate of a packet, for [`AzimuthModel::Exact`].
    pub(crate) fn set_rate(&mut self, rate: RotationRate, timing: &Timing) {
        if self.rate == rate.exact {
            return;
        }
        self.rate = rate.exact;
        for (block, first_equal_block) in timing.first_equal_block.iter().enumerate() {
            if block != *first_equal_block {
                continue;
            }
            let (sin, cos) = (&mut self.turn_sin[block], &mut self.turn_cos[block]);
            for (channel, nanos) in timing.firing_nanos[block].iter().enumerate() {
                let angle = rate.exact * (nanos - timing.azimuth_nanos[block]);
                (sin[channel], cos[channel]) = (angle / 100.0).to_radians().sin_cos();
            }
        }
    }

    /// Computes the azimuths of the firings of a block for [`AzimuthModel::Stepped`], and writes
    /// them in degrees to `degrees`.
    pub(crate) fn set_stepped(
        &mut self,
        sin_cos_table: SinCosTable,
        azimuth_steps: &AzimuthSteps,
        block: usize,
        degrees: &mut PaddedPerChannel<f32>,
    ) {
        for (channel, degrees) in degrees.iter_mut().take(CHANNELS).enumerate() {
            let azimuth = azimuth_steps.azimuth(block, channel);
            *degrees = f32::from(azimuth) / 100.0;
            (self.sin[channel], self.cos[channel]) = sin_cos_table.sin_cos(azimuth);
        }
    }

    /// Computes the azimuths of the firings of a block that starts at `azimuth`, for
    /// [`AzimuthModel::Exact`] and [`AzimuthModel::Rounded`], and writes them in degrees to
    /// `degrees`.
    #[allow(clippy::too_many_arguments)] // all are inputs of one formula
    pub(crate) fn set_rotating(
        &mut self,
        model: AzimuthModel,
        sin_cos_table: SinCosTable,
        azimuth: u16,
        rate: RotationRate,
        timing: &Timing,
        block: usize,
        degrees: &mut PaddedPerChannel<f32>,
    ) {
        match model {
            AzimuthModel::PerBlock | AzimuthModel::Stepped => {}
            AzimuthModel::Exact => {
                let firing_nanos = &timing.firing_nanos[block];
                let azimuth_nanos = timing.azimuth_nanos[block];
                let (sin, cos) = sin_cos_table.sin_cos(azimuth);
                let equal_block = timing.first_equal_block[block];
                let turn_sin = &self.turn_sin[equal_block];
                let turn_cos = &self.turn_cos[equal_block];
                for i in 0..CHANNELS {
                    let angle = rate.exact * (firing_nanos[i] - azimuth_nanos);
                    let angle = (f64::from(azimuth) + angle) / 100.0;
                    degrees[i] = (angle - (angle / 360.0).floor() * 360.0) as f32;
                    self.sin[i] = sin * turn_cos[i] + cos * turn_sin[i];
                    self.cos[i] = cos * turn_cos[i] - sin * turn_sin[i];
                }
            }
            AzimuthModel::Rounded => {
                let seconds_after_azimuth = &timing.seconds_after_azimuth[block];
                for i in 0..CHANNELS {
                    let angle = rate.rounded * seconds_after_azimuth[i];
                    let azimuth = f32::from(azimuth) + angle;
                    // This equals `round`, because no value is negative, but needs no
                    // function call.
                    let rounded = f64::from(azimuth + f32::from(TURN)) + 0.5;
                    let rounded = (rounded as u32 % u32::from(TURN)) as u16;
                    degrees[i] = f32::from(rounded) / 100.0;
                    (self.sin[i], self.cos[i]) = sin_cos_table.sin_cos(rounded);
                }
            }
        }
    }
}

/// Returns the rate of an HDL-64E S1 as computed by velodyne_decoder: the mean of the
/// rates of the inner blocks. The rate of a block is the azimuth step before the block
/// divided by the duration of the block.
fn rounded_s1_rate(azimuths: &[u16; BLOCKS]) -> f32 {
    let steps = s1_steps(azimuths);
    let inner_blocks = 1..BLOCKS - 1;
    let count = inner_blocks.len() as f32;
    let step_seconds = seconds(S1_STEP_NANOS);
    let rate = |block: usize| {
        let turned = angle_between(azimuths[block - 1], azimuths[block]);
        f32::from(turned) / (f32::from(steps[block]) * step_seconds)
    };
    inner_blocks.map(rate).sum::<f32>() / count
}
