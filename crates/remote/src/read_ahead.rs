//! Detects sequential readers of an object, and determines the ranges to prefetch for them.

use std::ops::Range;

use crate::chunk_cache::BLOCK_BYTES;

/// The maximum number of readers that are distinguished.
const MAX_READERS: usize = 16;
/// The maximum number of bytes that a sequential reader skips between two reads. Skipped bytes are
/// fetched, too.
const MAX_GAP_BYTES: u64 = 256 << 10;
/// A reader that skips up to `MAX_HOP_BYTES` bytes more than `MAX_HOPS` times reads through the
/// whole object. Then all bytes are fetched, because one long range arrives sooner than many short
/// ranges.
const MAX_HOP_BYTES: u64 = 2 << 20;
const MAX_HOPS: u32 = 32;
/// The minimum length of a prefetch.
const MIN_PREFETCH: u64 = 2 * BLOCK_BYTES;

/// The readers of an object.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    readers: Vec<SequentialReader>,
    now: u64,
}

#[derive(Debug)]
struct SequentialReader {
    /// The start of its first read.
    start: u64,
    /// The range of its last read.
    last: Range<u64>,
    /// The length of the next prefetch.
    window: u64,
    /// The end of the prefetched range.
    prefetched_end: u64,
    /// The number of skips that were longer than [`MAX_GAP_BYTES`].
    hop_count: u32,
    /// The logical time of the last read.
    last_use: u64,
}

impl ReadAhead {
    /// Records a read of `range`. Returns the range to prefetch, which has at most `max_bytes`
    /// bytes.
    pub(crate) fn read(
        &mut self,
        range: &Range<u64>,
        max_bytes: u64,
    ) -> Option<Range<u64>> {
        self.now += 1;
        let continues = |reader: &&mut SequentialReader| {
            let Range { start, end } = reader.last;
            (start..=end.saturating_add(MAX_HOP_BYTES)).contains(&range.start)
        };
        let nearest =
            |reader: &&mut SequentialReader| reader.last.end.abs_diff(range.start);
        let sequential_reader =
            self.readers.iter_mut().filter(continues).min_by_key(nearest);
        let Some(reader) = sequential_reader else {
            self.add_reader(range);
            return None;
        };
        reader.last_use = self.now;
        if range.end <= reader.last.end {
            return None; // it reads the same bytes again
        }
        let is_hop = range.start > reader.last.end.saturating_add(MAX_GAP_BYTES);
        reader.last = range.clone();
        if is_hop && reader.hop_count < MAX_HOPS {
            (reader.start, reader.window) = (range.start, 0);
            reader.hop_count += 1;
            return None;
        }
        if range.end - reader.start <= BLOCK_BYTES {
            return None; // it is still within one block
        }
        let len = range.end - range.start;
        let window = reader.window.max(len).saturating_mul(2);
        reader.window = window.max(MIN_PREFETCH).min(max_bytes);
        let end = range.end.saturating_add(reader.window);
        if reader.prefetched_end >= range.end.saturating_add(reader.window / 2) {
            return None; // enough is being fetched
        }
        let start = reader.prefetched_end.clamp(range.end, end);
        reader.prefetched_end = end;
        Some(start..end)
    }

    fn add_reader(&mut self, range: &Range<u64>) {
        if self.readers.len() >= MAX_READERS {
            let oldest =
                (0..).zip(&self.readers).min_by_key(|(_, reader)| reader.last_use);
            let oldest = oldest.map(|(index, _)| index);
            oldest.map(|index| self.readers.swap_remove(index));
        }
        let (start, last, last_use) = (range.start, range.clone(), self.now);
        self.readers.push(SequentialReader {
            start,
            last,
            window: 0,
            prefetched_end: 0,
            hop_count: 0,
            last_use,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_OBJECTS: u64 = 16 << 20;
    const MIB: u64 = 1 << 20;

    #[test]
    fn random_reads_do_not_prefetch() {
        let mut read_ahead = ReadAhead::default();
        for at in [0, 900 * MIB, 500 * MIB, 100 * MIB, 300 * MIB] {
            assert_eq!(read_ahead.read(&(at..at + 4096), MAX_OBJECTS), None);
            assert_eq!(
                read_ahead.read(&(at..at + 9000), MAX_OBJECTS),
                None,
                "still one block"
            );
        }
    }

    #[test]
    fn prefetch_of_sequential_reads_grows() {
        let mut read_ahead = ReadAhead::default();
        assert_eq!(read_ahead.read(&(0..MIB), MAX_OBJECTS), None);
        assert_eq!(
            read_ahead.read(&(MIB..2 * MIB), MAX_OBJECTS),
            Some(2 * MIB..4 * MIB)
        );
        assert_eq!(
            read_ahead.read(&(2 * MIB..3 * MIB), MAX_OBJECTS),
            Some(4 * MIB..7 * MIB)
        );
        let mut ahead = 7 * MIB;
        for at in 3..100 {
            if let Some(more) =
                read_ahead.read(&(at * MIB..(at + 1) * MIB), MAX_OBJECTS)
            {
                assert!(
                    more.start == ahead && more.end <= (at + 1) * MIB + MAX_OBJECTS
                );
                ahead = more.end;
            }
            assert!(ahead >= (at + 1) * MIB + MAX_OBJECTS / 4 || at < 10);
        }
    }

    #[test]
    fn two_sequential_readers_are_distinguished() {
        let mut read_ahead = ReadAhead::default();
        let far = 500 * MIB;
        read_ahead.read(&(0..MIB), MAX_OBJECTS);
        read_ahead.read(&(far..far + MIB), MAX_OBJECTS);
        assert!(read_ahead.read(&(MIB..2 * MIB), MAX_OBJECTS).is_some());
        assert!(read_ahead.read(&(far + MIB..far + 2 * MIB), MAX_OBJECTS).is_some());
    }

    #[test]
    fn reader_with_regular_skips_gets_everything() {
        let mut read_ahead = ReadAhead::default();
        let heads = (0..1000).map(|n| n * MIB..n * MIB + 512);
        let asked: Vec<_> =
            heads.map(|head| read_ahead.read(&head, MAX_OBJECTS)).collect();
        let first = asked.iter().position(Option::is_some);
        assert_eq!(first, Some(MAX_HOPS as usize + 1));
        let fetched = asked.into_iter().flatten();
        assert!(fetched.map(|ahead| ahead.end - ahead.start).sum::<u64>() > 900 * MIB);
    }
}
