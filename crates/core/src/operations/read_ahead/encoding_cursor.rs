//! Encoding records in the threads that read them.

use std::sync::Arc;

use crate::{
    error::Result,
    log::Cursor,
    record::block::{Block, Record},
    sink::Encoder,
};

/// An encoder of the records of the slice with this index.
pub(super) struct Encoding(pub(super) Arc<dyn Encoder>, pub(super) usize);

/// A cursor that encodes records while they are in the caches of the processor that read
/// them.
struct EncodingCursor {
    cursor: Box<dyn Cursor>,
    encoder: Arc<dyn Encoder>,
    slice_index: usize,
}

impl Encoding {
    /// Returns a cursor that encodes the records of `cursor`.
    pub(super) fn encode_cursor(&self, cursor: Box<dyn Cursor>) -> Box<dyn Cursor> {
        let Self(encoder, slice_index) = self;
        Box::new(EncodingCursor {
            cursor,
            encoder: encoder.clone(),
            slice_index: *slice_index,
        })
    }
}

impl Cursor for EncodingCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        if !self.cursor.fill(block)? {
            return Ok(false);
        }
        let encode = |record: Record<'_>, bytes: &mut Vec<u8>| {
            self.encoder.encode(self.slice_index, record, bytes)
        };
        block.encode(encode)?;
        Ok(true)
    }
}
