//! What becomes of infinities, which JSON has no number for.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::digits::{Place, put_text};

/// How infinities are written: as `null`, which every reader takes, and counted; or as
/// `1e999` and `-1e999`, which some readers take for infinite and others refuse.
///
/// Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Infinities {
    are_large_numbers: bool,
    nulls: Arc<AtomicU64>,
}

impl Infinities {
    /// Writes them as `1e999` and `-1e999`.
    pub fn as_large_numbers() -> Self {
        Self { are_large_numbers: true, ..Self::default() }
    }

    /// Returns how many have been written as `null` since the last call.
    pub fn take_nulls(&self) -> u64 {
        // Nearly always there are none: to look is cheaper than to change.
        match self.nulls.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.nulls.swap(0, Ordering::Relaxed),
        }
    }

    /// Returns a sentence about `nulls` infinities that are `null`, for people.
    pub fn remark(nulls: u64) -> Option<String> {
        let (number, verb) =
            if nulls == 1 { ("infinity", "is") } else { ("infinities", "are") };
        (nulls > 0).then(|| {
            format!("{nulls} {number} {verb} null; --keep-infinities writes 1e999")
        })
    }

    /// Writes an infinity to the beginning of `place`, and returns its length.
    pub(crate) fn put(&self, is_negative: bool, place: &mut Place) -> usize {
        match (self.are_large_numbers, is_negative) {
            (true, false) => put_text(b"1e999", place),
            (true, true) => put_text(b"-1e999", place),
            (false, _) => {
                self.nulls.fetch_add(1, Ordering::Relaxed);
                put_text(b"null", place)
            }
        }
    }
}
