//! One file of points, whatever its format.

use std::io::BufWriter;

use arrow_array::{Array as _, ArrayRef};
use logtool_core::Result;

use crate::staged::Staged;

/// Where the bytes of a file go.
pub(super) type Out = BufWriter<Staged>;

/// A file that is being written.
pub(super) trait CloudFile: Send {
    /// Adds points, and says how many of them there was no room for in the format.
    fn write(&mut self, points: &Points) -> Result<u64>;

    /// Writes what is still missing.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Some points: an array of each column.
#[derive(Clone, Debug)]
pub(super) struct Points {
    pub(super) arrays: Vec<ArrayRef>,
    /// How many they are.
    pub(super) count: usize,
}

impl Points {
    /// Those from `start` on, `count` of them.
    pub(super) fn slice(&self, start: usize, count: usize) -> Self {
        let arrays = self.arrays.iter().map(|array| array.slice(start, count));
        Self { arrays: arrays.collect(), count }
    }

    /// The same with no columns but those at `kept`.
    pub(super) fn only(&self, kept: &[usize]) -> Self {
        let arrays = kept.iter().filter_map(|at| self.arrays.get(*at)).cloned();
        Self { arrays: arrays.collect(), count: self.count }
    }
}

/// Finishes the file that `out` is.
pub(super) fn close(out: Out) -> Result<()> {
    out.into_inner().map_err(|err| err.into_error())?.finish()
}
