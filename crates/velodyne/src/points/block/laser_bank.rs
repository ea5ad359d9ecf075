//! The coefficients of the lasers of a bank in the layout of the inner loop: one array
//! per coefficient.

use crate::{
    calibration::{Calibration, Laser},
    model::Model,
    packet::CHANNELS,
    points::options::Formula,
};

/// 32 values, one for each channel of a block.
pub(crate) type PerChannel<T> = [T; CHANNELS];

/// A [`PerChannel`] followed by padding, so that 32 elements can be read from any channel on.
/// The values of the padding are irrelevant.
pub(crate) type PaddedPerChannel<T> = [T; 2 * CHANNELS];

/// The coefficients for computing points from the distances of a block.
///
/// The head is at azimuth `a`. A laser points `r` to the left and `v` upward, and starts
/// `h` to the left and `o` above the centre. Its point at the distance `d` is (HDL-64E S2
/// manual, F):
///
/// ```text
/// x = d cos v sin(a - r) - h cos(a - r)
/// y = d cos v cos(a - r) + h sin(a - r)
/// z = d sin v + o
/// ```
///
/// Only `a` and the raw distance `n` vary. Everything else is precomputed:
///
/// ```text
/// u = n A + P,  w = n B + Q      x = u sin a - w cos a,  y = u cos a + w sin a
/// z = n C + R
/// ```
#[derive(Clone, Debug)]
#[repr(align(32))] // for aligned vector loads
pub(crate) struct BankCoefficients {
    pub(crate) a: PerChannel<f64>,
    pub(crate) b: PerChannel<f64>,
    pub(crate) c: PerChannel<f64>,
    pub(crate) p: PerChannel<f64>,
    pub(crate) q: PerChannel<f64>,
    pub(crate) r: PerChannel<f64>,
    /// The correction that is added to a distance, in metres.
    pub(crate) far: PerChannel<f32>,
    pub(crate) laser: PaddedPerChannel<u8>,
    pub(crate) ring: PaddedPerChannel<u8>,
    /// The angles and corrections of each laser, for the formulas that need them.
    pub(crate) each: Vec<LaserGeometry>,
}

/// One laser, for formulas that process lasers individually.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaserGeometry {
    pub(crate) sin_rotation: f64,
    pub(crate) cos_rotation: f64,
    pub(crate) sin_vertical: f64,
    pub(crate) cos_vertical: f64,
    pub(crate) far: f64,
    pub(crate) near_x: f64,
    pub(crate) near_y: f64,
    /// The horizontal offset to the left, in metres.
    pub(crate) across: f64,
    /// The upward offset, and its component in the horizontal plane.
    pub(crate) up: f64,
    pub(crate) out: f64,
    pub(crate) is_two_point: bool,
}

/// Returns the banks of a lidar of `model`. Channels beyond its lasers repeat them from
/// the first one.
pub(crate) fn banks(
    model: Model,
    calibration: &Calibration,
    formula: Formula,
) -> Vec<BankCoefficients> {
    let step = calibration.distance_step_m.unwrap_or(model.distance_step_m());
    let rings = calibration.rings();
    let count = model.lasers();
    let bank = |first: usize| {
        let numbers: Vec<usize> = (0..CHANNELS).map(|i| (first + i) % count).collect();
        let plain = |n: usize| Laser::new(n as u16);
        let each: Vec<LaserGeometry> = numbers
            .iter()
            .map(|n| match calibration.lasers.get(*n) {
                Some(laser) => LaserGeometry::new(laser, formula),
                None => LaserGeometry::new(&plain(*n), formula),
            })
            .collect();
        let channel_values = |of: &dyn Fn(&LaserGeometry) -> f64| -> PerChannel<f64> {
            let mut channel_values = [0.0; CHANNELS];
            channel_values.iter_mut().zip(&each).for_each(|(to, each)| *to = of(each));
            channel_values
        };
        let byte = |of: &dyn Fn(usize) -> u8| -> PaddedPerChannel<u8> {
            let mut channel_values = [0; 2 * CHANNELS];
            channel_values.iter_mut().zip(&numbers).for_each(|(to, n)| *to = of(*n));
            channel_values
        };
        BankCoefficients {
            a: channel_values(&|l| step * l.cos_vertical * l.cos_rotation),
            b: channel_values(&|l| step * l.cos_vertical * l.sin_rotation),
            c: channel_values(&|l| step * l.sin_vertical),
            p: channel_values(&|l| {
                l.horizontal_start() * l.cos_rotation - l.across * l.sin_rotation
            }),
            q: channel_values(&|l| {
                l.horizontal_start() * l.sin_rotation + l.across * l.cos_rotation
            }),
            r: channel_values(&|l| l.far * l.sin_vertical + l.up),
            far: channel_values(&|l| l.far).map(|far| far as f32),
            laser: byte(&|n| n as u8),
            ring: byte(&|n| rings.get(n).copied().unwrap_or(n as u8)),
            each: each.clone(),
        }
    };
    (0..count.div_ceil(CHANNELS)).map(|at| bank(at * CHANNELS)).collect()
}

impl BankCoefficients {
    /// Computes the distances in metres from raw distances with the resolution `step`.
    #[inline(always)]
    pub(crate) fn distances(
        &self,
        raw: &PerChannel<u16>,
        step: f32,
        distances: &mut PaddedPerChannel<f32>,
    ) {
        for at in 0..CHANNELS {
            distances[at] = f32::from(raw[at]) * step + self.far[at];
        }
    }
}

impl LaserGeometry {
    fn new(laser: &Laser, formula: Formula) -> Self {
        let (sin_rotation, cos_rotation) = laser.rotation_deg.to_radians().sin_cos();
        let (sin_vertical, cos_vertical) = laser.vertical_deg.to_radians().sin_cos();
        let offset = laser.vertical_offset_m;
        let (up, out) = match formula {
            Formula::Ros => (offset * cos_vertical, -offset * sin_vertical),
            Formula::VeloView => (offset, -offset * sin_vertical),
            _ => (offset, 0.0),
        };
        let has_near = laser.distance_x_m != 0.0 && laser.distance_y_m != 0.0;
        let is_two_point = match formula {
            Formula::Manual | Formula::VeloView => false,
            Formula::Ros => laser.is_two_point(),
            Formula::ManualTwoPoint | Formula::VelodyneDecoder => has_near,
        };
        Self {
            sin_rotation,
            cos_rotation,
            sin_vertical,
            cos_vertical,
            far: laser.distance_m,
            near_x: laser.distance_x_m,
            near_y: laser.distance_y_m,
            across: laser.horizontal_offset_m,
            up,
            out,
            is_two_point,
        }
    }

    /// Returns the horizontal distance at which the measured distance starts.
    fn horizontal_start(&self) -> f64 {
        self.far * self.cos_vertical + self.out
    }
}
