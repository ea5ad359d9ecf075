//! Distance corrections that depend on the distance of a point, separately along x and y.

use crate::{
    packet::CHANNELS,
    points::{
        block::{
            laser_bank::{
                BankCoefficients, LaserGeometry, PaddedPerChannel, PerChannel,
            },
            point_buffer::BlockReturns,
        },
        options::{Axes, Formula},
    },
};

/// The distance in metres at which the far correction was measured, and at which the near
/// corrections end.
const FAR_M: f64 = 25.04;

/// The distances in metres at which the near corrections were measured.
const NEAR_X_M: f64 = 2.40;
const NEAR_Y_M: f64 = 1.93;

/// The near corrections of a laser bank: one array per coefficient.
#[derive(Clone, Debug)]
pub(crate) struct NearCorrections {
    step: f64,
    /// Whether the height is corrected by the mean of both corrections, not by that along
    /// y.
    is_mean: bool,
    /// The distance in metres at which the near corrections end, or minus infinity if the
    /// laser has none.
    end: PerChannel<f64>,
    sin_rotation: PerChannel<f64>,
    cos_rotation: PerChannel<f64>,
    sin_vertical: PerChannel<f64>,
    cos_vertical: PerChannel<f64>,
    far_correction: PerChannel<f64>,
    /// The corrections at the distances where they were measured, and their change per
    /// metre.
    near_correction_x: PerChannel<f64>,
    near_correction_y: PerChannel<f64>,
    slope_x: PerChannel<f64>,
    slope_y: PerChannel<f64>,
    /// The offset to the left, and the offset that is used to interpolate the corrections.
    left_offset: PerChannel<f64>,
    interpolation_left_offset: PerChannel<f64>,
    up_offset: PerChannel<f64>,
    out_offset: PerChannel<f64>,
}

impl NearCorrections {
    /// Returns the near corrections of the lasers of a bank, with raw distances in units
    /// of `step` metres. Returns `None` if no laser of the bank has near corrections.
    pub(crate) fn new(
        bank: &BankCoefficients,
        formula: Formula,
        step: f64,
    ) -> Option<Self> {
        if !bank.geometries.iter().any(|laser| laser.is_two_point) {
            return None;
        }
        let values = |value: &dyn Fn(&LaserGeometry) -> f64| -> PerChannel<f64> {
            let mut values = [0.0; CHANNELS];
            for (slot, laser) in values.iter_mut().zip(&bank.geometries) {
                *slot = value(laser);
            }
            values
        };
        let is_velodyne_decoder = formula == Formula::VelodyneDecoder;
        let end = if formula == Formula::Ros { f64::INFINITY } else { FAR_M };
        Some(Self {
            step,
            is_mean: is_velodyne_decoder,
            end: values(&|l| if l.is_two_point { end } else { f64::NEG_INFINITY }),
            sin_rotation: values(&|l| l.sin_rotation),
            cos_rotation: values(&|l| l.cos_rotation),
            sin_vertical: values(&|l| l.sin_vertical),
            cos_vertical: values(&|l| l.cos_vertical),
            far_correction: values(&|l| l.far_correction),
            near_correction_x: values(&|l| l.near_correction_x),
            near_correction_y: values(&|l| l.near_correction_y),
            slope_x: values(&|l| {
                (l.far_correction - l.near_correction_x) / (FAR_M - NEAR_X_M)
            }),
            slope_y: values(&|l| {
                (l.far_correction - l.near_correction_y) / (FAR_M - NEAR_Y_M)
            }),
            left_offset: values(&|l| l.left_offset),
            interpolation_left_offset: values(&|l| {
                if is_velodyne_decoder { 0.0 } else { l.left_offset }
            }),
            up_offset: values(&|l| l.up_offset),
            out_offset: values(&|l| l.out_offset),
        })
    }

    /// Replaces the positions of returns that are nearer than the end of the near
    /// corrections. `azimuth_sin_cos` returns the sine and cosine of the azimuth of the head
    /// for each channel.
    #[inline(always)]
    pub(crate) fn correct(
        &self,
        raw: &PerChannel<u16>,
        azimuth_sin_cos: impl Fn(usize) -> (f64, f64),
        axes: Axes,
        block_returns: &mut BlockReturns,
    ) {
        let (mut forward, mut sideways, mut up) =
            ([0.0; CHANNELS], [0.0; CHANNELS], [0.0; CHANNELS]);
        let mut is_near = [false; CHANNELS];
        // `x` points to the right here, the second axis of ROS to the left.
        let sideways_sign = if axes == Axes::Ros { -1.0 } else { 1.0 };
        for i in 0..CHANNELS {
            let distance = f64::from(raw[i]) * self.step;
            is_near[i] = distance < self.end[i];
            let (sin_head, cos_head) = azimuth_sin_cos(i);
            // The azimuth of the laser is that of the head minus its rotation.
            let (sin_rotation, cos_rotation) =
                (self.sin_rotation[i], self.cos_rotation[i]);
            let sin = sin_head * cos_rotation - cos_head * sin_rotation;
            let cos = cos_head * cos_rotation + sin_head * sin_rotation;
            let horizontal =
                |distance: f64| distance * self.cos_vertical[i] + self.out_offset[i];
            // The corrections are interpolated at the position with the far correction.
            let far = horizontal(distance + self.far_correction[i]);
            let left = self.interpolation_left_offset[i];
            let (far_x, far_y) = (far * sin - left * cos, far * cos + left * sin);
            let correction_x =
                self.slope_x[i] * (far_x.abs() - NEAR_X_M) + self.near_correction_x[i];
            let correction_y =
                self.slope_y[i] * (far_y.abs() - NEAR_Y_M) + self.near_correction_y[i];
            let correction_z = if self.is_mean {
                (correction_x + correction_y) / 2.0
            } else {
                correction_y
            };
            let left = self.left_offset[i];
            let x = horizontal(distance + correction_x) * sin - left * cos;
            let y = horizontal(distance + correction_y) * cos + left * sin;
            forward[i] = y as f32;
            sideways[i] = (x * sideways_sign) as f32;
            up[i] = ((distance + correction_z) * self.sin_vertical[i]
                + self.up_offset[i]) as f32;
        }
        let (x, y) = match axes {
            Axes::Ros => (&forward, &sideways),
            Axes::Manual => (&sideways, &forward),
        };
        replace_where(&is_near, x, &mut block_returns.x);
        replace_where(&is_near, y, &mut block_returns.y);
        replace_where(&is_near, &up, &mut block_returns.z);
    }
}

/// Replaces the elements of `target` whose flag is set by those of `values`.
#[inline(always)]
fn replace_where(
    flags: &PerChannel<bool>,
    values: &PerChannel<f32>,
    target: &mut PaddedPerChannel<f32>,
) {
    // Writing all elements lets the compiler use vector instructions.
    for i in 0..CHANNELS {
        target[i] = if flags[i] { values[i] } else { target[i] };
    }
}
