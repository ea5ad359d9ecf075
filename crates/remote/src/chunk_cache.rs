//! The cached chunks of an object. They do not overlap; the least recently used ones are evicted
//! first.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use crate::chunk::Chunk;

/// Fetched ranges start and end at multiples of this, or at the end of the object.
pub(crate) const BLOCK_BYTES: u64 = 64 << 10;

/// The maximum length of one request; longer ranges are fetched by several requests at once.
pub(crate) const MAX_REQUEST_BYTES: u64 = 2 << 20;

/// The cached chunks of an object.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    /// The length of the object.
    len: u64,
    by_start: BTreeMap<u64, Arc<Chunk>>,
    /// The total number of cached bytes.
    total_bytes: u64,
    /// The logical time: the number of requests of readers.
    now: u64,
}

impl ChunkCache {
    /// Creates an empty cache for an object of `len` bytes.
    pub(crate) fn new(len: u64) -> Self {
        Self { len, by_start: BTreeMap::new(), total_bytes: 0, now: 0 }
    }

    /// Returns the chunks that cover `range`, in order. The range must be within the object.
    /// `fetch` is called to start fetching missing chunks.
    pub(crate) fn cover(
        &mut self,
        range: Range<u64>,
        mut fetch: impl FnMut(Range<u64>) -> Arc<Chunk>,
    ) -> Vec<Arc<Chunk>> {
        self.now += 1;
        let mut chunks = Vec::new();
        let mut offset = range.start;
        while offset < range.end {
            let chunk = match self.chunk_at(offset) {
                Some(chunk) => chunk,
                None => {
                    let chunk = fetch(self.missing_range(offset, range.end));
                    self.insert(chunk.clone());
                    chunk
                }
            };
            chunk.touch(self.now);
            offset = chunk.range.end;
            chunks.push(chunk);
        }
        chunks
    }

    /// Returns the chunk that contains `offset`, unless fetching it failed.
    fn chunk_at(&mut self, offset: u64) -> Option<Arc<Chunk>> {
        let (_, chunk) = self.by_start.range(..=offset).next_back()?;
        if !chunk.range.contains(&offset) {
            return None;
        }
        let chunk = chunk.clone();
        if chunk.is_failed() {
            self.remove(chunk.range.start);
            return None;
        }
        Some(chunk)
    }

    /// Returns the range to fetch for the bytes from `offset` to `end`: whole blocks, up to the
    /// next cached chunk.
    fn missing_range(&self, offset: u64, end: u64) -> Range<u64> {
        let previous_end = self.by_start.range(..=offset).next_back();
        let previous_end = previous_end.map_or(0, |(_, chunk)| chunk.range.end);
        let next_start = self.by_start.range(offset..).next();
        let next_start = next_start.map_or(self.len, |(start, _)| *start);
        let start = (offset - offset % BLOCK_BYTES).max(previous_end);
        let end = end.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES);
        start..end.min(next_start).min(start + MAX_REQUEST_BYTES)
    }

    /// Inserts a chunk that does not overlap others.
    pub(crate) fn insert(&mut self, chunk: Arc<Chunk>) {
        self.total_bytes += chunk.len();
        self.by_start.insert(chunk.range.start, chunk);
    }

    fn remove(&mut self, start: u64) {
        if let Some(chunk) = self.by_start.remove(&start) {
            self.total_bytes -= chunk.len();
        }
    }

    /// Evicts the least recently used chunks until at most `max_bytes` bytes are cached. Chunks
    /// that are being fetched, and chunks of the last request, are not evicted.
    pub(crate) fn shrink(&mut self, max_bytes: u64) {
        if self.total_bytes <= max_bytes {
            return;
        }
        let is_evictable = |chunk: &&Arc<Chunk>| {
            chunk.last_use.load(Ordering::Relaxed) < self.now && !chunk.is_pending()
        };
        let last_use = |chunk: &Arc<Chunk>| chunk.last_use.load(Ordering::Relaxed);
        let evictable = self.by_start.values().filter(is_evictable);
        let mut evictable: Vec<_> =
            evictable.map(|chunk| (last_use(chunk), chunk.range.start)).collect();
        evictable.sort_unstable();
        for (_, start) in evictable {
            if self.total_bytes <= max_bytes {
                break;
            }
            self.remove(start);
        }
    }

    /// Marks chunks within `range` to be evicted first.
    pub(crate) fn release(&mut self, range: &Range<u64>) {
        for chunk in self.by_start.range(range.start..).map(|(_, chunk)| chunk) {
            if chunk.range.end > range.end {
                break;
            }
            chunk.touch(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn whole(range: Range<u64>) -> Arc<Chunk> {
        let len = (range.end - range.start) as usize;
        Chunk::from_bytes(range.start, Bytes::from(vec![0; len]))
    }

    /// Returns the ranges that are fetched for `range`.
    fn fetched_ranges(chunks: &mut ChunkCache, range: Range<u64>) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        let covering = chunks.cover(range.clone(), |range| {
            all.push((range.start, range.end));
            whole(range)
        });
        let (first, last) = (&covering[0], &covering[covering.len() - 1]);
        assert!(first.range.start <= range.start && last.range.end >= range.end);
        assert!(covering.windows(2).all(|two| two[0].range.end == two[1].range.start));
        all
    }

    #[test]
    fn missing_blocks_are_fetched_once() {
        let mut chunks = ChunkCache::new(10 * BLOCK_BYTES + 7);
        assert_eq!(fetched_ranges(&mut chunks, 5..6), [(0, BLOCK_BYTES)]);
        assert!(fetched_ranges(&mut chunks, 0..BLOCK_BYTES).is_empty());
        let end = 10 * BLOCK_BYTES;
        assert_eq!(fetched_ranges(&mut chunks, end + 6..end + 7), [(end, end + 7)]);
        assert_eq!(
            fetched_ranges(&mut chunks, 3..3 * BLOCK_BYTES + 1),
            [(BLOCK_BYTES, 4 * BLOCK_BYTES)]
        );
        assert_eq!(fetched_ranges(&mut chunks, 0..end + 7), [(4 * BLOCK_BYTES, end)]);
    }

    #[test]
    fn long_range_is_fetched_by_several_requests() {
        let mut chunks = ChunkCache::new(u64::MAX);
        let all = fetched_ranges(&mut chunks, 0..2 * MAX_REQUEST_BYTES + 1);
        assert_eq!(
            all,
            [
                (0, MAX_REQUEST_BYTES),
                (MAX_REQUEST_BYTES, 2 * MAX_REQUEST_BYTES),
                (2 * MAX_REQUEST_BYTES, 2 * MAX_REQUEST_BYTES + BLOCK_BYTES)
            ]
        );
    }

    #[test]
    fn released_chunks_are_evicted_before_the_least_recently_used() {
        let mut chunks = ChunkCache::new(8 * BLOCK_BYTES);
        for block in 0..4 {
            fetched_ranges(&mut chunks, block * BLOCK_BYTES..block * BLOCK_BYTES + 1);
        }
        chunks.release(&(2 * BLOCK_BYTES..3 * BLOCK_BYTES));
        chunks.shrink(3 * BLOCK_BYTES);
        assert_eq!(
            fetched_ranges(&mut chunks, 0..4 * BLOCK_BYTES),
            [(2 * BLOCK_BYTES, 3 * BLOCK_BYTES)]
        );
        fetched_ranges(&mut chunks, 7 * BLOCK_BYTES..8 * BLOCK_BYTES);
        chunks.shrink(0);
        assert!(
            fetched_ranges(&mut chunks, 7 * BLOCK_BYTES..8 * BLOCK_BYTES).is_empty(),
            "part of the last request"
        );
        assert_eq!(fetched_ranges(&mut chunks, 0..1), [(0, BLOCK_BYTES)]);
    }

    #[test]
    fn failed_chunk_is_fetched_again() {
        let mut chunks = ChunkCache::new(BLOCK_BYTES);
        let (lost, promise) = Chunk::new_pending(0..BLOCK_BYTES);
        chunks.cover(0..1, |_| lost.clone());
        drop(promise);
        assert!(lost.wait().is_err());
        assert_eq!(fetched_ranges(&mut chunks, 0..1), [(0, BLOCK_BYTES)]);
    }
}
