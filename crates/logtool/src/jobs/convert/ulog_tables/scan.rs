//! Decodes the records of a log, block by block.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use logtool_core::{
    Block, Columns, Cursor, Damage, Decoder, Log, ReadAhead, Selection, TimeOrder,
    TopicId,
};

use crate::error::Result;

/// The approximate number of bytes that are read at a time.
const PART_BYTES: u64 = 1 << 20;

/// A reader of the tables of a log.
pub(super) struct Scan<'l> {
    log: &'l dyn Log,
    cursor: Box<dyn Cursor + 'l>,
    columns: Columns,
    decoders: BTreeMap<TopicId, Box<dyn Decoder>>,
    block: Block,
}

/// The rows of a block.
pub(super) struct ScannedRows {
    /// The rows, each batch of one topic.
    pub(super) batches: Vec<(TopicId, RecordBatch)>,
    pub(super) damage: Vec<Damage>,
    /// The number of bytes of the records.
    pub(super) bytes: u64,
}

impl<'l> Scan<'l> {
    /// Reads the records of `selection` sorted by time.
    pub(super) fn in_time_order(
        log: &'l Arc<dyn Log>,
        selection: Selection,
    ) -> Result<Self> {
        let columns = Columns { time: selection.time, ..Columns::default() };
        let cursor = Box::new(TimeOrder::new(&**log, selection));
        Ok(Self::new(&**log, cursor, columns))
    }

    /// Reads the records of `selection` in the order of the file.
    pub(super) fn in_file_order(
        log: &'l Arc<dyn Log>,
        selection: Selection,
    ) -> Result<Self> {
        let columns = Columns { time: selection.time, ..Columns::default() };
        let plan = log.manifest().plan(&selection, PART_BYTES);
        let cursor = Box::new(ReadAhead::new(&**log, plan, selection));
        Ok(Self::new(&**log, cursor, columns))
    }

    fn new(log: &'l dyn Log, cursor: Box<dyn Cursor + 'l>, columns: Columns) -> Self {
        let (decoders, block) = (BTreeMap::new(), Block::default());
        Self { log, cursor, columns, decoders, block }
    }

    /// Returns the rows of the next block, or `None` at the end.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<ScannedRows>> {
        if !self.cursor.fill(&mut self.block)? {
            return Ok(None);
        }
        let mut damage = self.block.damage().to_vec();
        let (mut batches, mut bytes) = (Vec::new(), 0);
        for run in self.block.runs() {
            let topic = run.topic();
            if !self.decoders.contains_key(&topic) {
                let decoder = self.log.decoder(topic, &self.columns)?;
                self.decoders.insert(topic, decoder);
            }
            let Some(decoder) = self.decoders.get_mut(&topic) else { continue };
            bytes +=
                run.records().map(|record| record.payload.len() as u64).sum::<u64>();
            decoder.append(run, &mut damage);
            batches.push((topic, decoder.take()?));
        }
        Ok(Some(ScannedRows { batches, damage, bytes }))
    }
}
