//! An object as a byte source.

use std::{fmt, io, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use logtool_core::Source;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::{
    chunk::Chunk,
    chunk_cache::{ChunkCache, MAX_REQUEST_BYTES},
    object::Object,
    read_ahead::ReadAhead,
};

/// An object that is read by ranges.
///
/// Fetched chunks are cached: small reads that are close together need only one request, and the
/// next bytes of sequential readers are prefetched into the cache.
pub(crate) struct RemoteSource {
    object: Arc<Object>,
    runtime: Handle,
    state: Mutex<ReadState>,
    /// The reference count of the open sources of the client, which share the cache limit.
    source_count: Arc<()>,
}

#[derive(Debug)]
struct ReadState {
    chunks: ChunkCache,
    read_ahead: ReadAhead,
}

impl RemoteSource {
    /// Creates the source of `object`. `first_bytes` are its first bytes.
    pub(crate) fn new(
        object: Object,
        first_bytes: Bytes,
        runtime: Handle,
        source_count: Arc<()>,
    ) -> Self {
        let mut chunks = ChunkCache::new(object.meta.size);
        if !first_bytes.is_empty() {
            chunks.insert(Chunk::from_bytes(0, first_bytes));
        }
        let state = Mutex::new(ReadState { chunks, read_ahead: ReadAhead::default() });
        Self { object: Arc::new(object), runtime, state, source_count }
    }

    /// Starts to fetch `range`.
    fn fetch(&self, range: Range<u64>) -> Arc<Chunk> {
        let (chunk, promise) = Chunk::new_pending(range.clone());
        let object = self.object.clone();
        self.runtime.spawn(async move { promise.fulfil(object.fetch(range).await) });
        chunk
    }

    /// Returns the number of bytes that this source may cache.
    fn cache_share(&self) -> u64 {
        // One of the references belongs to the client.
        let sources =
            (Arc::strong_count(&self.source_count) as u64).saturating_sub(1).max(1);
        (self.object.transport.limits.cache_bytes / sources).max(2 * MAX_REQUEST_BYTES)
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
        let max_bytes = self.cache_share();
        let chunks = if end - start > max_bytes / 2 {
            // It is too long for the cache, so it is fetched only for this call.
            ChunkCache::new(len).cover(start..end, |range| self.fetch(range))
        } else {
            let mut state = self.state.lock();
            let ReadState { chunks: cache, read_ahead } = &mut *state;
            let chunks = cache.cover(start..end, |range| self.fetch(range));
            if let Some(prefetch) = read_ahead.read(&(start..end), max_bytes / 4) {
                let prefetch = prefetch.start.min(len)..prefetch.end.min(len);
                cache.cover(prefetch, |range| self.fetch(range));
            }
            cache.shrink(max_bytes);
            chunks
        };
        if let [chunk] = &*chunks {
            let offset = (start - chunk.range.start) as usize;
            return Ok(chunk.wait()?.slice(offset..offset + (end - start) as usize));
        }
        let mut bytes = BytesMut::new();
        for chunk in chunks {
            let chunk_bytes = chunk.wait()?;
            let start_in_chunk = start.max(chunk.range.start) - chunk.range.start;
            let end_in_chunk = end.min(chunk.range.end) - chunk.range.start;
            bytes.extend_from_slice(
                &chunk_bytes.slice(start_in_chunk as usize..end_in_chunk as usize),
            );
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
