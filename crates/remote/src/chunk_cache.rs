//! The cached chunks of an object. They do not overlap; the least recently used ones are evicted
//! first.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use crate::chunk::Chunk;

/// Fetched ranges start and end at multiples of this, or at the end of the object.
pub(crate) const BLOCK: u64 = 64 << 10;

/// The maximum length of one request; longer ranges are fetched by several requests at once.
pub(crate) const MAX_BYTES: u64 = 2 << 20;

/// The cached chunks of an object.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    /// The length of the object.
    len: u64,
    by_start: BTreeMap<u64, Arc<Chunk>>,
    /// The total number of bytes.
    total: u64,
    /// The logical time, which counts requests of the reader.
    now: u64,
}

impl ChunkCache {
    /// Creates an empty cache for an object of `len` bytes.
    pub(crate) fn new(len: u64) -> Self {
        Self { len, by_start: BTreeMap::new(), total: 0, now: 0 }
    }

    /// Returns the chunks that cover `range`, which must be within the object, in order. Calls
    /// `fetch` to start fetching missing ones.
    pub(crate) fn cover(
        &mut self,
        range: Range<u64>,
        mut fetch: impl FnMut(Range<u64>) -> Arc<Chunk>,
    ) -> Vec<Arc<Chunk>> {
        self.now += 1;
        let mut covering = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let chunk = match self.chunk_at(at) {
                Some(chunk) => chunk,
                None => {
                    let chunk = fetch(self.missing_range(at, range.end));
                    self.insert(chunk.clone());
                    chunk
                }
            };
            chunk.touch(self.now);
            at = chunk.range.end;
            covering.push(chunk);
        }
        covering
    }

    /// Returns the chunk that contains `at`, unless fetching it failed.
    fn chunk_at(&mut self, at: u64) -> Option<Arc<Chunk>> {
        let (_, chunk) = self.by_start.range(..=at).next_back()?;
        if !chunk.range.contains(&at) {
            return None;
        }
        let chunk = chunk.clone();
        if chunk.is_lost() {
            self.remove(chunk.range.start);
            return None;
        }
        Some(chunk)
    }

    /// Returns the range to fetch for the bytes from `at` to `end`: whole blocks, up to the next
    /// cached chunk.
    fn missing_range(&self, at: u64, end: u64) -> Range<u64> {
        let before = self.by_start.range(..=at).next_back();
        let before = before.map_or(0, |(_, chunk)| chunk.range.end);
        let after = self.by_start.range(at..).next();
        let after = after.map_or(self.len, |(start, _)| *start);
        let start = (at - at % BLOCK).max(before);
        let end = end.div_ceil(BLOCK).saturating_mul(BLOCK);
        start..end.min(after).min(start + MAX_BYTES)
    }

    /// Inserts a chunk that does not overlap others.
    pub(crate) fn insert(&mut self, chunk: Arc<Chunk>) {
        self.total += chunk.len();
        self.by_start.insert(chunk.range.start, chunk);
    }

    fn remove(&mut self, start: u64) {
        if let Some(chunk) = self.by_start.remove(&start) {
            self.total -= chunk.len();
        }
    }

    /// Evicts chunks that are neither being fetched nor part of the last request, until at most
    /// `most` bytes are cached.
    pub(crate) fn shrink(&mut self, most: u64) {
        if self.total <= most {
            return;
        }
        let may_go = |chunk: &&Arc<Chunk>| {
            chunk.used.load(Ordering::Relaxed) < self.now && !chunk.is_coming()
        };
        let used = |chunk: &Arc<Chunk>| chunk.used.load(Ordering::Relaxed);
        let old = self.by_start.values().filter(may_go);
        let mut old: Vec<_> =
            old.map(|chunk| (used(chunk), chunk.range.start)).collect();
        old.sort_unstable();
        for (_, start) in old {
            if self.total <= most {
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
    fn fetched(chunks: &mut ChunkCache, range: Range<u64>) -> Vec<(u64, u64)> {
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
        let mut chunks = ChunkCache::new(10 * BLOCK + 7);
        assert_eq!(fetched(&mut chunks, 5..6), [(0, BLOCK)]);
        assert!(fetched(&mut chunks, 0..BLOCK).is_empty());
        let end = 10 * BLOCK;
        assert_eq!(fetched(&mut chunks, end + 6..end + 7), [(end, end + 7)]);
        assert_eq!(fetched(&mut chunks, 3..3 * BLOCK + 1), [(BLOCK, 4 * BLOCK)]);
        assert_eq!(fetched(&mut chunks, 0..end + 7), [(4 * BLOCK, end)]);
    }

    #[test]
    fn long_range_is_fetched_by_several_requests() {
        let mut chunks = ChunkCache::new(u64::MAX);
        let all = fetched(&mut chunks, 0..2 * MAX_BYTES + 1);
        assert_eq!(
            all,
            [
                (0, MAX_BYTES),
                (MAX_BYTES, 2 * MAX_BYTES),
                (2 * MAX_BYTES, 2 * MAX_BYTES + BLOCK)
            ]
        );
    }

    #[test]
    fn released_chunks_are_evicted_before_the_least_recently_used() {
        let mut chunks = ChunkCache::new(8 * BLOCK);
        for block in 0..4 {
            fetched(&mut chunks, block * BLOCK..block * BLOCK + 1);
        }
        chunks.release(&(2 * BLOCK..3 * BLOCK));
        chunks.shrink(3 * BLOCK);
        assert_eq!(fetched(&mut chunks, 0..4 * BLOCK), [(2 * BLOCK, 3 * BLOCK)]);
        fetched(&mut chunks, 7 * BLOCK..8 * BLOCK);
        chunks.shrink(0);
        assert!(
            fetched(&mut chunks, 7 * BLOCK..8 * BLOCK).is_empty(),
            "part of the last request"
        );
        assert_eq!(fetched(&mut chunks, 0..1), [(0, BLOCK)]);
    }

    #[test]
    fn failed_chunk_is_fetched_again() {
        let mut chunks = ChunkCache::new(BLOCK);
        let (lost, promise) = Chunk::pending(0..BLOCK);
        chunks.cover(0..1, |_| lost.clone());
        drop(promise);
        assert!(lost.wait().is_err());
        assert_eq!(fetched(&mut chunks, 0..1), [(0, BLOCK)]);
    }
}
