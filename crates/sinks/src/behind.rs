//! Writing a file while its next bytes are made.

use std::{
    collections::VecDeque,
    fmt,
    io::{self, Seek, SeekFrom, Write},
    mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// So many bytes are written at once, or more.
const PIECE: usize = 256 << 10;

/// Whoever gives so many at once has put them together before, or copies them, and writes
/// them himself: that they are copied once more would cost more than it spares.
const LONG: usize = 96 << 10;

/// So many pieces may wait.
const WAITING: usize = 12;

/// A new file that other threads of the current rayon pool write, while whoever gives it its
/// bytes goes on.
///
/// Nobody waits for what nobody has begun: who has given more than a few pieces of 256 KiB
/// writes them himself, and so he does what is long. A pool of one thread writes everything
/// as it is given. What went wrong is told by a later call, by [`finish`](Self::finish) at the
/// latest. Dropping it drops the file, but what is being written is written before.
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

    /// Waits until all is written that was given.
    fn settle(&mut self) -> io::Result<MutexGuard<'_, State<F>>> {
        if !self.piece.is_empty() {
            self.hand_over()?;
        }
        let state = self.shared.settled();
        state.told()?;
        Ok(state)
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
        self.error.as_ref().map_or(Ok(()), |err| Err(again(err)))
    }
}

fn again(err: &io::Error) -> io::Error {
    io::Error::new(err.kind(), err.to_string())
}

impl<F: Write + Seek + Send + 'static> Write for Behind<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_alone || bytes.len() >= LONG {
            let mut state = self.settle()?;
            let file = state.file.as_mut();
            let written = file.map_or(Ok(()), |file| file.write_all(bytes));
            state.error = written.err();
            state.told()?;
        } else {
            self.piece.extend_from_slice(bytes);
        }
        self.position += bytes.len() as u64;
        if self.piece.len() >= PIECE {
            self.hand_over()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state = self.settle()?;
        state.file.as_mut().map_or(Ok(()), F::flush)
    }
}

impl<F: Write + Seek + Send + 'static> Seek for Behind<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Current(0) {
            let mut state = self.settle()?;
            let sought = state.file.as_mut().map(|file| file.seek(to));
            drop(state);
            self.position = sought.unwrap_or(Ok(self.position))?;
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
