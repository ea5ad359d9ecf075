//! A pool of blocks for reuse, and the compaction of sparse blocks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{
    error::Result,
    log::Cursor,
    model::damage::Damage,
    record::block::{Block, RecordCopies},
};

/// The approximate maximum size of a block of copies in bytes, and its maximum number of
/// records.
pub(super) const MAX_COPY_BYTES: usize = 256 << 10;
const MAX_COPY_RECORDS: usize = 1 << 12;
/// Blocks with at most this many records are always copied, because each block costs its
/// receiver more than a copy of the records.
const FEW_RECORDS: usize = 32;
/// Blocks of at most this many bytes are copied too, if the receiver is another thread
/// that would be notified for each block.
pub(super) const SHORT_BYTES: usize = 64 << 10;

/// Unused blocks.
pub(super) struct BlockPool {
    blocks: Mutex<Vec<Block>>,
    max_blocks: usize,
    /// Whether the records of sparse blocks are copied together, and the size in bytes up
    /// to which a block counts as short.
    pub(super) compacts_below: Option<usize>,
}

impl BlockPool {
    /// Creates a pool of at most `max_blocks` blocks.
    pub(super) fn new(max_blocks: usize) -> Self {
        Self { blocks: Mutex::default(), max_blocks, compacts_below: None }
    }

    /// Returns an unused block.
    fn take(&self) -> Block {
        self.lock().pop().unwrap_or_default()
    }

    /// Adds an unused `block`.
    pub(super) fn put_back(&self, block: Block) {
        let mut blocks = self.lock();
        if blocks.len() < self.max_blocks && !block.is_long_copy() {
            blocks.push(block);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads blocks until there is something to return, and appends them to `blocks`.
    /// Returns whether there may be more.
    ///
    /// With compaction, it continues while the blocks are short or sparse, and copies
    /// their records into one block. So the memory of the other blocks is reused, and the
    /// receiver is not notified for each of them.
    pub(super) fn fill_some(
        &self,
        cursor: &mut dyn Cursor,
        blocks: &mut Vec<Block>,
    ) -> Result<bool> {
        let mut block = self.take();
        let mut collected: Option<(RecordCopies, Vec<Damage>)> = None;
        // The last result of the cursor, and whether its block is returned as it is.
        let (filled, is_block_returned) = loop {
            let filled = cursor.fill(&mut block);
            if !matches!(filled, Ok(true)) {
                break (filled, false);
            }
            if block.is_empty() && block.damage().is_empty() {
                continue;
            }
            let needs_compaction = |short_bytes| {
                let is_short =
                    block.len() <= FEW_RECORDS || block.bytes().len() <= short_bytes;
                is_short || block.is_sparse()
            };
            if !self.compacts_below.is_some_and(needs_compaction) {
                break (filled, true);
            }
            let (copies, damage) = collected.get_or_insert_with(|| {
                (RecordCopies::new(&mut self.take()), Vec::new())
            });
            if !copies.add_all(&block) {
                break (filled, true);
            }
            damage.append(&mut block.take_damage());
            if copies.byte_len() >= MAX_COPY_BYTES
                || copies.record_count() >= MAX_COPY_RECORDS
            {
                break (filled, false);
            }
        };
        if let Some((copies, damage)) = collected {
            let mut copied_block = Block::default();
            copies.finish(&mut copied_block);
            damage.into_iter().for_each(|damage| copied_block.report(damage));
            blocks.push(copied_block);
        }
        if is_block_returned {
            blocks.push(block)
        } else {
            self.put_back(block)
        }
        filled
    }
}
