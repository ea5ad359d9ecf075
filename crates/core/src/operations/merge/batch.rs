//! Batches of merged records: one thread finds the next batch while another writes the
//! last one.

use std::{mem, ops::Range, sync::Arc};

use crate::{
    error::{Error, Result},
    model::damage::Damage,
    operations::merge::Merge,
    record::block::{Block, Record},
    sink::Encoder,
};

/// The maximum number of records in a batch.
const MAX_RECORDS: usize = 1 << 14;
/// The maximum number of blocks in a batch, and the maximum memory of its blocks in
/// bytes.
const MAX_BLOCKS: usize = 64;
pub(super) const MAX_BYTES: usize = 4 << 20;
/// The approximate size of a batch to encode in bytes. It fits in the caches of a
/// processor.
pub(super) const ENCODED_BYTES: usize = 512 << 10;

/// A sequence of merged records.
#[derive(Debug, Default)]
pub(crate) struct MergedBatch {
    /// The blocks of the records, and their memory in bytes.
    blocks: Vec<Arc<Block>>,
    block_bytes: usize,
    /// The approximate memory of the records of the batch in bytes.
    record_bytes: usize,
    slices: Vec<BlockSlice>,
    records: usize,
    /// The encoded records, if there is an encoder.
    encoded: Vec<u8>,
    /// The parts that end with these records or earlier.
    closed: Vec<(usize, Range<u64>)>,
    /// The damage found up to these records, with the index of the log.
    damage: Vec<(usize, Damage)>,
    /// The error that ends the merge after these records.
    error: Option<Error>,
}

/// Consecutive records of a block.
#[derive(Debug)]
struct BlockSlice {
    /// The index of the log.
    log: u32,
    block: u32,
    first: u32,
    count: u32,
}

impl MergedBatch {
    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.records
    }

    /// Iterates over the records and the indices of their logs.
    pub(crate) fn records(&self) -> impl Iterator<Item = (usize, Record<'_>)> {
        self.slices.iter().flat_map(|slice| {
            let block = &self.blocks[slice.block as usize];
            let indices = slice.first as usize..(slice.first + slice.count) as usize;
            let records = indices.filter_map(|index| block.get(index));
            records.map(|record| (slice.log as usize, record))
        })
    }

    /// Iterates over the number of records in each slice of a block, with the index of its log.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.slices.iter().map(|slice| (slice.log as usize, u64::from(slice.count)))
    }

    /// Encodes the records. An error ends the merge before them.
    pub(crate) fn encode(&mut self, encoder: &dyn Encoder) {
        let mut encoded = mem::take(&mut self.encoded);
        encoded.clear();
        let result = self.records().try_for_each(|(slice_index, record)| {
            encoder.encode(slice_index, record, &mut encoded)
        });
        self.encoded = encoded;
        if let Err(err) = result {
            self.error = Some(err);
        }
    }

    /// Returns the encoded records.
    pub(crate) fn encoded_records(&mut self) -> &mut Vec<u8> {
        &mut self.encoded
    }

    /// Returns whether these are the last records, because of the end of all logs or an
    /// error.
    pub(crate) fn is_last(&self) -> bool {
        self.records == 0 || self.error.is_some()
    }

    /// Returns the damage found up to these records, with the index of the log.
    pub(crate) fn take_damage(&mut self) -> Vec<(usize, Damage)> {
        mem::take(&mut self.damage)
    }

    /// Returns the error that ended the merge after these records.
    pub(crate) fn take_error(&mut self) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn is_full(&self, bytes: usize) -> bool {
        self.records >= MAX_RECORDS
            || self.blocks.len() >= MAX_BLOCKS
            || self.block_bytes >= MAX_BYTES
            || self.record_bytes >= bytes
    }

    /// Returns the index of `block` in the batch, and adds it if it is new.
    fn block_index(&mut self, block: &Arc<Block>) -> u32 {
        let known_index =
            self.blocks.iter().rposition(|known_block| Arc::ptr_eq(known_block, block));
        let index = known_index.unwrap_or_else(|| {
            self.block_bytes += block.memory_bytes();
            self.blocks.push(block.clone());
            self.blocks.len() - 1
        });
        index as u32
    }
}

impl Merge<'_> {
    /// Refills `batch` with the next records, about `bytes` bytes of them. It stays empty
    /// at the end of all logs, or if nothing more can be read.
    pub(crate) fn fill(&mut self, batch: &mut MergedBatch, bytes: usize) {
        self.closed.append(&mut batch.closed);
        self.release();
        // The buffers are reused.
        let MergedBatch { blocks, slices, encoded, .. } = mem::take(batch);
        (batch.blocks, batch.slices, batch.encoded) = (blocks, slices, encoded);
        batch.blocks.drain(..).for_each(|block| self.recycle_shared(block));
        batch.slices.clear();
        while !batch.is_full(bytes) {
            match self.find_next() {
                Ok(Some(index)) => self.add_records(index, batch),
                Ok(None) => break,
                Err(err) => {
                    batch.error = Some(err);
                    break;
                }
            }
        }
        batch.closed = mem::take(&mut self.closed);
        batch.damage = self.take_damage();
    }

    /// Adds the next records of the current part that are in one block.
    fn add_records(&mut self, open_part_index: usize, batch: &mut MergedBatch) {
        let limit = self.current.and_then(|(_, limit)| limit);
        let Some(open_part) = &self.open_parts[open_part_index] else { return };
        let count = open_part.run_len(limit).min(MAX_RECORDS);
        let log = self.parts[open_part.rank as usize].0 as u32;
        if let Some((block, ranges)) = open_part.block_ranges(count) {
            batch.record_bytes += block.memory_bytes() / block.len().max(1) * count;
            let block = batch.block_index(block);
            let slice = |range: Range<usize>| BlockSlice {
                log,
                block,
                first: range.start as u32,
                count: range.len() as u32,
            };
            batch.slices.extend(ranges.map(slice));
        }
        batch.records += count;
        self.skip_records(count);
    }
}
