//! An object as a byte source.

use std::{fmt, io, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use logtool_core::Source;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::{
    chunk::Chunk,
    chunk_cache::{ChunkCache, MAX_BYTES},
    object::Object,
    read_ahead::ReadAhead,
};

/// An object that is read by ranges.
///
/// Fetched chunks are cached for a while: small reads that are close together need one request, and
/// sequential readers find the next bytes in the cache.
pub(crate) struct RemoteSource {
    object: Arc<Object>,
    runtime: Handle,
    state: Mutex<ReadState>,
    /// A reference for each source of the client; they share the cache limit.
    shares: Arc<()>,
}

#[derive(Debug)]
struct ReadState {
    chunks: ChunkCache,
    read_ahead: ReadAhead,
}

impl RemoteSource {
    /// Creates the source of `object`, whose first bytes are `head`.
    pub(crate) fn new(
        object: Object,
        head: Bytes,
        runtime: Handle,
        shares: Arc<()>,
    ) -> Self {
        let mut chunks = ChunkCache::new(object.meta.size);
        if !head.is_empty() {
            chunks.insert(Chunk::from_bytes(0, head));
        }
        let state = Mutex::new(ReadState { chunks, read_ahead: ReadAhead::default() });
        Self { object: Arc::new(object), runtime, state, shares }
    }

    /// Starts to fetch `range`.
    fn fetch(&self, range: Range<u64>) -> Arc<Chunk> {
        let (chunk, promise) = Chunk::pending(range.clone());
        let object = self.object.clone();
        self.runtime.spawn(async move { promise.keep(object.fetch(range).await) });
        chunk
    }

    /// Returns how many bytes this source may cache.
    fn cache_share(&self) -> u64 {
        // The client has one reference itself.
        let sources = (Arc::strong_count(&self.shares) as u64).saturating_sub(1).max(1);
        (self.object.transport.limits.kept_bytes / sources).max(2 * MAX_BYTES)
    }
}

impl Source for RemoteSource {
    fn len(&self) -> u64 {
        self.object.meta.size
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = self.len();
        let Range { start, end } = range.start.min(len)..range.end.min(len);
        if start >= end {
            return Ok(Bytes::new());
        }
        let most = self.cache_share();
        let covering = if end - start > most / 2 {
            // It is too long for the cache, so it is fetched only for this call.
            ChunkCache::new(len).cover(start..end, |range| self.fetch(range))
        } else {
            let mut state = self.state.lock();
            let ReadState { chunks, read_ahead } = &mut *state;
            let covering = chunks.cover(start..end, |range| self.fetch(range));
            if let Some(ahead) = read_ahead.read(&(start..end), most / 4) {
                let ahead = ahead.start.min(len)..ahead.end.min(len);
                chunks.cover(ahead, |range| self.fetch(range));
            }
            chunks.shrink(most);
            covering
        };
        if let [chunk] = &*covering {
            let at = (start - chunk.range.start) as usize;
            return Ok(chunk.wait()?.slice(at..at + (end - start) as usize));
        }
        let mut bytes = BytesMut::new();
        for chunk in covering {
            let here = chunk.wait()?;
            let from = start.max(chunk.range.start) - chunk.range.start;
            let to = end.min(chunk.range.end) - chunk.range.start;
            bytes.extend_from_slice(&here.slice(from as usize..to as usize));
        }
        Ok(bytes.freeze())
    }

    fn release(&self, range: Range<u64>) {
        self.state.lock().chunks.release(&range);
    }
}

impl fmt::Debug for RemoteSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSource").field("object", &self.object).finish()
    }
}
