//! Files like those of the KITTI data set: x, y, z and intensity of each point as float32. The
//! intensity is from 0 to 1.

use std::io::Write as _;

use logtool_core::Result;

use crate::points::{
    attributes::{PointAttributes, positions},
    file::{CloudFile, PointOutput, Points, finish_file},
    losses::PointLosses,
};

/// A KITTI file.
pub(crate) struct KittiFile {
    output: PointOutput,
    attributes: PointAttributes,
}

impl KittiFile {
    /// Starts a file of points with `attributes` in `output`.
    pub(crate) fn new(output: PointOutput, attributes: PointAttributes) -> Self {
        Self { output, attributes }
    }
}

impl CloudFile for KittiFile {
    fn write(&mut self, points: &Points, losses: &mut PointLosses) -> Result<()> {
        let mut bytes = Vec::with_capacity(points.count * 16);
        let intensities = self.attributes.intensities(points);
        for (position, intensity) in positions(points).into_iter().zip(intensities) {
            let Some([x, y, z]) = position else {
                losses.points += 1;
                continue;
            };
            let intensity = intensity.unwrap_or(0.0);
            losses.intensities += u64::from(!(0.0..=1.0).contains(&intensity));
            let stored =
                if intensity.is_nan() { 0.0 } else { intensity.clamp(0.0, 1.0) };
            for number in [x, y, z, stored] {
                bytes.extend((number as f32).to_le_bytes());
            }
        }
        Ok(self.output.write_all(&bytes)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        finish_file(self.output)
    }
}
