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
    /// The range of the chunk in the object.
    pub(crate) range: Range<u64>,
    /// The logical time of the last use; 0 if the chunk was released.
    pub(crate) last_use: AtomicU64,
    state: Mutex<ChunkState>,
    settled: Condvar,
}

#[derive(Debug)]
enum ChunkState {
    Pending,
    Ready(Bytes),
    Failed(io::ErrorKind, String),
}

/// The sending half of a pending chunk, which delivers the bytes. If it is dropped before, the
/// chunk fails.
#[derive(Debug)]
pub(crate) struct Promise(Arc<Chunk>);

impl Chunk {
    /// Creates a chunk with its bytes.
    pub(crate) fn from_bytes(start: u64, bytes: Bytes) -> Arc<Self> {
        let range = start..start + bytes.len() as u64;
        Arc::new(Self::new(range, ChunkState::Ready(bytes)))
    }

    /// Creates a chunk that is being fetched, and the promise that delivers its bytes.
    pub(crate) fn new_pending(range: Range<u64>) -> (Arc<Self>, Promise) {
        let chunk = Arc::new(Self::new(range, ChunkState::Pending));
        (chunk.clone(), Promise(chunk))
    }

    fn new(range: Range<u64>, state: ChunkState) -> Self {
        let (last_use, state) = (AtomicU64::new(0), Mutex::new(state));
        Self { range, last_use, state, settled: Condvar::new() }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Returns whether the bytes are being fetched.
    pub(crate) fn is_pending(&self) -> bool {
        matches!(*self.state.lock(), ChunkState::Pending)
    }

    /// Returns whether fetching the bytes has failed.
    pub(crate) fn is_failed(&self) -> bool {
        matches!(*self.state.lock(), ChunkState::Failed(..))
    }

    /// Waits for the bytes.
    pub(crate) fn wait(&self) -> io::Result<Bytes> {
        let mut state = self.state.lock();
        loop {
            match &*state {
                ChunkState::Pending => {
                    self.settled.wait(&mut state);
                }
                ChunkState::Ready(bytes) => return Ok(bytes.clone()),
                ChunkState::Failed(kind, message) => {
                    return Err(io::Error::new(*kind, message.clone()));
                }
            }
        }
    }

    /// Sets the logical time of the last use.
    pub(crate) fn touch(&self, now: u64) {
        self.last_use.store(now, Ordering::Relaxed);
    }

    fn finish(&self, state: ChunkState) {
        *self.state.lock() = state;
        self.settled.notify_all();
    }
}

impl Promise {
    /// Delivers the bytes, or the error.
    pub(crate) fn fulfil(self, result: io::Result<Bytes>) {
        self.0.finish(match result {
            Ok(bytes) => ChunkState::Ready(bytes),
            Err(err) => ChunkState::Failed(err.kind(), err.to_string()),
        });
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if self.0.is_pending() {
            let message = "the request was cancelled".to_owned();
            self.0
                .finish(ChunkState::Failed(io::ErrorKind::ConnectionAborted, message));
        }
    }
}
