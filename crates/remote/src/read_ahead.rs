//! Detects sequential readers of an object, and decides what to prefetch for them.

use std::ops::Range;

use crate::chunk_cache::BLOCK;

/// The maximum number of readers that are distinguished.
const STREAMS: usize = 16;
/// A reader that skips at most this many bytes is sequential, and skipped bytes are fetched, too.
const GAP: u64 = 256 << 10;
/// A reader that skips at most this many bytes, several times, reads through the whole object. Then
/// everything is fetched: one long range arrives sooner than many short ones.
const HOP: u64 = 2 << 20;
const HOPS: u32 = 32;
/// The minimum length of a prefetch.
const MIN_PREFETCH: u64 = 2 * BLOCK;

/// The readers of an object.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    read_ahead: Vec<SequentialReader>,
    now: u64,
}

#[derive(Debug)]
struct SequentialReader {
    /// The start of its first read.
    begin: u64,
    /// The range of its last read.
    last: Range<u64>,
    /// The length of the prefetch, and the end of the prefetched range.
    window: u64,
    ahead: u64,
    hops: u32,
    used: u64,
}

impl ReadAhead {
    /// Records a read of `range`, and returns the range to prefetch, which has at most `most`
    /// bytes.
    pub(crate) fn read(&mut self, range: &Range<u64>, most: u64) -> Option<Range<u64>> {
        self.now += 1;
        let goes_on = |stream: &&mut SequentialReader| {
            let Range { start, end } = stream.last;
            (start..=end.saturating_add(HOP)).contains(&range.start)
        };
        let nearest =
            |stream: &&mut SequentialReader| stream.last.end.abs_diff(range.start);
        let found = self.read_ahead.iter_mut().filter(goes_on).min_by_key(nearest);
        let Some(stream) = found else {
            self.begin(range);
            return None;
        };
        stream.used = self.now;
        if range.end <= stream.last.end {
            return None; // it reads the same bytes again
        }
        let is_hop = range.start > stream.last.end.saturating_add(GAP);
        stream.last = range.clone();
        if is_hop && stream.hops < HOPS {
            (stream.begin, stream.window) = (range.start, 0);
            stream.hops += 1;
            return None;
        }
        if range.end - stream.begin <= BLOCK {
            return None; // it is still within one block
        }
        let len = range.end - range.start;
        let wider = stream.window.max(len).saturating_mul(2);
        stream.window = wider.max(MIN_PREFETCH).min(most);
        let until = range.end.saturating_add(stream.window);
        if stream.ahead >= range.end.saturating_add(stream.window / 2) {
            return None; // enough is being fetched
        }
        let from = stream.ahead.clamp(range.end, until);
        stream.ahead = until;
        Some(from..until)
    }

    fn begin(&mut self, range: &Range<u64>) {
        if self.read_ahead.len() >= STREAMS {
            let oldest =
                (0..).zip(&self.read_ahead).min_by_key(|(_, stream)| stream.used);
            let oldest = oldest.map(|(index, _)| index);
            oldest.map(|index| self.read_ahead.swap_remove(index));
        }
        let (begin, last, used) = (range.start, range.clone(), self.now);
        self.read_ahead.push(SequentialReader {
            begin,
            last,
            window: 0,
            ahead: 0,
            hops: 0,
            used,
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
        assert_eq!(first, Some(HOPS as usize + 1));
        let fetched = asked.into_iter().flatten();
        assert!(fetched.map(|ahead| ahead.end - ahead.start).sum::<u64>() > 900 * MIB);
    }
}
