//! Translating the rows of a decoder into messages, for topics with few records or
//! without a known layout.

use std::fmt;

use arrow_array::RecordBatch;

use crate::{
    error::Result,
    log::Decoder,
    log_wrappers::translated_log::{MessageBuffer, Translate},
    record::block::Run,
};

/// Writes the message of a row, and returns whether the row has one.
type WriteMessage = Box<dyn FnMut(&RecordBatch, usize, &mut Vec<u8>) -> bool + Send>;

/// A translator that creates a message from each row of a decoder.
pub struct RowTranslator {
    decoder: Box<dyn Decoder>,
    write: WriteMessage,
}

impl RowTranslator {
    /// Creates a translator of the rows of `decoder`. `write` appends the message of the
    /// row with the given index to a buffer, and returns whether the row has a message.
    pub fn new(
        decoder: Box<dyn Decoder>,
        write: impl FnMut(&RecordBatch, usize, &mut Vec<u8>) -> bool + Send + 'static,
    ) -> Self {
        Self { decoder, write: Box::new(write) }
    }
}

impl Translate for RowTranslator {
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()> {
        // One by one, because a record can have no row, or several.
        for (record_index, run) in run.single_record_runs().enumerate() {
            let mut damage = Vec::new();
            self.decoder.append(run, &mut damage);
            damage.into_iter().for_each(|damage| messages.discard(damage));
            let batch = self.decoder.take()?;
            for row in 0..batch.num_rows() {
                let buffer = messages.buffer();
                let message_start = buffer.len();
                if (self.write)(&batch, row, buffer) {
                    messages.end_message(record_index)
                } else {
                    buffer.truncate(message_start)
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RowTranslator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowTranslator").finish_non_exhaustive()
    }
}
