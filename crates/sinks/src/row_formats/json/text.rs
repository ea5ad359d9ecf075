//! JSON text that is passed on in pieces while it grows.

use std::ops::{Deref, DerefMut};

use logtool_core::{Error, Result};

/// Text is passed on when it has this length.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Accepts the text so far and clears it.
type PassOn<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> Result<()>;

/// A buffer of JSON text. One value can be far longer than memory should hold twice, so the
/// text may leave the buffer within a value, between the elements of a list or string.
pub(crate) struct JsonText<'a> {
    bytes: &'a mut Vec<u8>,
    /// The length from which the text is passed on.
    limit: usize,
    receiver: Option<Receiver<'a>>,
}

/// The receiver of long text.
struct Receiver<'a> {
    pass_on: PassOn<'a>,
    failure: Option<Error>,
}

impl<'a> JsonText<'a> {
    /// Creates a text that stays in `bytes`, after the bytes that are already there.
    pub(crate) fn whole(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes, limit: usize::MAX, receiver: None }
    }

    /// Creates a text that calls `pass_on` whenever `bytes` is long.
    pub(crate) fn in_pieces(bytes: &'a mut Vec<u8>, pass_on: PassOn<'a>) -> Self {
        let receiver = Some(Receiver { pass_on, failure: None });
        Self { bytes, limit: PIECE_BYTES, receiver }
    }

    /// Passes the text on if it is long. After a failure, the rest of the text is dropped.
    #[inline]
    pub(crate) fn pass_on_if_long(&mut self) {
        if self.bytes.len() >= self.limit {
            self.pass_on();
        }
    }

    #[cold]
    fn pass_on(&mut self) {
        let Some(Receiver { pass_on, failure }) = &mut self.receiver else { return };
        if failure.is_none() {
            *failure = pass_on(self.bytes).err();
        }
        if failure.is_some() {
            self.bytes.clear();
        }
    }

    /// Returns the first error of `pass_on`. The rest of the text stays in the buffer.
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
