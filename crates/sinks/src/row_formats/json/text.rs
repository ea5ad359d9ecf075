//! JSON text that is written in chunks while it grows.

use std::ops::{Deref, DerefMut};

use logtool_core::{Error, Result};

/// Text is flushed when it has at least this length.
pub(crate) const FLUSH_BYTES: usize = 64 << 10;

/// A function that writes the text that was appended so far, and clears it.
type FlushText<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> Result<()>;

/// A buffer of JSON text.
///
/// The text of a long value must not be in memory in addition to the value. So the
/// text may be flushed within a value, between the elements of a list or within a string.
pub(crate) struct JsonText<'a> {
    bytes: &'a mut Vec<u8>,
    /// The length from which the text is flushed.
    flush_len: usize,
    receiver: Option<TextReceiver<'a>>,
}

/// The receiver of the text that is flushed.
struct TextReceiver<'a> {
    flush: FlushText<'a>,
    failure: Option<Error>,
}

impl<'a> JsonText<'a> {
    /// Creates a text that stays in `bytes`, after the bytes that are already there.
    pub(crate) fn in_buffer(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes, flush_len: usize::MAX, receiver: None }
    }

    /// Creates a text that calls `flush` whenever `bytes` is long.
    pub(crate) fn with_flush(bytes: &'a mut Vec<u8>, flush: FlushText<'a>) -> Self {
        let receiver = Some(TextReceiver { flush, failure: None });
        Self { bytes, flush_len: FLUSH_BYTES, receiver }
    }

    /// Flushes the text if it is long. After the first failure, all text is dropped.
    #[inline]
    pub(crate) fn flush_if_long(&mut self) {
        if self.bytes.len() >= self.flush_len {
            self.flush();
        }
    }

    #[cold]
    fn flush(&mut self) {
        let Some(TextReceiver { flush, failure }) = &mut self.receiver else {
            return;
        };
        if failure.is_none() {
            *failure = flush(self.bytes).err();
        }
        if failure.is_some() {
            self.bytes.clear();
        }
    }

    /// Fails with the first error of `flush`. The text after the last flush stays in the buffer.
    pub(crate) fn finish(self) -> Result<()> {
        match self.receiver.and_then(|receiver| receiver.failure) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

impl Deref for JsonText<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        self.bytes
    }
}

impl DerefMut for JsonText<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        self.bytes
    }
}
