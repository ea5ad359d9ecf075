//! The cached chunks of an object. They do not overlap; the least recently used ones are evicted
//! first.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use crate::piece::Piece;

/// Fetched ranges start and end at multiples of this, or at the end of the object.
pub(crate) const BLOCK: u64 = 64 << 10;

/// The maximum length of one request; longer ranges are fetched by several requests at once.
pub(crate) const LONGEST: u64 = 2 << 20;

/// The cached chunks of an object.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The length of the object.
    len: u64,
    by_start: BTreeMap<u64, Arc<Piece>>,
    /// The total number of bytes.
    total: u64,
    /// The logical time, which counts requests of the reader.
    now: u64,
}

impl Pieces {
    /// Creates an empty cache for an object of `len` bytes.
    pub(crate) fn new(len: u64) -> Self {
        Self { len, by_start: BTreeMap::new(), total: 0, now: 0 }
    }

    /// Returns the chunks that cover `range`, which must be within the object, in order. Calls
    /// `fetch` to start fetching missing ones.
    pub(crate) fn cover(
        &mut self,
        range: Range<u64>,
        mut fetch: impl FnMut(Range<u64>) -> Arc<Piece>,
    ) -> Vec<Arc<Piece>> {
        self.now += 1;
        let mut covering = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let piece = match self.at(at) {
                Some(piece) => piece,
                None => {
                    let piece = fetch(self.gap(at, range.end));
                    self.insert(piece.clone());
                    piece
                }
            };
            piece.touch(self.now);
            at = piece.range.end;
            covering.push(piece);
        }
        covering
    }

    /// Returns the chunk that contains `at`, unless fetching it failed.
    fn at(&mut self, at: u64) -> Option<Arc<Piece>> {
        let (_, piece) = self.by_start.range(..=at).next_back()?;
        if !piece.range.contains(&at) {
            return None;
        }
        let piece = piece.clone();
        if piece.is_lost() {
            self.remove(piece.range.start);
            return None;
        }
        Some(piece)
    }

    /// Returns the range to fetch for the bytes from `at` to `end`: whole blocks, up to the next
    /// cached chunk.
    fn gap(&self, at: u64, end: u64) -> Range<u64> {
        let before = self.by_start.range(..=at).next_back();
        let before = before.map_or(0, |(_, piece)| piece.range.end);
        let after = self.by_start.range(at..).next();
        let after = after.map_or(self.len, |(start, _)| *start);
        let start = (at - at % BLOCK).max(before);
        let end = end.div_ceil(BLOCK).saturating_mul(BLOCK);
        start..end.min(after).min(start + LONGEST)
    }

    /// Inserts a chunk that does not overlap others.
    pub(crate) fn insert(&mut self, piece: Arc<Piece>) {
        self.total += piece.len();
        self.by_start.insert(piece.range.start, piece);
    }

    fn remove(&mut self, start: u64) {
        if let Some(piece) = self.by_start.remove(&start) {
            self.total -= piece.len();
        }
    }

    /// Evicts chunks that are neither being fetched nor part of the last request, until at most
    /// `most` bytes are cached.
    pub(crate) fn shrink(&mut self, most: u64) {
        if self.total <= most {
            return;
        }
        let may_go = |piece: &&Arc<Piece>| {
            piece.used.load(Ordering::Relaxed) < self.now && !piece.is_coming()
        };
        let used = |piece: &Arc<Piece>| piece.used.load(Ordering::Relaxed);
        let old = self.by_start.values().filter(may_go);
        let mut old: Vec<_> =
            old.map(|piece| (used(piece), piece.range.start)).collect();
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
        for piece in self.by_start.range(range.start..).map(|(_, piece)| piece) {
            if piece.range.end > range.end {
                break;
            }
            piece.touch(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn whole(range: Range<u64>) -> Arc<Piece> {
        let len = (range.end - range.start) as usize;
        Piece::here(range.start, Bytes::from(vec![0; len]))
    }

    /// Returns the ranges that are fetched for `range`.
    fn fetched(pieces: &mut Pieces, range: Range<u64>) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        let covering = pieces.cover(range.clone(), |range| {
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
        let mut pieces = Pieces::new(10 * BLOCK + 7);
        assert_eq!(fetched(&mut pieces, 5..6), [(0, BLOCK)]);
        assert!(fetched(&mut pieces, 0..BLOCK).is_empty());
        let end = 10 * BLOCK;
        assert_eq!(fetched(&mut pieces, end + 6..end + 7), [(end, end + 7)]);
        assert_eq!(fetched(&mut pieces, 3..3 * BLOCK + 1), [(BLOCK, 4 * BLOCK)]);
        assert_eq!(fetched(&mut pieces, 0..end + 7), [(4 * BLOCK, end)]);
    }

    #[test]
    fn long_range_is_fetched_by_several_requests() {
        let mut pieces = Pieces::new(u64::MAX);
        let all = fetched(&mut pieces, 0..2 * LONGEST + 1);
        assert_eq!(
            all,
            [(0, LONGEST), (LONGEST, 2 * LONGEST), (2 * LONGEST, 2 * LONGEST + BLOCK)]
        );
    }

    #[test]
    fn released_chunks_are_evicted_before_the_least_recently_used() {
        let mut pieces = Pieces::new(8 * BLOCK);
        for block in 0..4 {
            fetched(&mut pieces, block * BLOCK..block * BLOCK + 1);
        }
        pieces.release(&(2 * BLOCK..3 * BLOCK));
        pieces.shrink(3 * BLOCK);
        assert_eq!(fetched(&mut pieces, 0..4 * BLOCK), [(2 * BLOCK, 3 * BLOCK)]);
        fetched(&mut pieces, 7 * BLOCK..8 * BLOCK);
        pieces.shrink(0);
        assert!(
            fetched(&mut pieces, 7 * BLOCK..8 * BLOCK).is_empty(),
            "part of the last request"
        );
        assert_eq!(fetched(&mut pieces, 0..1), [(0, BLOCK)]);
    }

    #[test]
    fn failed_chunk_is_fetched_again() {
        let mut pieces = Pieces::new(BLOCK);
        let (lost, promise) = Piece::coming(0..BLOCK);
        pieces.cover(0..1, |_| lost.clone());
        drop(promise);
        assert!(lost.wait().is_err());
        assert_eq!(fetched(&mut pieces, 0..1), [(0, BLOCK)]);
    }
}
