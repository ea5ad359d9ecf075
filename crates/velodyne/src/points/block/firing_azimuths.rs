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
            timing::{Timing, angle_between, s1_steps, seconds},
        },
        options::Formula,
    },
};

/// The way in which the azimuth of a firing follows from that of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AzimuthModel {
    /// The azimuth of the block.
    PerBlock,
    /// The azimuth of the block plus the rotation until the firing.
    Exact,
    /// Like `Exact`, but rounded to hundredths of a degree.
    Rounded,
    /// The azimuth of the block plus a part of a [move](AzimuthSteps), as in ROS and VeloView.
    Stepped,
}

/// The azimuths of the firings of a block, as sine and cosine.
#[derive(Clone, Debug)]
pub(crate) struct FiringAzimuths {
    pub(crate) sin: PerChannel<f64>,
    pub(crate) cos: PerChannel<f64>,
    /// The sine and the cosine of the rotation between the azimuth of a block and each firing, at
    /// `rate`, for the blocks that are the [first of their kind](Timing::first_alike).
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
            s1_rate(azimuths)
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
        for (block, first_alike) in timing.first_alike.iter().enumerate() {
            if block != *first_alike {
                continue;
            }
            let (sin, cos) = (&mut self.turn_sin[block], &mut self.turn_cos[block]);
            for (at, nanos) in timing.nanos[block].iter().enumerate() {
                let angle = rate.exact * (nanos - timing.azimuth_nanos[block]);
                (sin[at], cos[at]) = (angle / 100.0).to_radians().sin_cos();
            }
        }
    }

    /// Computes the azimuths of the firings of a block for [`AzimuthModel::Stepped`], and writes
    /// them in degrees to `degrees`.
    pub(crate) fn set_stepped(
        &mut self,
        circle: SinCosTable,
        azimuth_steps: &AzimuthSteps,
        block: usize,
        degrees: &mut PaddedPerChannel<f32>,
    ) {
        for (at, degrees) in degrees.iter_mut().take(CHANNELS).enumerate() {
            let azimuth = azimuth_steps.azimuth(block, at);
            *degrees = f32::from(azimuth) / 100.0;
            (self.sin[at], self.cos[at]) = circle.sin_cos(azimuth);
        }
    }

    /// Computes the azimuths of the firings of a block that starts at `azimuth`, for
    /// [`AzimuthModel::Exact`] and [`AzimuthModel::Rounded`], and writes them in degrees to
    /// `degrees`.
    #[allow(clippy::too_many_arguments)] // a function of seven numbers
    pub(crate) fn set_rotating(
        &mut self,
        model: AzimuthModel,
        circle: SinCosTable,
        azimuth: u16,
        rate: RotationRate,
        timing: &Timing,
        block: usize,
        degrees: &mut PaddedPerChannel<f32>,
    ) {
        let (nanos, first) = (&timing.nanos[block], timing.azimuth_nanos[block]);
        match model {
            AzimuthModel::PerBlock | AzimuthModel::Stepped => {}
            AzimuthModel::Exact => {
                let (sin, cos) = circle.sin_cos(azimuth);
                let turn = timing.first_alike[block];
                let (turn_sin, turn_cos) = (&self.turn_sin[turn], &self.turn_cos[turn]);
                for at in 0..CHANNELS {
                    let angle = rate.exact * (nanos[at] - first);
                    let angle = (f64::from(azimuth) + angle) / 100.0;
                    degrees[at] = (angle - (angle / 360.0).floor() * 360.0) as f32;
                    self.sin[at] = sin * turn_cos[at] + cos * turn_sin[at];
                    self.cos[at] = cos * turn_cos[at] - sin * turn_sin[at];
                }
            }
            AzimuthModel::Rounded => {
                let after = &timing.after[block];
                for at in 0..CHANNELS {
                    let azimuth = f32::from(azimuth) + rate.rounded * after[at];
                    // Equals `round`, as no value is negative, but without a function
                    // call.
                    let rounded = f64::from(azimuth + f32::from(TURN)) + 0.5;
                    let rounded = (rounded as u32 % u32::from(TURN)) as u16;
                    degrees[at] = f32::from(rounded) / 100.0;
                    (self.sin[at], self.cos[at]) = circle.sin_cos(rounded);
                }
            }
        }
    }
}

/// Returns the rate of an HDL-64E S1 as computed by velodyne_decoder: the mean of the
/// rates of the inner blocks. Each is the azimuth step before the block divided by the
/// time after it.
fn s1_rate(azimuths: &[u16; BLOCKS]) -> f32 {
    let steps = s1_steps(azimuths);
    let inner = 1..BLOCKS - 1;
    let count = inner.len() as f32;
    let step = seconds(24_812.36);
    let rate = |at: usize| {
        let turned = angle_between(azimuths[at - 1], azimuths[at]);
        f32::from(turned) / (f32::from(steps[at]) * step)
    };
    inner.map(rate).sum::<f32>() / count
}
