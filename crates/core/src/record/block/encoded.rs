//! Blocks of records in the form that another log has them in.

use bytes::Bytes;

use crate::{
    error::Result,
    record::block::{Block, Record},
};

impl Block {
    /// Puts what `encode` makes of each record in the place of their payloads, which are let go.
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

    /// What the records were [encoded](Self::encode) to.
    pub(crate) fn encoded(&mut self) -> &mut Vec<u8> {
        &mut self.encoded
    }
}
