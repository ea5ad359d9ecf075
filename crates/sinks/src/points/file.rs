//! The interface of a file of points, for all formats.

use std::io::BufWriter;

use arrow_array::{Array as _, ArrayRef};
use logtool_core::Result;

use crate::{files::staged_outputs::StagedFile, points::losses::PointLosses};

/// The output that a point cloud file is written to.
pub(super) type PointOutput = BufWriter<StagedFile>;

/// A point cloud file that is being written.
pub(super) trait CloudFile: Send {
    /// Appends points, and adds values that the format cannot store to `losses`.
    fn write(&mut self, points: &Points, losses: &mut PointLosses) -> Result<()>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A batch of points, stored as one array for each column.
#[derive(Clone, Debug)]
pub(super) struct Points {
    pub(super) arrays: Vec<ArrayRef>,
    /// The number of points.
    pub(super) count: usize,
}

impl Points {
    /// Returns `count` points, starting at index `start`.
    pub(super) fn slice(&self, start: usize, count: usize) -> Self {
        Self {
            arrays: self.arrays.iter().map(|array| array.slice(start, count)).collect(),
            count,
        }
    }

    /// Returns the points with only the columns at the indices `indices`.
    pub(super) fn select_columns(&self, indices: &[usize]) -> Self {
        let arrays =
            indices.iter().filter_map(|index| self.arrays.get(*index)).cloned();
        Self { arrays: arrays.collect(), count: self.count }
    }
}

/// Returns the array of the column of `points` at `index`.
pub(super) fn array_at(points: &Points, index: Option<usize>) -> Option<&ArrayRef> {
    points.arrays.get(index?)
}

/// Finishes the file that `output` writes.
pub(super) fn finish_file(output: PointOutput) -> Result<()> {
    output.into_inner().map_err(|err| err.into_error())?.finish()
}
