//! Writing a file while its next bytes are made.

use std::{
    collections::VecDeque,
    fmt,
    io::{self, Seek, SeekFrom, Write},
    mem,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use logtool_core::Output;

/// So many bytes are put together to be written at once.
const PIECE: usize = 256 << 10;

/// Of whoever shows so many at once they are written at once: that they are copied once more
/// would cost more than it spares. Those whom they are given are [kept](Output::give).
const LONG: usize = 96 << 10;

/// Where so many wait, another thread is asked to write them: to wake one for less takes longer
/// than it spares.
const WORTH: usize = 512 << 10;

/// So many bytes may wait, and the piece with which they are exceeded.
const WAITING: usize = 3 << 20;

/// A new file that other threads of the current rayon pool write, while whoever gives it its
/// bytes goes on.
///
/// Nobody waits for what nobody has begun: who is more than 3 MiB ahead writes them himself, and
/// so he does what is long and not [given](Output::give), or given while the others are busy. A pool of one thread writes everything
/// as it comes. What went wrong is told by a later call, by [`finish`](Self::finish) at the
/// latest; to flush it waits for nothing. Dropping it drops the file, but what is being written
/// is written before.
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
    /// Whether a task of the pool is to write, which may not have begun.
    is_asked: bool,
    waiting: VecDeque<Vec<u8>>,
    /// How many bytes wait.
    bytes: usize,
    /// Pieces that are written.
    spare: Vec<Vec<u8>>,
    error: Option<io::Error>,
}

impl<F: Write + Seek + Send + 'static> Behind<F> {
    /// Writes to `file`, of which nothing is written yet.
    pub fn new(file: F) -> Self {
        let (waiting, spare) = (VecDeque::new(), Vec::new());
        let state = State {
            file: Some(file),
            is_busy: false,
            is_asked: false,
            waiting,
            bytes: 0,
            spare,
            error: None,
        };
        let shared = Shared { state: Mutex::new(state), changed: Condvar::new() };
        let is_alone = rayon::current_num_threads() == 1;
        Self { shared: Arc::new(shared), piece: Vec::new(), position: 0, is_alone }
    }

    /// Writes what waits, and gives the file back.
    ///
    /// # Errors
    /// Whatever went wrong with writing.
    pub fn finish(mut self) -> io::Result<F> {
        let file = self.settle()?.file.take();
        let mut file = file.ok_or_else(|| io::Error::other("the file is finished"))?;
        file.flush()?;
        Ok(file)
    }

    /// Waits until all is written that was given.
    fn settle(&mut self) -> io::Result<MutexGuard<'_, State<F>>> {
        self.hand_over_piece()?;
        let state = self.shared.settled();
        state.told()?;
        Ok(state)
    }

    /// Lets somebody write what is put together.
    fn hand_over_piece(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            let mut piece = mem::take(&mut self.piece);
            let handed = self.hand_over(&mut piece);
            self.piece = piece;
            handed?;
        }
        Ok(())
    }

    /// Lets somebody write `piece`, and leaves another, which is empty.
    fn hand_over(&self, piece: &mut Vec<u8>) -> io::Result<()> {
        let mut state = self.shared.lock();
        while state.bytes >= WAITING {
            state = self.shared.write_or_wait(state);
        }
        state.told()?;
        let empty = state.spare.pop().unwrap_or_default();
        state.bytes += piece.len();
        state.waiting.push_back(mem::replace(piece, empty));
        if state.bytes >= WORTH && !mem::replace(&mut state.is_asked, true) {
            let shared = self.shared.clone();
            rayon::spawn(move || shared.write_waiting());
        }
        Ok(())
    }
}

impl<F: Write> Shared<F> {
    /// Writes what waits, unless somebody does: who comes next with a piece then asks again.
    fn write_waiting(&self) {
        let mut state = self.lock();
        while !state.is_busy && !state.waiting.is_empty() {
            state = self.write_or_wait(state);
        }
        state.is_asked = false;
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
            state.forget();
            return state;
        };
        state.is_busy = true;
        let piece = state.waiting.pop_front();
        state.bytes -= piece.as_ref().map_or(0, Vec::len);
        drop(state);
        let write = || piece.as_deref().map_or(Ok(()), |bytes| file.write_all(bytes));
        let written = panic::catch_unwind(AssertUnwindSafe(write));
        let panicked = |_| Err(io::Error::other("panicked while writing"));
        let mut state = self.lock();
        (state.file, state.is_busy) = (Some(file), false);
        if let Err(err) = written.unwrap_or_else(panicked) {
            state.forget();
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
    /// Whether somebody was asked to write, and has not begun.
    fn is_unheard(&self) -> bool {
        self.is_asked && !self.is_busy
    }

    /// Leaves unwritten what waits.
    fn forget(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }

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
            self.hand_over_piece()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.shared.lock().told()
    }
}

impl<F: Write + Seek + Send + 'static> Output for Behind<F> {
    fn give(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let is_short = bytes.len() < LONG;
        // Where nobody came who was asked, all have other work, and what is long is still in the
        // caches of who made it.
        let is_own = || bytes.len() >= WORTH && self.shared.lock().is_unheard();
        if self.is_alone || is_short || is_own() {
            self.write_all(bytes)?;
            bytes.clear();
            return Ok(());
        }
        self.hand_over_piece()?;
        let len = bytes.len() as u64;
        self.hand_over(bytes)?;
        self.position += len;
        Ok(())
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
        state.forget();
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
