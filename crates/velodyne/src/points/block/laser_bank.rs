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
/// The head is at the azimuth `a`. A laser points `r` to the left and `v` upward, and starts
/// `h` to the left of the centre and `o` above it. Its point at the distance `d` is (HDL-64E
/// S2 manual, appendix F):
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
    /// The far correction of distances, in metres.
    pub(crate) far_correction: PerChannel<f32>,
    pub(crate) laser: PaddedPerChannel<u8>,
    pub(crate) ring: PaddedPerChannel<u8>,
    /// The angles and corrections of each laser, for near corrections.
    pub(crate) geometries: Vec<LaserGeometry>,
}

/// The sines and cosines of the angles of one laser, and its corrections and offsets in
/// metres.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaserGeometry {
    pub(crate) sin_rotation: f64,
    pub(crate) cos_rotation: f64,
    pub(crate) sin_vertical: f64,
    pub(crate) cos_vertical: f64,
    pub(crate) far_correction: f64,
    pub(crate) near_correction_x: f64,
    pub(crate) near_correction_y: f64,
    /// The offset of the start of the beam to the left.
    pub(crate) left_offset: f64,
    /// The upward offset of the start of the beam.
    pub(crate) up_offset: f64,
    /// The outward offset of the start of the beam, for formulas that tilt the vertical
    /// offset with the laser.
    pub(crate) out_offset: f64,
    /// Whether the near corrections are used.
    pub(crate) is_two_point: bool,
}

/// Returns the coefficients of all banks of a lidar of `model`. If a bank has fewer lasers
/// than channels, it contains them repeatedly: both firings of a VLP-16 are in one block.
pub(crate) fn bank_coefficients(
    model: Model,
    calibration: &Calibration,
    formula: Formula,
) -> Vec<BankCoefficients> {
    let step = calibration.distance_step_m.unwrap_or(model.distance_step_m());
    let rings = calibration.rings();
    let count = model.lasers();
    let bank = |first: usize| {
        let indices: [usize; CHANNELS] =
            std::array::from_fn(|channel| (first + channel) % count);
        let geometries = indices.map(|index| match calibration.lasers.get(index) {
            Some(laser) => LaserGeometry::new(laser, formula),
            None => LaserGeometry::new(&Laser::new(index as u16), formula),
        });
        let values = |value: &dyn Fn(&LaserGeometry) -> f64| -> PerChannel<f64> {
            geometries.each_ref().map(value)
        };
        let padded = |bytes: PerChannel<u8>| -> PaddedPerChannel<u8> {
            let mut padded = [0; 2 * CHANNELS];
            padded[..CHANNELS].copy_from_slice(&bytes);
            padded
        };
        BankCoefficients {
            a: values(&|l| step * l.cos_vertical * l.cos_rotation),
            b: values(&|l| step * l.cos_vertical * l.sin_rotation),
            c: values(&|l| step * l.sin_vertical),
            p: values(&|l| {
                l.horizontal_start() * l.cos_rotation - l.left_offset * l.sin_rotation
            }),
            q: values(&|l| {
                l.horizontal_start() * l.sin_rotation + l.left_offset * l.cos_rotation
            }),
            r: values(&|l| l.far_correction * l.sin_vertical + l.up_offset),
            far_correction: values(&|l| l.far_correction).map(|far| far as f32),
            laser: padded(indices.map(|index| index as u8)),
            ring: padded(
                indices.map(|index| rings.get(index).copied().unwrap_or(index as u8)),
            ),
            geometries: geometries.to_vec(),
        }
    };
    (0..count).step_by(CHANNELS).map(bank).collect()
}

impl BankCoefficients {
    /// Computes distances in metres from raw distances in units of `step` metres.
    #[inline(always)]
    pub(crate) fn distances(
        &self,
        raw: &PerChannel<u16>,
        step: f32,
        distances: &mut PaddedPerChannel<f32>,
    ) {
        for channel in 0..CHANNELS {
            distances[channel] =
                f32::from(raw[channel]) * step + self.far_correction[channel];
        }
    }
}

impl LaserGeometry {
    fn new(laser: &Laser, formula: Formula) -> Self {
        let (sin_rotation, cos_rotation) = laser.rotation_deg.to_radians().sin_cos();
        let (sin_vertical, cos_vertical) = laser.vertical_deg.to_radians().sin_cos();
        let offset = laser.vertical_offset_m;
        let (up_offset, out_offset) = match formula {
            Formula::Ros => (offset * cos_vertical, -offset * sin_vertical),
            Formula::VeloView => (offset, -offset * sin_vertical),
            _ => (offset, 0.0),
        };
        let is_two_point = match formula {
            Formula::Manual | Formula::VeloView => false,
            Formula::Ros => laser.is_two_point(),
            Formula::ManualTwoPoint | Formula::VelodyneDecoder => {
                laser.has_near_corrections()
            }
        };
        Self {
            sin_rotation,
            cos_rotation,
            sin_vertical,
            cos_vertical,
            far_correction: laser.far_correction_m,
            near_correction_x: laser.near_correction_x_m,
            near_correction_y: laser.near_correction_y_m,
            left_offset: laser.horizontal_offset_m,
            up_offset,
            out_offset,
            is_two_point,
        }
    }

    /// Returns the distance in the horizontal plane of a point with the raw distance 0.
    fn horizontal_start(&self) -> f64 {
        self.far_correction * self.cos_vertical + self.out_offset
    }
}
