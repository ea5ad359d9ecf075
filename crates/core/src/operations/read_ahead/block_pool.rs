//! Blocks that are filled again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{
    error::Result,
    log::Cursor,
    model::damage::Damage,
    record::block::{Block, Gather},
};

/// Blocks of copies are about so long at most, or have so many records.
pub(super) const GATHERED: usize = 256 << 10;
const GATHERED_RECORDS: usize = 1 << 12;
/// Blocks of no more records are copied, however much of them is records: whoever takes blocks
/// has more to do for each than for a copy.
const FEW: usize = 32;
/// And those that are no longer, where others wait for them, and would be woken for each.
pub(super) const SHORT: usize = 64 << 10;

/// Blocks that nobody uses, to be filled again.
pub(super) struct Spare {
    blocks: Mutex<Vec<Block>>,
    most: usize,
    /// Whether records of blocks in which there is little are copied together; and how long those
    /// are that are short.
    pub(super) gathers: Option<usize>,
}

impl Spare {
    /// Keeps no more than `most` blocks.
    pub(super) fn new(most: usize) -> Self {
        Self { blocks: Mutex::default(), most, gathers: None }
    }

    /// A block that nobody uses.
    fn take(&self) -> Block {
        self.lock().pop().unwrap_or_default()
    }

    /// Takes a `block` that nobody uses any more.
    pub(super) fn give(&self, block: Block) {
        let mut blocks = self.lock();
        if blocks.len() < self.most && !block.is_long_and_made() {
            blocks.push(block);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what comes next to `blocks`, until that is something, and says whether more may
    /// come.
    ///
    /// If it gathers, it goes on while what comes is short, or there is little in it, and copies the records
    /// into one block: so the memory of the others is read into again, and who waits is not
    /// woken for each.
    pub(super) fn fill_some(
        &self,
        cursor: &mut dyn Cursor,
        blocks: &mut Vec<Block>,
    ) -> Result<bool> {
        let (mut block, mut gathered) = (self.take(), None::<(Gather, Vec<Damage>)>);
        let (filled, is_kept) = loop {
            let filled = cursor.fill(&mut block);
            if !matches!(filled, Ok(true)) {
                break (filled, false);
            }
            if block.is_empty() && block.damage().is_empty() {
                continue;
            }
            let is_little = |short| {
                let is_short = block.len() <= FEW || block.bytes().len() <= short;
                is_short || block.is_sparse()
            };
            if !self.gathers.is_some_and(is_little) {
                break (filled, true);
            }
            let (gather, damage) = gathered
                .get_or_insert_with(|| (Gather::new(&mut self.take()), Vec::new()));
            gather.add_all(&block);
            damage.append(&mut block.take_damage());
            if gather.len() >= GATHERED || gather.count() >= GATHERED_RECORDS {
                break (filled, false);
            }
        };
        if let Some((gather, damage)) = gathered {
            let mut copies = Block::default();
            gather.finish(&mut copies);
            damage.into_iter().for_each(|damage| copies.report(damage));
            blocks.push(copies);
        }
        match is_kept {
            true => blocks.push(block),
            false => self.give(block),
        }
        filled
    }
}
