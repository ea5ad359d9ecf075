//! A chunk of an object that is cached or is being fetched.

use std::{
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};

/// A chunk of an object.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Its range in the object.
    pub(crate) range: Range<u64>,
    /// The logical time of its last use; 0 if it was released.
    pub(crate) used: AtomicU64,
    state: Mutex<ChunkState>,
    settled: Condvar,
}

#[derive(Debug)]
enum ChunkState {
    Coming,
    Here(Bytes),
    Lost(io::ErrorKind, String),
}

/// The obligation to deliver the bytes of a chunk. If it is dropped, the chunk has failed.
#[derive(Debug)]
pub(crate) struct Promise(Arc<Chunk>);

impl Chunk {
    /// Creates a chunk with its bytes.
    pub(crate) fn from_bytes(start: u64, bytes: Bytes) -> Arc<Self> {
        let range = start..start + bytes.len() as u64;
        Arc::new(Self::new(range, ChunkState::Here(bytes)))
    }

    /// Creates a chunk that is being fetched, and the promise to deliver its bytes.
    pub(crate) fn pending(range: Range<u64>) -> (Arc<Self>, Promise) {
        let chunk = Arc::new(Self::new(range, ChunkState::Coming));
        (chunk.clone(), Promise(chunk))
    }

    fn new(range: Range<u64>, state: ChunkState) -> Self {
        let (used, state) = (AtomicU64::new(0), Mutex::new(state));
        Self { range, used, state, settled: Condvar::new() }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Returns whether its bytes are being fetched.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(*self.state.lock(), ChunkState::Coming)
    }

    /// Returns whether fetching it has failed.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(*self.state.lock(), ChunkState::Lost(..))
    }

    /// Waits for its bytes.
    pub(crate) fn wait(&self) -> io::Result<Bytes> {
        let mut state = self.state.lock();
        loop {
            match &*state {
                ChunkState::Coming => {
                    self.settled.wait(&mut state);
                }
                ChunkState::Here(bytes) => return Ok(bytes.clone()),
                ChunkState::Lost(kind, what) => {
                    return Err(io::Error::new(*kind, what.clone()));
                }
            }
        }
    }

    /// Records that it is used at the logical time `now`.
    pub(crate) fn touch(&self, now: u64) {
        self.used.store(now, Ordering::Relaxed);
    }

    fn finish(&self, state: ChunkState) {
        *self.state.lock() = state;
        self.settled.notify_all();
    }
}

impl Promise {
    /// Delivers the bytes, or the error.
    pub(crate) fn keep(self, came: io::Result<Bytes>) {
        self.0.finish(match came {
            Ok(bytes) => ChunkState::Here(bytes),
            Err(err) => ChunkState::Lost(err.kind(), err.to_string()),
        });
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if self.0.is_coming() {
            let what = "the request was cancelled".to_owned();
            self.0.finish(ChunkState::Lost(io::ErrorKind::ConnectionAborted, what));
        }
    }
}
