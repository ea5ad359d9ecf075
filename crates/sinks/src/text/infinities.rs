//! How infinities are written in JSON, which has no number for them, and in text like JSON.

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
    form: InfinityForm,
    null_count: Arc<AtomicU64>,
}

/// The form of infinities.
#[derive(Clone, Copy, Debug, Default)]
enum InfinityForm {
    /// `null`
    #[default]
    Null,
    /// `1e999`
    LargeNumber,
    /// `inf`
    Word,
}

impl Infinities {
    /// Returns the setting that infinities are written as `1e999` and `-1e999`.
    pub fn as_large_numbers() -> Self {
        Self { form: InfinityForm::LargeNumber, ..Self::default() }
    }

    /// Returns the setting that infinities are written as `inf` and `-inf`, in text for users.
    pub(crate) fn as_words() -> Self {
        Self { form: InfinityForm::Word, ..Self::default() }
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
        match (self.form, is_negative) {
            (InfinityForm::LargeNumber, false) => write_text(b"1e999", buffer),
            (InfinityForm::LargeNumber, true) => write_text(b"-1e999", buffer),
            (InfinityForm::Word, false) => write_text(b"inf", buffer),
            (InfinityForm::Word, true) => write_text(b"-inf", buffer),
            (InfinityForm::Null, _) => {
                self.null_count.fetch_add(1, Ordering::Relaxed);
                write_text(b"null", buffer)
            }
        }
    }
}
