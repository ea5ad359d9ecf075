//! Reads message headers on other threads, ahead of the index pass.

use std::{ops::Range, sync::Arc};

use bytes::{Buf as _, Bytes};
use logtool_core::{Queue, Result, Source};

use crate::vel::{
    judge::{Judge, Look},
    start::Start,
    wire::{HEAD_LEN, HEADER_LEN},
};

/// The number of bytes of a message that the index pass examines: the header, the data of
/// GPS and pose messages, and the length of an image.
pub(super) const SEEN: usize = HEADER_LEN + 80;

/// The maximum number of index entries that are used: 36 hours.
const ENTRIES: usize = 1 << 17;
/// The seconds of the index are grouped to ranges of about this number of bytes, with at
/// most `MESSAGES` messages.
const TOGETHER: u64 = 16 << 20;
const MESSAGES: usize = 1 << 14;
/// If messages are shorter than this on average, a disk reads all bytes faster than it
/// seeks to each message. The source is then asked to prefetch `SOON` bytes.
const CLOSE: u64 = 128 << 10;
const SOON: u64 = 64 << 20;
/// The bytes that are read at once. They often include the header of the next message.
const NEAR: u64 = 1 << 10;

/// The headers of the messages of a log, starting at the seconds in its index.
///
/// They are only an optimization: there are none where the index is wrong or anything is
/// damaged, and none in a pool of one thread.
pub(super) struct Heads {
    source: Arc<dyn Source>,
    judge: Judge,
    /// The position of the first message.
    start: u64,
    /// The end of the range that the source was asked to prefetch.
    told: u64,
    /// The remaining index entries.
    entries: Bytes,
    /// The position before which no further headers are needed.
    reached: u64,
    at_work: Queue<Heard>,
    /// The number of submitted tasks.
    begun: usize,
    width: usize,
    heard: Heard,
}

/// The headers of some consecutive messages.
#[derive(Default)]
struct Heard {
    /// The positions of the messages.
    places: Vec<u64>,
    /// [`SEEN`] bytes of each message.
    bytes: Bytes,
    /// The number of messages before the current one.
    passed: usize,
}

impl Heads {
    /// Creates a reader of the log in `source`, whose messages start at `start`.
    ///
    /// # Errors
    /// Fails if the index cannot be read.
    pub(super) fn new(
        source: &Arc<dyn Source>,
        judge: Judge,
        start: Start,
    ) -> Result<Self> {
        let threads = rayon::current_num_threads();
        let index = HEAD_LEN as u64..start.at.min((HEAD_LEN + 8 * ENTRIES) as u64);
        let entries = if threads > 1 { source.read_at(index)? } else { Bytes::new() };
        Ok(Self {
            source: source.clone(),
            judge,
            start: start.at,
            told: start.at,
            entries,
            reached: start.at,
            at_work: Queue::of(threads + 1),
            begun: 0,
            width: threads + 1,
            heard: Heard::default(),
        })
    }

    /// Returns the first [`SEEN`] bytes of the message at `at`, if they were read ahead.
    /// `at` must not decrease. `messages` is the number of messages before it.
    pub(super) fn at(&mut self, at: u64, messages: u64) -> Option<Bytes> {
        let is_dense = (at - self.start) / CLOSE < messages;
        if is_dense && at.saturating_add(SOON / 2) > self.told {
            let soon = at.saturating_add(SOON);
            self.source.will_peek(self.told.max(at)..soon);
            self.told = soon;
        }
        loop {
            if let Some(found) = self.heard.at(at) {
                return found;
            }
            self.reached = self.reached.max(at);
            self.begin();
            self.heard = self.at_work.wait()?;
            self.begun -= 1;
        }
    }

    /// Submits tasks that read the next headers.
    fn begin(&mut self) {
        while self.begun < self.width
            && let Some(stretch) = self.next()
        {
            let (source, judge) = (self.source.clone(), self.judge);
            self.at_work.push(move || Heard::of(&*source, judge, stretch));
            self.begun += 1;
        }
    }

    /// Returns the next range, from the start of a second to that of another.
    fn next(&mut self) -> Option<Range<u64>> {
        let mut start: Option<u64> = None;
        while let Some(entry) = self.entries.first_chunk() {
            let entry = u64::from_le_bytes(*entry);
            if (self.reached..self.judge.end).contains(&entry) {
                let from = *start.get_or_insert(entry);
                if entry.saturating_sub(from) >= TOGETHER {
                    self.reached = entry;
                    return Some(from..entry);
                }
            }
            self.entries.advance(8);
        }
        self.reached = self.judge.end;
        start.map(|from| from..self.judge.end)
    }
}

impl Heard {
    /// Reads the headers of consecutive messages in `range`. Stops at the first anomaly.
    fn of(source: &dyn Source, judge: Judge, stretch: Range<u64>) -> Self {
        let (mut places, mut bytes) = (Vec::new(), Vec::new());
        let (mut at, mut near, mut near_at) = (stretch.start, Bytes::new(), 0);
        while at < stretch.end && places.len() < MESSAGES {
            let mut skip = usize::try_from(at - near_at).unwrap_or(usize::MAX);
            if near.len() < skip.saturating_add(SEEN) {
                let Ok(read) = source.peek(at..at.saturating_add(NEAR)) else { break };
                (near, near_at, skip) = (read, at, 0);
            }
            let Some(head) = near.get(skip..skip + SEEN) else { break };
            let Look::Message(message) = judge.look(at, head) else { break };
            places.push(at);
            bytes.extend_from_slice(head);
            at += message.len;
        }
        Self { places, bytes: bytes.into(), passed: 0 }
    }

    /// Returns the header of the message at `at`, `Some(None)` if it was not read ahead,
    /// or `None` if all headers are before `at`.
    fn at(&mut self, at: u64) -> Option<Option<Bytes>> {
        let rest = self.places.get(self.passed..).unwrap_or_default();
        let before = rest.iter().take_while(|place| **place < at).count();
        self.passed += before;
        let place = rest.get(before)?;
        let from = SEEN * self.passed;
        Some((*place == at).then(|| self.bytes.slice(from..from + SEEN)))
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Cursor, iter};

    use super::*;
    use crate::vel::{
        Obd, Writer, WriterOptions,
        wire::{PACKET_LEN, SizeField},
    };

    const SECONDS: u32 = 60;

    /// Creates a log of one minute and 30 MB, and returns it with the positions of its
    /// messages, which follow from their lengths.
    fn log() -> (Vec<u8>, Vec<u64>) {
        let options = WriterOptions { seconds: SECONDS, ..WriterOptions::default() };
        let mut log = Writer::new(Cursor::new(Vec::new()), options).unwrap();
        let packets = [[7; PACKET_LEN]; 40];
        let lens = [25 + 40 * PACKET_LEN as u64, 21 + 28];
        let mut at = HEAD_LEN as u64 + 8 * u64::from(SECONDS);
        let mut places = Vec::new();
        for turn in 0..10 * SECONDS {
            let millis = 100.0 * f64::from(turn);
            log.packets(millis, &packets).unwrap();
            log.obd(millis, Obd::default()).unwrap();
            for len in lens {
                places.push(at);
                at += len;
            }
        }
        let bytes = log.finish().unwrap().into_inner();
        assert_eq!(bytes.len() as u64, at);
        (bytes, places)
    }

    /// Returns for each message whether it was read ahead in a pool of this number of
    /// `threads`. Asserts that its bytes are correct.
    fn heard(bytes: &[u8], places: &[u64], threads: usize) -> Vec<bool> {
        let source: Arc<dyn Source> = Arc::new(Bytes::copy_from_slice(bytes));
        let size_field = SizeField::AfterItself;
        let judge = Judge { size_field, end: bytes.len() as u64 };
        let start = Start { at: places[0], size_field, votes: [0, 0] };
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut heads = Heads::new(&source, judge, start).unwrap();
            let heard = iter::zip(0.., places).map(|(messages, place)| {
                let head = heads.at(*place, messages);
                let at = *place as usize;
                head.inspect(|head| assert_eq!(**head, bytes[at..at + SEEN])).is_some()
            });
            heard.collect()
        })
    }

    #[test]
    fn all_messages_are_read_ahead_with_a_correct_index() {
        let (bytes, places) = log();
        for threads in [2, 5] {
            let heard = heard(&bytes, &places, threads);
            // The last message has fewer than `SEEN` bytes.
            let (last, others) = heard.split_last().unwrap();
            assert!(others.iter().all(|heard| *heard) && !last, "{threads}: {heard:?}");
        }
        assert!(heard(&bytes, &places, 1).iter().all(|heard| !heard));
    }

    #[test]
    fn wrong_index_or_damage_never_yields_wrong_headers() {
        let (whole, places) = log();
        // Damage one message: the headers up to the next range of the index are lost.
        let mut damaged = whole.clone();
        let broken = places[700] as usize;
        damaged[broken..broken + HEADER_LEN].fill(0);
        let damaged_heard = heard(&damaged, &places, 2);
        let count = damaged_heard.iter().filter(|heard| **heard).count();
        assert!(damaged_heard[..700].iter().all(|heard| *heard) && !damaged_heard[700]);
        assert!((700..places.len() - 1).contains(&count), "{count}");
        // Entries that are unordered, far outside the file, or inside messages.
        let mut number = 1_u64;
        let mut next = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            number >> 24
        };
        for turn in 0..20 {
            let mut bytes = whole.clone();
            for entry in bytes[HEAD_LEN..places[0] as usize].chunks_exact_mut(8) {
                let value = match next() % 4 {
                    0 => next() << 23,
                    1 => places[next() as usize % places.len()],
                    2 => 0,
                    _ => next() % whole.len() as u64,
                };
                entry.copy_from_slice(&value.to_le_bytes());
            }
            heard(&bytes, &places, 2 + turn % 2);
        }
    }
}
