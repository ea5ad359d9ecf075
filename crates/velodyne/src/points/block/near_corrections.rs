//! Distance corrections that differ for near and far points, separately along x and y.

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

/// The limit of the near corrections in metres, where they equal the far correction.
const FAR: f64 = 25.04;

/// The distances in metres at which the near corrections were measured, along x and along
/// y.
const NEAR: (f64, f64) = (2.40, 1.93);

/// The near corrections of a laser bank: one array per coefficient.
#[derive(Clone, Debug)]
pub(crate) struct NearCorrections {
    step: f64,
    /// Whether the height is corrected by the mean of both corrections, not by that along
    /// y.
    is_mean: bool,
    /// The distance in metres from which the laser is not corrected.
    end: PerChannel<f64>,
    sin_rotation: PerChannel<f64>,
    cos_rotation: PerChannel<f64>,
    sin_vertical: PerChannel<f64>,
    cos_vertical: PerChannel<f64>,
    far: PerChannel<f64>,
    /// The corrections at the distances where they were measured, and their change per
    /// metre.
    near_x: PerChannel<f64>,
    near_y: PerChannel<f64>,
    more_x: PerChannel<f64>,
    more_y: PerChannel<f64>,
    /// The offset to the left, and the one that is used to interpolate between near and
    /// far.
    across: PerChannel<f64>,
    across_there: PerChannel<f64>,
    up: PerChannel<f64>,
    out: PerChannel<f64>,
}

impl NearCorrections {
    /// Returns the near corrections of the lasers of a bank, with raw distances in units
    /// of `step` metres. Returns `None` if no laser of the bank has near corrections.
    pub(crate) fn new(
        bank: &BankCoefficients,
        formula: Formula,
        step: f64,
    ) -> Option<Self> {
        if !bank.each.iter().any(|laser| laser.is_two_point) {
            return None;
        }
        let channel_values = |of: &dyn Fn(&LaserGeometry) -> f64| -> PerChannel<f64> {
            let mut channel_values = [0.0; CHANNELS];
            channel_values
                .iter_mut()
                .zip(&bank.each)
                .for_each(|(to, each)| *to = of(each));
            channel_values
        };
        let is_decoder = formula == Formula::VelodyneDecoder;
        let end = if formula == Formula::Ros { f64::INFINITY } else { FAR };
        Some(Self {
            step,
            is_mean: is_decoder,
            end: channel_values(&|l| {
                if l.is_two_point { end } else { f64::NEG_INFINITY }
            }),
            sin_rotation: channel_values(&|l| l.sin_rotation),
            cos_rotation: channel_values(&|l| l.cos_rotation),
            sin_vertical: channel_values(&|l| l.sin_vertical),
            cos_vertical: channel_values(&|l| l.cos_vertical),
            far: channel_values(&|l| l.far),
            near_x: channel_values(&|l| l.near_x),
            near_y: channel_values(&|l| l.near_y),
            more_x: channel_values(&|l| (l.far - l.near_x) / (FAR - NEAR.0)),
            more_y: channel_values(&|l| (l.far - l.near_y) / (FAR - NEAR.1)),
            across: channel_values(&|l| l.across),
            across_there: channel_values(&|l| if is_decoder { 0.0 } else { l.across }),
            up: channel_values(&|l| l.up),
            out: channel_values(&|l| l.out),
        })
    }

    /// Corrects the points that are within the limit. `azimuth_sin_cos` returns the sine and cosine
    /// of the azimuth of the head for each channel.
    #[inline(always)]
    pub(crate) fn correct(
        &self,
        raw: &PerChannel<u16>,
        azimuth_sin_cos: impl Fn(usize) -> (f64, f64),
        axes: Axes,
        block_returns: &mut BlockReturns,
    ) {
        let (mut ahead, mut across, mut up) =
            ([0.0; CHANNELS], [0.0; CHANNELS], [0.0; CHANNELS]);
        let mut is_near = [false; CHANNELS];
        // The axis to the right has the opposite sign of the axis to the left.
        let way = if axes == Axes::Ros { -1.0 } else { 1.0 };
        for at in 0..CHANNELS {
            let d = f64::from(raw[at]) * self.step;
            is_near[at] = d < self.end[at];
            let (sin_head, cos_head) = azimuth_sin_cos(at);
            // The azimuth of the laser is that of the head minus its rotation.
            let (sin_own, cos_own) = (self.sin_rotation[at], self.cos_rotation[at]);
            let sin = sin_head * cos_own - cos_head * sin_own;
            let cos = cos_head * cos_own + sin_head * sin_own;
            let plane = |d: f64| d * self.cos_vertical[at] + self.out[at];
            let (far, far_across) = (plane(d + self.far[at]), self.across_there[at]);
            let (x, y) = (far * sin - far_across * cos, far * cos + far_across * sin);
            let by_x = self.more_x[at] * (x.abs() - NEAR.0) + self.near_x[at];
            let by_y = self.more_y[at] * (y.abs() - NEAR.1) + self.near_y[at];
            let by_z = if self.is_mean { (by_x + by_y) / 2.0 } else { by_y };
            let x = plane(d + by_x) * sin - self.across[at] * cos;
            ahead[at] = (plane(d + by_y) * cos + self.across[at] * sin) as f32;
            across[at] = (x * way) as f32;
            up[at] = ((d + by_z) * self.sin_vertical[at] + self.up[at]) as f32;
        }
        let (x, y) = match axes {
            Axes::Ros => (&ahead, &across),
            Axes::Manual => (&across, &ahead),
        };
        choose(&is_near, x, &mut block_returns.x);
        choose(&is_near, y, &mut block_returns.y);
        choose(&is_near, &up, &mut block_returns.z);
    }
}

/// Replaces elements of `across_there` by `values` where the flag is set.
#[inline(always)]
fn choose(
    are_to_be: &PerChannel<bool>,
    values: &PerChannel<f32>,
    across_there: &mut PaddedPerChannel<f32>,
) {
    for at in 0..CHANNELS {
        across_there[at] = if are_to_be[at] { values[at] } else { across_there[at] };
    }
}
