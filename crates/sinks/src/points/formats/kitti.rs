//! Files like those of the KITTI data set: x, y, z and intensity of each point as float32.

use std::io::Write as _;

use logtool_core::Result;

use crate::points::{
    attributes::{PointAttributes, positions},
    column::PointColumn,
    file::{CloudFile, PointOutput, Points, close},
};

/// A KITTI file.
pub(crate) struct KittiFile {
    out: PointOutput,
    attributes: PointAttributes,
}

impl KittiFile {
    /// Starts a file of points with `columns` in `out`.
    pub(crate) fn new(out: PointOutput, columns: &[PointColumn]) -> Self {
        Self { out, attributes: PointAttributes::find(columns) }
    }
}

impl CloudFile for KittiFile {
    fn write(&mut self, points: &Points) -> Result<u64> {
        let (mut bytes, mut lost) = (Vec::with_capacity(points.count * 16), 0);
        let intensities = self.attributes.intensities(points);
        for (position, intensity) in positions(points).into_iter().zip(intensities) {
            let Some([x, y, z]) = position else {
                lost += 1;
                continue;
            };
            for number in [x, y, z, intensity] {
                bytes.extend((number as f32).to_le_bytes());
            }
        }
        self.out.write_all(&bytes)?;
        Ok(lost)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        close(self.out)
    }
}
