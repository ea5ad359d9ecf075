//! Records of several logs in the order of time, some at a time: one thread finds the next ones
//! while another writes these.

use std::{mem, ops::Range, sync::Arc};

use crate::{
    error::{Error, Result},
    model::damage::Damage,
    operations::merge::Merge,
    record::block::{Block, Record},
    sink::Encoder,
};

/// So many records are in a batch at most.
const RECORDS: usize = 1 << 14;
/// They are of so many blocks at most, or of blocks of so many bytes.
const BLOCKS: usize = 64;
pub(super) const BYTES: usize = 4 << 20;
/// Where they are encoded, they are about so many bytes of those, which stay in the caches.
pub(super) const ENCODED_BYTES: usize = 512 << 10;

/// Some records in their order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The blocks that they are of, and how much memory these take.
    blocks: Vec<Arc<Block>>,
    cost: usize,
    /// About how much of that their own share is.
    share: usize,
    pieces: Vec<Piece>,
    records: usize,
    /// What they were encoded to, if something encodes them.
    encoded: Vec<u8>,
    /// The parts that end with them, or ended before.
    closed: Vec<(usize, Range<u64>)>,
    /// What was found damaged on the way, with the index of the log.
    damage: Vec<(usize, Damage)>,
    /// What ends the reading behind them.
    failed: Option<Error>,
}

/// Records that follow each other in a block.
#[derive(Debug)]
struct Piece {
    /// The index of the log.
    log: u32,
    block: u32,
    first: u32,
    count: u32,
}

impl Batch {
    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.records
    }

    /// The records, each with the index of its log.
    pub(crate) fn records(&self) -> impl Iterator<Item = (usize, Record<'_>)> {
        self.pieces.iter().flat_map(|piece| {
            let block = &self.blocks[piece.block as usize];
            let places = piece.first as usize..(piece.first + piece.count) as usize;
            let records = places.filter_map(|place| block.get(place));
            records.map(|record| (piece.log as usize, record))
        })
    }

    /// How many records there are of the log with each index, piece by piece.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.pieces.iter().map(|piece| (piece.log as usize, u64::from(piece.count)))
    }

    /// Encodes the records; what cannot be ends the reading before them.
    pub(crate) fn encode(&mut self, encoder: &dyn Encoder) {
        let mut encoded = mem::take(&mut self.encoded);
        encoded.clear();
        let failed = self
            .records()
            .try_for_each(|(from, record)| encoder.encode(from, record, &mut encoded));
        self.encoded = encoded;
        if let Err(err) = failed {
            self.failed = Some(err);
        }
    }

    /// What the records were encoded to.
    pub(crate) fn encoded(&mut self) -> &mut Vec<u8> {
        &mut self.encoded
    }

    /// Whether there is nothing behind these records, or nothing that can be read.
    pub(crate) fn is_last(&self) -> bool {
        self.records == 0 || self.failed.is_some()
    }

    /// What was found damaged on the way, with the index of the log.
    pub(crate) fn take_damage(&mut self) -> Vec<(usize, Damage)> {
        mem::take(&mut self.damage)
    }

    /// What ended the reading behind these records, if something did.
    pub(crate) fn failed(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn is_full(&self, bytes: usize) -> bool {
        self.records >= RECORDS
            || self.blocks.len() >= BLOCKS
            || self.cost >= BYTES
            || self.share >= bytes
    }

    /// The number of `block`, which is one of the last, or new.
    fn number(&mut self, block: &Arc<Block>) -> u32 {
        let known = self.blocks.iter().rposition(|known| Arc::ptr_eq(known, block));
        let number = known.unwrap_or_else(|| {
            self.cost += block.cost();
            self.blocks.push(block.clone());
            self.blocks.len() - 1
        });
        number as u32
    }
}

impl Merge<'_> {
    /// Refills `batch`, of which nobody needs the records any more, with the next ones, some
    /// `bytes` of them: none where all logs are at their end, or cannot be read on.
    pub(crate) fn fill(&mut self, batch: &mut Batch, bytes: usize) {
        self.closed.append(&mut batch.closed);
        self.release();
        let Batch { blocks, pieces, encoded, .. } = mem::take(batch);
        (batch.blocks, batch.pieces, batch.encoded) = (blocks, pieces, encoded);
        batch.blocks.drain(..).for_each(|block| self.give_back(block));
        batch.pieces.clear();
        while !batch.is_full(bytes) {
            match self.settle() {
                Ok(Some(lane)) => self.add(lane, batch),
                Ok(None) => break,
                Err(err) => {
                    batch.failed = Some(err);
                    break;
                }
            }
        }
        batch.closed = mem::take(&mut self.closed);
        batch.damage = self.take_damage();
    }

    /// Adds the next records of the current `lane` that lie in one block.
    fn add(&mut self, lane: usize, batch: &mut Batch) {
        let limit = self.current.and_then(|(_, limit)| limit);
        let Some(lane) = &self.lanes[lane] else { return };
        let count = lane.run(limit).min(RECORDS);
        let log = self.parts[lane.rank as usize].0 as u32;
        if let Some((block, pieces)) = lane.pieces(count) {
            batch.share += block.cost() / block.len().max(1) * count;
            let block = batch.number(block);
            let piece = |place: Range<usize>| Piece {
                log,
                block,
                first: place.start as u32,
                count: place.len() as u32,
            };
            batch.pieces.extend(pieces.map(piece));
        }
        batch.records += count;
        self.pass(count);
    }
}
