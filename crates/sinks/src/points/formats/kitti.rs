//! Files like those of the KITTI data set: x, y, z and intensity of each point as float32.

use std::io::Write as _;

use logtool_core::Result;

use crate::points::{
    attributes::{PointAttributes, positions},
    column::PointColumn,
    file::{CloudFile, PointOutput, Points, finish_file},
};

/// A KITTI file.
pub(crate) struct KittiFile {
    output: PointOutput,
    attributes: PointAttributes,
}

impl KittiFile {
    /// Starts a file of points with `columns` in `output`.
    pub(crate) fn new(output: PointOutput, columns: &[PointColumn]) -> Self {
        Self { output, attributes: PointAttributes::find(columns) }
    }
}

impl CloudFile for KittiFile {
    fn write(&mut self, points: &Points) -> Result<u64> {
        let (mut bytes, mut dropped_points) =
            (Vec::with_capacity(points.count * 16), 0);
        let intensities = self.attributes.intensities(points);
        for (position, intensity) in positions(points).into_iter().zip(intensities) {
            let Some([x, y, z]) = position else {
                dropped_points += 1;
                continue;
            };
            for number in [x, y, z, intensity] {
                bytes.extend((number as f32).to_le_bytes());
            }
        }
        self.output.write_all(&bytes)?;
        Ok(dropped_points)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        finish_file(self.output)
    }
}
