//! Messages that are made of the rows of a table: of few records, or of what is no payload
//! of a known shape.

use std::fmt;

use arrow_array::RecordBatch;

use crate::{
    error::Result,
    log::Decoder,
    log_wrappers::translated_log::{MessageBuffer, Translate},
    record::block::Run,
};

/// Writes the message that a row becomes; says whether it becomes one.
type Write = Box<dyn FnMut(&RecordBatch, usize, &mut Vec<u8>) -> bool + Send>;

/// Makes a message of each row that a decoder gives.
pub struct RowTranslator {
    decoder: Box<dyn Decoder>,
    write: Write,
}

impl RowTranslator {
    /// Messages of the rows of `decoder`: `write` adds to a buffer what a row of a table,
    /// given by its index, becomes, and says whether it becomes anything.
    pub fn new(
        decoder: Box<dyn Decoder>,
        write: impl FnMut(&RecordBatch, usize, &mut Vec<u8>) -> bool + Send + 'static,
    ) -> Self {
        Self { decoder, write: Box::new(write) }
    }
}

impl Translate for RowTranslator {
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()> {
        // One by one, as a record may have no row, or several.
        for (record, run) in run.singles().enumerate() {
            let mut damage = Vec::new();
            self.decoder.append(run, &mut damage);
            damage.into_iter().for_each(|damage| messages.lose(damage));
            let batch = self.decoder.take()?;
            for row in 0..batch.num_rows() {
                let buffer = messages.buffer();
                let before = buffer.len();
                match (self.write)(&batch, row, buffer) {
                    true => messages.end(record),
                    false => buffer.truncate(before),
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
