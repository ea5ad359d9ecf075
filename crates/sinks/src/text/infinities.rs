//! How infinities are written in JSON, which has no number for them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::text::number_format::{NumberBuffer, write_text};

/// How infinities are written.
///
/// By default they are `null`, which every reader accepts, and are counted. They can also be
/// `1e999` and `-1e999`, which some readers parse as infinity and others reject.
///
/// Clones share one counter.
#[derive(Clone, Debug, Default)]
pub struct Infinities {
    are_large_numbers: bool,
    null_count: Arc<AtomicU64>,
}

impl Infinities {
    /// Returns the setting that infinities are written as `1e999` and `-1e999`.
    pub fn as_large_numbers() -> Self {
        Self { are_large_numbers: true, ..Self::default() }
    }

    /// Returns how many infinities were written as `null` since the last call, and resets the
    /// counter.
    pub fn take_null_count(&self) -> u64 {
        // Usually the counter is 0, and loading is cheaper than swapping.
        match self.null_count.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.null_count.swap(0, Ordering::Relaxed),
        }
    }

    /// Returns a note for users about `null_count` infinities that were written as `null`, or
    /// `None` if `null_count` is 0.
    pub fn remark(null_count: u64) -> Option<String> {
        match null_count {
            0 => None,
            1 => Some("1 infinity is null".to_owned()),
            _ => Some(format!("{null_count} infinities are null")),
        }
    }

    /// Writes an infinity to the start of `buffer`, and returns the length of its text.
    pub(crate) fn write_to(
        &self,
        is_negative: bool,
        buffer: &mut NumberBuffer,
    ) -> usize {
        match (self.are_large_numbers, is_negative) {
            (true, false) => write_text(b"1e999", buffer),
            (true, true) => write_text(b"-1e999", buffer),
            (false, _) => {
                self.null_count.fetch_add(1, Ordering::Relaxed);
                write_text(b"null", buffer)
            }
        }
    }
}
