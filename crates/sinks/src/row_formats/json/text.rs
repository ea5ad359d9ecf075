//! JSON text that is passed on in pieces while it grows.

use std::ops::{Deref, DerefMut};

use logtool_core::{Error, Result};

/// Text is passed on when it has this length.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Accepts the text so far and clears it.
type FlushText<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> Result<()>;

/// A buffer of JSON text. One value can be far longer than memory should hold twice, so the
/// text may leave the buffer within a value, between the elements of a list or string.
pub(crate) struct JsonText<'a> {
    bytes: &'a mut Vec<u8>,
    /// The length from which the text is passed on.
    limit: usize,
    receiver: Option<TextReceiver<'a>>,
}

/// The receiver of long text.
struct TextReceiver<'a> {
    flush: FlushText<'a>,
    failure: Option<Error>,
}

impl<'a> JsonText<'a> {
    /// Creates a text that stays in `bytes`, after the bytes that are already there.
    pub(crate) fn in_buffer(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes, limit: usize::MAX, receiver: None }
    }

    /// Creates a text that calls `flush` whenever `bytes` is long.
    pub(crate) fn with_flush(bytes: &'a mut Vec<u8>, flush: FlushText<'a>) -> Self {
        let receiver = Some(TextReceiver { flush, failure: None });
        Self { bytes, limit: PIECE_BYTES, receiver }
    }

    /// Passes the text on if it is long. After a failure, the rest of the text is dropped.
    #[inline]
    pub(crate) fn flush_if_long(&mut self) {
        if self.bytes.len() >= self.limit {
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

    /// Returns the first error of `flush`. The rest of the text stays in the buffer.
    pub(crate) fn finish(self) -> Result<()> {
        self.receiver.and_then(|receiver| receiver.failure).map_or(Ok(()), Err)
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
