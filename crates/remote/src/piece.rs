//! A stretch of an object that is here, or on its way.

use std::{
    io,
    ops::Range,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

/// A stretch of an object.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Where it lies.
    pub(crate) range: Range<u64>,
    /// When it was last wanted; 0, if nobody soon wants it again.
    pub(crate) used: AtomicU64,
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug)]
enum State {
    Coming,
    Here(Bytes),
    Lost(io::ErrorKind, String),
}

/// Has to say what became of a piece; if it is dropped before, the piece is lost.
#[derive(Debug)]
pub(crate) struct Promise(Arc<Piece>);

impl Piece {
    /// A piece that is here.
    pub(crate) fn here(start: u64, bytes: Bytes) -> Arc<Self> {
        let range = start..start + bytes.len() as u64;
        Arc::new(Self::new(range, State::Here(bytes)))
    }

    /// A piece that will come, and who has to say so.
    pub(crate) fn coming(range: Range<u64>) -> (Arc<Self>, Promise) {
        let piece = Arc::new(Self::new(range, State::Coming));
        (piece.clone(), Promise(piece))
    }

    fn new(range: Range<u64>, state: State) -> Self {
        let (used, state) = (AtomicU64::new(0), Mutex::new(state));
        Self { range, used, state, settled: Condvar::new() }
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Whether somebody still has to say what became of it.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(*self.lock(), State::Coming)
    }

    /// Whether it did not come.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(*self.lock(), State::Lost(..))
    }

    /// Waits for its bytes.
    pub(crate) fn wait(&self) -> io::Result<Bytes> {
        let mut state = self.lock();
        loop {
            match &*state {
                State::Coming => {
                    let waited = self.settled.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
                State::Here(bytes) => return Ok(bytes.clone()),
                State::Lost(kind, what) => {
                    return Err(io::Error::new(*kind, what.clone()));
                }
            }
        }
    }

    /// Says that it is wanted at the time `now`.
    pub(crate) fn touch(&self, now: u64) {
        self.used.store(now, Ordering::Relaxed);
    }

    fn settle(&self, state: State) {
        *self.lock() = state;
        self.settled.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Promise {
    /// Says what became of the piece.
    pub(crate) fn keep(self, came: io::Result<Bytes>) {
        self.0.settle(match came {
            Ok(bytes) => State::Here(bytes),
            Err(err) => State::Lost(err.kind(), err.to_string()),
        });
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if self.0.is_coming() {
            let what = "fetching was given up".to_owned();
            self.0.settle(State::Lost(io::ErrorKind::ConnectionAborted, what));
        }
    }
}
