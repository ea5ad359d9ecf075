//! How infinities are written in JSON, which has no number for them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::text::number_format::{NumberBuffer, write_text};

/// How infinities are written: as `null`, which every reader accepts, and counted; or as
/// `1e999` and `-1e999`, which some readers parse as infinity and others reject.
///
/// Clones share one counter.
#[derive(Clone, Debug, Default)]
pub struct Infinities {
    are_large_numbers: bool,
    nulls: Arc<AtomicU64>,
}

impl Infinities {
    /// Creates a value that writes them as `1e999` and `-1e999`.
    pub fn as_large_numbers() -> Self {
        Self { are_large_numbers: true, ..Self::default() }
    }

    /// Returns how many were written as `null` since the last call, and resets the counter.
    pub fn take_nulls(&self) -> u64 {
        // Usually the counter is 0, and loading is cheaper than swapping.
        match self.nulls.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.nulls.swap(0, Ordering::Relaxed),
        }
    }

    /// Returns a note for users about `nulls` infinities that were written as `null`, or `None`
    /// if `nulls` is 0.
    pub fn remark(nulls: u64) -> Option<String> {
        let (number, verb) =
            if nulls == 1 { ("infinity", "is") } else { ("infinities", "are") };
        (nulls > 0).then(|| format!("{nulls} {number} {verb} null"))
    }

    /// Writes an infinity to the start of `buffer`, and returns its length.
    pub(crate) fn write_to(
        &self,
        is_negative: bool,
        buffer: &mut NumberBuffer,
    ) -> usize {
        match (self.are_large_numbers, is_negative) {
            (true, false) => write_text(b"1e999", buffer),
            (true, true) => write_text(b"-1e999", buffer),
            (false, _) => {
                self.nulls.fetch_add(1, Ordering::Relaxed);
                write_text(b"null", buffer)
            }
        }
    }
}
