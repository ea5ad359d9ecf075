//! Blocks whose records are encoded for another log.

use bytes::Bytes;

use crate::{
    error::Result,
    record::block::{Block, Record},
};

impl Block {
    /// Encodes each record with `encode`, and drops the payloads.
    ///
    /// # Errors
    /// Those of `encode`.
    pub(crate) fn encode(
        &mut self,
        mut encode: impl FnMut(Record<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        self.iter().try_for_each(|record| encode(record, &mut encoded))?;
        self.encoded = encoded;
        self.bytes = Bytes::new();
        for entry in &mut self.entries {
            (entry.start, entry.end) = (0, 0);
        }
        Ok(())
    }

    /// Returns the [encoded](Self::encode) records.
    pub(crate) fn encoded_records(&mut self) -> &mut Vec<u8> {
        &mut self.encoded
    }
}
