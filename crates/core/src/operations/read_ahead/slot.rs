//! A part that one thread reads for another.

use std::{
    collections::VecDeque,
    mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::{Error, Result},
    log::Cursor,
    operations::read_ahead::block_pool::BlockPool,
    record::block::Block,
};

/// The number of bytes of a part that are read ahead. The block that exceeds it is still
/// kept.
const MAX_BUFFERED_BYTES: usize = 8 << 20;

/// A part that one thread reads for another.
pub(super) struct Slot {
    state: Mutex<SlotState>,
    /// Notifies the waiting thread.
    changed: Condvar,
}

struct SlotState {
    /// The blocks that were read and not yet returned.
    blocks: VecDeque<Block>,
    /// The memory of the blocks in bytes.
    bytes: usize,
    read_state: ReadState,
    /// Whether a thread waits for the next block. Notifying no thread would still be a
    /// system call, so this flag avoids it.
    is_thread_waiting: bool,
}

enum ReadState {
    /// No thread is reading.
    Paused(Box<dyn Cursor>),
    /// A thread is reading.
    Busy,
    /// The end was reached, or this error occurred after the blocks.
    Ended(Option<Error>),
    /// The reading thread panicked.
    Panicked(Box<dyn std::any::Any + Send>),
}

impl Slot {
    pub(super) fn new(cursor: Result<Box<dyn Cursor>>) -> Self {
        let read_state = match cursor {
            Ok(cursor) => ReadState::Paused(cursor),
            Err(err) => ReadState::Ended(Some(err)),
        };
        let state = SlotState {
            blocks: VecDeque::new(),
            bytes: 0,
            read_state,
            is_thread_waiting: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Returns whether another thread is about to provide the next block.
    pub(super) fn is_awaited(&self) -> bool {
        let state = lock(&self.state);
        state.blocks.is_empty() && matches!(state.read_state, ReadState::Busy)
    }

    /// Reads the part up to the limit, as long as the reader is still used. Returns
    /// whether it read anything.
    pub(super) fn read_ahead(self: &Arc<Self>, pool: &BlockPool) -> bool {
        let Some(mut cursor) = lock(&self.state).take_cursor() else { return false };
        loop {
            let result = panic::catch_unwind(AssertUnwindSafe(|| {
                let mut blocks = Vec::new();
                (pool.fill_some(&mut *cursor, &mut blocks), blocks)
            }));
            let mut state = lock(&self.state);
            let filled = match result {
                Ok((filled, blocks)) => {
                    state.add(blocks);
                    filled
                }
                Err(panic) => {
                    state.read_state = ReadState::Panicked(panic);
                    self.wake(state);
                    return true;
                }
            };
            let is_reader_alive = Arc::strong_count(self) > 1;
            if matches!(filled, Ok(true))
                && state.bytes < MAX_BUFFERED_BYTES
                && is_reader_alive
            {
                self.wake(state);
                continue;
            }
            state.read_state = ReadState::after_read(filled, cursor);
            self.wake(state);
            return true;
        }
    }

    /// Notifies the waiting thread of a block or of the end.
    fn wake(&self, mut state: MutexGuard<'_, SlotState>) {
        let is_thread_waiting = mem::take(&mut state.is_thread_waiting);
        drop(state);
        if is_thread_waiting {
            self.changed.notify_one(); // only one thread takes blocks
        }
    }

    /// Returns the next block of the part, or false at its end. Reads the block itself if
    /// no other thread does.
    pub(super) fn fill(
        self: &Arc<Self>,
        block: &mut Block,
        pool: &Arc<BlockPool>,
    ) -> Result<bool> {
        let mut state = lock(&self.state);
        loop {
            if let Some(next) = state.blocks.pop_front() {
                let was_full = state.bytes >= MAX_BUFFERED_BYTES;
                state.bytes -= next.memory_bytes();
                if was_full && state.bytes < MAX_BUFFERED_BYTES && state.is_paused() {
                    let (slot, pool) = (self.clone(), pool.clone());
                    rayon::spawn(move || {
                        slot.read_ahead(&pool);
                    });
                }
                drop(state);
                pool.put_back(mem::replace(block, next));
                return Ok(true);
            }
            match mem::replace(&mut state.read_state, ReadState::Busy) {
                ReadState::Busy => {
                    state.is_thread_waiting = true;
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                ReadState::Ended(err) => {
                    state.read_state = ReadState::Ended(None);
                    return err.map_or(Ok(false), Err);
                }
                ReadState::Panicked(panic) => {
                    drop(state);
                    panic::resume_unwind(panic);
                }
                ReadState::Paused(mut cursor) if pool.compacts_below.is_some() => {
                    drop(state);
                    let mut blocks = Vec::new();
                    let filled = pool.fill_some(&mut *cursor, &mut blocks);
                    state = lock(&self.state);
                    state.add(blocks);
                    state.read_state = ReadState::after_read(filled, cursor);
                }
                ReadState::Paused(mut cursor) => {
                    drop(state);
                    let filled = cursor.fill(block);
                    lock(&self.state).read_state = match filled {
                        Ok(true) => ReadState::Paused(cursor),
                        Ok(false) | Err(_) => ReadState::Ended(None),
                    };
                    return filled;
                }
            }
        }
    }
}

impl ReadState {
    /// Returns the state after `cursor` was read.
    fn after_read(filled: Result<bool>, cursor: Box<dyn Cursor>) -> Self {
        match filled {
            Ok(true) => Self::Paused(cursor),
            Ok(false) => Self::Ended(None),
            Err(err) => Self::Ended(Some(err)),
        }
    }
}

impl SlotState {
    fn add(&mut self, blocks: Vec<Block>) {
        self.bytes += blocks.iter().map(Block::memory_bytes).sum::<usize>();
        self.blocks.extend(blocks);
    }

    /// Takes the cursor, if no thread is reading and the limit is not reached.
    fn take_cursor(&mut self) -> Option<Box<dyn Cursor>> {
        if self.bytes >= MAX_BUFFERED_BYTES {
            return None;
        }
        match mem::replace(&mut self.read_state, ReadState::Busy) {
            ReadState::Paused(cursor) => Some(cursor),
            other => {
                self.read_state = other;
                None
            }
        }
    }

    fn is_paused(&self) -> bool {
        matches!(self.read_state, ReadState::Paused(_))
    }
}

/// Locks the mutex, even after a panic in another thread, which is handled separately.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
