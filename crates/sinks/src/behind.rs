//! Writing a file while its next bytes are made.

use std::{
    collections::VecDeque,
    fmt,
    io::{self, Seek, SeekFrom, Write},
    mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// So many bytes are written at once, or more. Who gives as many writes them himself: who
/// puts together so much has others who do it.
const PIECE: usize = 256 << 10;

/// So many pieces may wait.
const WAITING: usize = 3;

/// A new file that other threads of the current rayon pool write, while whoever gives it its
/// bytes goes on.
///
/// Nobody waits for what nobody has begun: who has given more than a few pieces of 256 KiB
/// writes them himself, and what is longer at once. A pool of one thread writes everything as it is given. What went wrong
/// is told by a later call, by [`finish`](Self::finish) at the latest. Dropping it drops the
/// file, but what is being written is written before.
pub struct Behind<F: Write + Seek + Send + 'static> {
    shared: Arc<Shared<F>>,
    /// What is put together.
    piece: Vec<u8>,
    position: u64,
    is_alone: bool,
}

struct Shared<F> {
    state: Mutex<State<F>>,
    changed: Condvar,
}

struct State<F> {
    /// Nothing while somebody writes, or after the end.
    file: Option<F>,
    is_busy: bool,
    waiting: VecDeque<Vec<u8>>,
    /// Pieces that are written.
    spare: Vec<Vec<u8>>,
    error: Option<io::Error>,
}

impl<F: Write + Seek + Send + 'static> Behind<F> {
    /// Writes to `file`, of which nothing is written yet.
    pub fn new(file: F) -> Self {
        let (waiting, spare) = (VecDeque::new(), Vec::new());
        let state =
            State { file: Some(file), is_busy: false, waiting, spare, error: None };
        let shared = Shared { state: Mutex::new(state), changed: Condvar::new() };
        let is_alone = rayon::current_num_threads() == 1;
        Self { shared: Arc::new(shared), piece: Vec::new(), position: 0, is_alone }
    }

    /// Writes what waits, and gives the file back.
    ///
    /// # Errors
    /// Whatever went wrong with writing.
    pub fn finish(mut self) -> io::Result<F> {
        self.flush()?;
        let file = self.shared.lock().file.take();
        file.ok_or_else(|| io::Error::other("the file is finished"))
    }

    /// Lets somebody write what is put together.
    fn hand_over(&mut self) -> io::Result<()> {
        let mut state = self.shared.lock();
        while state.waiting.len() >= WAITING {
            state = self.shared.write_or_wait(state);
        }
        state.told()?;
        let empty = state.spare.pop().unwrap_or_default();
        state.waiting.push_back(mem::replace(&mut self.piece, empty));
        if state.waiting.len() == 1 && !state.is_busy {
            let shared = self.shared.clone();
            rayon::spawn(move || shared.write_waiting());
        }
        Ok(())
    }
}

impl<F: Write> Shared<F> {
    /// Writes what waits, unless somebody does.
    fn write_waiting(&self) {
        let mut state = self.lock();
        while !state.is_busy && !state.waiting.is_empty() {
            state = self.write_or_wait(state);
        }
    }

    /// Writes what waits first, or waits until somebody has who does.
    fn write_or_wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, State<F>>,
    ) -> MutexGuard<'s, State<F>> {
        if state.is_busy {
            let woken = self.changed.wait(state);
            return woken.unwrap_or_else(PoisonError::into_inner);
        }
        let Some(mut file) = state.file.take() else {
            state.waiting.clear();
            return state;
        };
        state.is_busy = true;
        let piece = state.waiting.pop_front();
        drop(state);
        let write = || piece.as_deref().map_or(Ok(()), |bytes| file.write_all(bytes));
        let written = panic::catch_unwind(AssertUnwindSafe(write));
        let panicked = |_| Err(io::Error::other("panicked while writing"));
        let mut state = self.lock();
        (state.file, state.is_busy) = (Some(file), false);
        if let Err(err) = written.unwrap_or_else(panicked) {
            state.waiting.clear();
            state.error.get_or_insert(err);
        }
        state.spare.extend(piece.map(|mut piece| {
            piece.clear();
            piece
        }));
        self.changed.notify_all();
        state
    }

    /// Waits until all is written that waits.
    fn settled(&self) -> MutexGuard<'_, State<F>> {
        let mut state = self.lock();
        while state.is_busy || !state.waiting.is_empty() {
            state = self.write_or_wait(state);
        }
        state
    }

    /// Locks, also after a panic elsewhere, which is carried on by itself.
    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> State<F> {
    /// What went wrong, as often as anybody asks.
    fn told(&self) -> io::Result<()> {
        let again = |err: &io::Error| Err(io::Error::new(err.kind(), err.to_string()));
        self.error.as_ref().map_or(Ok(()), again)
    }
}

impl<F: Write + Seek + Send + 'static> Write for Behind<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_alone {
            let mut state = self.shared.settled();
            let written =
                state.file.as_mut().map_or(Ok(0), |file| file.write(bytes))?;
            self.position += written as u64;
            return Ok(written);
        }
        self.piece.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        if self.piece.len() >= PIECE {
            self.hand_over()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.hand_over()?;
        }
        let mut state = self.shared.settled();
        state.told()?;
        state.file.as_mut().map_or(Ok(()), F::flush)
    }
}

impl<F: Write + Seek + Send + 'static> Seek for Behind<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Current(0) {
            self.flush()?;
            let mut state = self.shared.settled();
            if let Some(file) = &mut state.file {
                self.position = file.seek(to)?;
            }
        }
        Ok(self.position)
    }
}

impl<F: Write + Seek + Send + 'static> Drop for Behind<F> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.waiting.clear();
        drop(state);
        // Whoever wrote may be the last to know of this, and is not to drop the file.
        drop(self.shared.settled().file.take());
    }
}

impl<F: Write + Seek + Send + 'static> fmt::Debug for Behind<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behind")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
