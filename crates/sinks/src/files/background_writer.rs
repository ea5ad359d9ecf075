//! Writes a file on other threads while the caller produces the next bytes.

use std::{
    collections::VecDeque,
    fmt,
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    mem,
    ops::Range,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use logtool_core::Output;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// Short writes are collected into blocks of this many bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// Writes of at least this size bypass the block: copying them would cost more than it saves.
/// Buffers whose ownership is passed with [`Output::write_owned`] are queued without a copy
/// instead.
const DIRECT_BYTES: usize = 96 << 10;

/// Another thread is asked to write once this many bytes are queued. Waking a thread for fewer
/// bytes takes longer than it saves.
const WAKE_BYTES: usize = 512 << 10;

/// The caller helps to write once at least this many bytes are queued. One more block may be
/// queued after that.
const MAX_QUEUED_BYTES: usize = 3 << 20;

/// A new file that other threads of the current rayon pool write while the caller produces the
/// next bytes.
///
/// The caller never waits for a task that has not started. It writes blocks itself if more than
/// 3 MiB are queued. It also writes long data itself if the data was not passed with
/// [`Output::write_owned`], or was passed while all other threads are busy. In a pool of one
/// thread, each call writes directly. A write error is returned by a later call, at the latest by
/// [`finish`](Self::finish); flushing does not wait for queued blocks. Dropping the writer
/// discards queued blocks and drops the file after a write in progress has ended.
pub struct BackgroundWriter<F: Write + Seek + Send + 'static> {
    shared: Arc<SharedState<F>>,
    /// The block that collects short writes.
    block: Vec<u8>,
    /// The offset of the next byte that the caller writes.
    position: u64,
    /// Whether each call writes directly, because there is no other thread.
    is_synchronous: bool,
}

struct SharedState<F> {
    state: Mutex<QueueState<F>>,
    changed: Condvar,
}

struct QueueState<F> {
    /// `None` while a thread writes, and after the writer is finished.
    file: Option<F>,
    /// Whether a thread is writing a block.
    is_busy: bool,
    /// Whether a task that writes the queue was spawned. It may not have started yet.
    is_scheduled: bool,
    queue: VecDeque<Vec<u8>>,
    /// The bytes of all blocks in `queue`.
    queued_bytes: usize,
    /// Empty buffers for reuse.
    free_buffers: Vec<Vec<u8>>,
    /// The first error of a write.
    error: Option<io::Error>,
}

impl<F: Write + Seek + Send + 'static> BackgroundWriter<F> {
    /// Creates a writer for `file`, which is empty.
    pub fn new(file: F) -> Self {
        let state = QueueState {
            file: Some(file),
            is_busy: false,
            is_scheduled: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            free_buffers: Vec::new(),
            error: None,
        };
        let shared = SharedState { state: Mutex::new(state), changed: Condvar::new() };
        Self {
            shared: Arc::new(shared),
            block: Vec::new(),
            position: 0,
            is_synchronous: rayon::current_num_threads() == 1,
        }
    }

    /// Writes all queued blocks and returns the file.
    ///
    /// # Errors
    /// The first error of any write.
    pub fn finish(mut self) -> io::Result<F> {
        let mut file = self
            .drain()?
            .file
            .take()
            .ok_or_else(|| io::Error::other("the file is finished"))?;
        file.flush()?;
        Ok(file)
    }

    /// Writes everything that was passed to this writer so far, and returns the locked state.
    fn drain(&mut self) -> io::Result<MutexGuard<'_, QueueState<F>>> {
        self.enqueue_block()?;
        let state = self.shared.drain();
        state.check_error()?;
        Ok(state)
    }

    /// Queues the block of short writes.
    fn enqueue_block(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            let mut block = mem::take(&mut self.block);
            let result = self.enqueue(&mut block);
            self.block = block;
            result?;
        }
        Ok(())
    }

    /// Queues `block`, and replaces it with an empty buffer.
    fn enqueue(&self, block: &mut Vec<u8>) -> io::Result<()> {
        let mut state = self.shared.state.lock();
        while state.queued_bytes >= MAX_QUEUED_BYTES {
            state = self.shared.write_or_wait(state);
        }
        state.check_error()?;
        let empty_buffer = state.free_buffers.pop().unwrap_or_default();
        state.queued_bytes += block.len();
        state.queue.push_back(mem::replace(block, empty_buffer));
        if state.queued_bytes >= WAKE_BYTES
            && !mem::replace(&mut state.is_scheduled, true)
        {
            let shared = self.shared.clone();
            rayon::spawn(move || shared.write_queue());
        }
        Ok(())
    }
}

impl<F: Write> SharedState<F> {
    /// Writes the queue, or returns if another thread is writing. The next caller that queues a
    /// block then schedules a new task.
    fn write_queue(&self) {
        let mut state = self.state.lock();
        while !state.is_busy && !state.queue.is_empty() {
            state = self.write_or_wait(state);
        }
        state.is_scheduled = false;
    }

    /// Writes the first block of the queue, or waits until the thread that is writing has
    /// written its block.
    fn write_or_wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, QueueState<F>>,
    ) -> MutexGuard<'s, QueueState<F>> {
        if state.is_busy {
            self.changed.wait(&mut state);
            return state;
        }
        let Some(mut file) = state.file.take() else {
            state.clear_queue();
            return state;
        };
        state.is_busy = true;
        let block = state.queue.pop_front();
        state.queued_bytes -= block.as_ref().map_or(0, Vec::len);
        drop(state);
        let write_block =
            || block.as_deref().map_or(Ok(()), |bytes| file.write_all(bytes));
        let result = panic::catch_unwind(AssertUnwindSafe(write_block))
            .unwrap_or_else(|_| Err(io::Error::other("panicked while writing")));
        let mut state = self.state.lock();
        (state.file, state.is_busy) = (Some(file), false);
        if let Err(err) = result {
            state.clear_queue();
            state.error.get_or_insert(err);
        }
        if let Some(mut block) = block {
            block.clear();
            state.free_buffers.push(block);
        }
        self.changed.notify_all();
        state
    }

    /// Writes the whole queue, or waits until other threads have written it.
    fn drain(&self) -> MutexGuard<'_, QueueState<F>> {
        let mut state = self.state.lock();
        while state.is_busy || !state.queue.is_empty() {
            state = self.write_or_wait(state);
        }
        state
    }
}

impl<F> QueueState<F> {
    /// Returns whether a task was spawned that has not started, i.e. all threads are busy.
    fn is_starved(&self) -> bool {
        self.is_scheduled && !self.is_busy
    }

    /// Discards the blocks that are not written yet.
    fn clear_queue(&mut self) {
        self.queue.clear();
        self.queued_bytes = 0;
    }

    /// Fails with the first write error. The error remains, so that every later call fails, too.
    fn check_error(&self) -> io::Result<()> {
        match &self.error {
            Some(err) => Err(io::Error::new(err.kind(), err.to_string())),
            None => Ok(()),
        }
    }
}

impl<F: Write + Seek + Send + 'static> Write for BackgroundWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_synchronous || bytes.len() >= DIRECT_BYTES {
            let mut state = self.drain()?;
            if let Some(file) = state.file.as_mut()
                && let Err(err) = file.write_all(bytes)
            {
                state.error = Some(err);
            }
            state.check_error()?;
        } else {
            self.block.extend_from_slice(bytes);
        }
        self.position += bytes.len() as u64;
        if self.block.len() >= BLOCK_BYTES {
            self.enqueue_block()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.shared.state.lock().check_error()
    }
}

impl<F: Output + 'static> Output for BackgroundWriter<F> {
    fn copy_from_file(&mut self, source: &File, range: Range<u64>) -> io::Result<u64> {
        let mut state = self.drain()?;
        let copied_bytes = match state.file.as_mut() {
            Some(file) => file.copy_from_file(source, range)?,
            None => 0,
        };
        drop(state);
        self.position += copied_bytes;
        Ok(copied_bytes)
    }

    fn write_owned(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let is_short = bytes.len() < DIRECT_BYTES;
        // If no thread has started the spawned task, all threads have other work. A long buffer
        // is then written here, while it is still in the caches of this core.
        let is_faster_here =
            || bytes.len() >= WAKE_BYTES && self.shared.state.lock().is_starved();
        if self.is_synchronous || is_short || is_faster_here() {
            self.write_all(bytes)?;
            bytes.clear();
            return Ok(());
        }
        self.enqueue_block()?;
        let len = bytes.len() as u64;
        self.enqueue(bytes)?;
        self.position += len;
        Ok(())
    }
}

impl<F: Write + Seek + Send + 'static> Seek for BackgroundWriter<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Current(0) {
            let mut state = self.drain()?;
            let new_position = match state.file.as_mut() {
                Some(file) => Some(file.seek(to)?),
                None => None,
            };
            drop(state);
            self.position = new_position.unwrap_or(self.position);
        }
        Ok(self.position)
    }
}

impl<F: Write + Seek + Send + 'static> Drop for BackgroundWriter<F> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.clear_queue();
        drop(state);
        // A worker thread may hold the last reference to the shared state. Without this, it would
        // close the file some time after this call.
        drop(self.shared.drain().file.take());
    }
}

impl<F: Write + Seek + Send + 'static> fmt::Debug for BackgroundWriter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundWriter")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
