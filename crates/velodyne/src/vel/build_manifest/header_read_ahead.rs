//! Reads message headers on other threads, ahead of the index pass.

use std::{ops::Range, sync::Arc};

use bytes::{Buf as _, Bytes};
use logtool_core::{Result, Source, TaskQueue};

use crate::vel::{
    classifier::{Classification, MessageClassifier},
    first_message::LogStart,
    wire::{FILE_HEADER_LEN, HEADER_LEN},
};

/// The number of bytes of a message that the index pass examines: the header, the data of
/// GPS and pose messages, and the length of an image.
pub(super) const EXAMINED_BYTES: usize = HEADER_LEN + 80;

/// The maximum number of index entries that are used: 36 hours.
const MAX_ENTRIES: usize = 1 << 17;
/// The seconds of the index are grouped to ranges of about this number of bytes, with at
/// most `MAX_MESSAGES` messages.
const RANGE_BYTES: u64 = 16 << 20;
const MAX_MESSAGES: usize = 1 << 14;
/// If messages are shorter than this on average, a disk reads all bytes faster than it
/// seeks to each message. The source is then asked to prefetch `PREFETCH_BYTES` bytes.
const DENSE_BYTES: u64 = 128 << 10;
const PREFETCH_BYTES: u64 = 64 << 20;
/// The bytes that are read at once. They often include the header of the next message.
const READ_BYTES: u64 = 1 << 10;

/// The headers of the messages of a log, starting at the seconds in its index.
///
/// They are only an optimization: there are none where the index is wrong or anything is
/// damaged, and none in a pool of one thread.
pub(super) struct HeaderReadAhead {
    source: Arc<dyn Source>,
    classifier: MessageClassifier,
    /// The position of the first message.
    start: u64,
    /// The end of the range that the source was asked to prefetch.
    prefetched: u64,
    /// The remaining index entries.
    entries: Bytes,
    /// The position before which no further headers are needed.
    reached: u64,
    at_work: TaskQueue<HeaderBatch>,
    /// The number of submitted tasks.
    submitted: usize,
    width: usize,
    batch: HeaderBatch,
}

/// The headers of some consecutive messages.
#[derive(Default)]
struct HeaderBatch {
    /// The positions of the messages.
    positions: Vec<u64>,
    /// [`EXAMINED_BYTES`] bytes of each message.
    bytes: Bytes,
    /// The number of messages before the current one.
    passed: usize,
}

impl HeaderReadAhead {
    /// Creates a reader of the log in `source`, whose messages start at `start`.
    ///
    /// # Errors
    /// Fails if the index cannot be read.
    pub(super) fn new(
        source: &Arc<dyn Source>,
        classifier: MessageClassifier,
        start: LogStart,
    ) -> Result<Self> {
        let threads = rayon::current_num_threads();
        let index = FILE_HEADER_LEN as u64
            ..start.at.min((FILE_HEADER_LEN + 8 * MAX_ENTRIES) as u64);
        let entries = if threads > 1 { source.read_at(index)? } else { Bytes::new() };
        Ok(Self {
            source: source.clone(),
            classifier,
            start: start.at,
            prefetched: start.at,
            entries,
            reached: start.at,
            at_work: TaskQueue::with_width(threads + 1),
            submitted: 0,
            width: threads + 1,
            batch: HeaderBatch::default(),
        })
    }

    /// Returns the first [`EXAMINED_BYTES`] bytes of the message at `at`, if they were read ahead.
    /// `at` must not decrease. `messages` is the number of messages before it.
    pub(super) fn head_at(&mut self, at: u64, messages: u64) -> Option<Bytes> {
        let is_dense = (at - self.start) / DENSE_BYTES < messages;
        if is_dense && at.saturating_add(PREFETCH_BYTES / 2) > self.prefetched {
            let prefetch_end = at.saturating_add(PREFETCH_BYTES);
            self.source.will_peek(self.prefetched.max(at)..prefetch_end);
            self.prefetched = prefetch_end;
        }
        loop {
            if let Some(header) = self.batch.at(at) {
                return header;
            }
            self.reached = self.reached.max(at);
            self.submit();
            self.batch = self.at_work.wait()?;
            self.submitted -= 1;
        }
    }

    /// Submits tasks that read the next headers.
    fn submit(&mut self) {
        while self.submitted < self.width
            && let Some(range) = self.next()
        {
            let (source, classifier) = (self.source.clone(), self.classifier);
            self.at_work.push(move || HeaderBatch::read(&*source, classifier, range));
            self.submitted += 1;
        }
    }

    /// Returns the next range, from the start of a second to that of another.
    fn next(&mut self) -> Option<Range<u64>> {
        let mut start: Option<u64> = None;
        while let Some(entry) = self.entries.first_chunk() {
            let entry = u64::from_le_bytes(*entry);
            if (self.reached..self.classifier.end).contains(&entry) {
                let from = *start.get_or_insert(entry);
                if entry.saturating_sub(from) >= RANGE_BYTES {
                    self.reached = entry;
                    return Some(from..entry);
                }
            }
            self.entries.advance(8);
        }
        self.reached = self.classifier.end;
        start.map(|from| from..self.classifier.end)
    }
}

impl HeaderBatch {
    /// Reads the headers of consecutive messages in `range`. Stops at the first anomaly.
    fn read(
        source: &dyn Source,
        classifier: MessageClassifier,
        range: Range<u64>,
    ) -> Self {
        let (mut positions, mut bytes) = (Vec::new(), Vec::new());
        let (mut at, mut buffer, mut buffer_at) = (range.start, Bytes::new(), 0);
        while at < range.end && positions.len() < MAX_MESSAGES {
            let mut skip = usize::try_from(at - buffer_at).unwrap_or(usize::MAX);
            if buffer.len() < skip.saturating_add(EXAMINED_BYTES) {
                let Ok(read) = source.peek(at..at.saturating_add(READ_BYTES)) else {
                    break;
                };
                (buffer, buffer_at, skip) = (read, at, 0);
            }
            let Some(header) = buffer.get(skip..skip + EXAMINED_BYTES) else { break };
            let Classification::Message(message) = classifier.classify(at, header)
            else {
                break;
            };
            positions.push(at);
            bytes.extend_from_slice(header);
            at += message.len;
        }
        Self { positions, bytes: bytes.into(), passed: 0 }
    }

    /// Returns the header of the message at `at`, `Some(None)` if it was not read ahead,
    /// or `None` if all headers are before `at`.
    fn at(&mut self, at: u64) -> Option<Option<Bytes>> {
        let rest = self.positions.get(self.passed..).unwrap_or_default();
        let before = rest.iter().take_while(|position| **position < at).count();
        self.passed += before;
        let position = rest.get(before)?;
        let from = EXAMINED_BYTES * self.passed;
        Some((*position == at).then(|| self.bytes.slice(from..from + EXAMINED_BYTES)))
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Cursor, iter};

    use super::*;
    use crate::vel::Obd;
    use crate::vel::Writer;
    use crate::vel::WriterOptions;
    use crate::vel::wire::PACKET_LEN;
    use crate::vel::wire::SizeField;

    const SECONDS: u32 = 60;

    /// Creates a log of one minute and 30 MB, and returns it with the positions of its
    /// messages, which follow from their lengths.
    fn log() -> (Vec<u8>, Vec<u64>) {
        let options = WriterOptions { seconds: SECONDS, ..WriterOptions::default() };
        let mut log = Writer::new(Cursor::new(Vec::new()), options).unwrap();
        let packets = [[7; PACKET_LEN]; 40];
        let lengths = [25 + 40 * PACKET_LEN as u64, 21 + 28];
        let mut at = FILE_HEADER_LEN as u64 + 8 * u64::from(SECONDS);
        let mut positions = Vec::new();
        for turn in 0..10 * SECONDS {
            let millis = 100.0 * f64::from(turn);
            log.packets(millis, &packets).unwrap();
            log.obd(millis, Obd::default()).unwrap();
            for len in lengths {
                positions.push(at);
                at += len;
            }
        }
        let bytes = log.finish().unwrap().into_inner();
        assert_eq!(bytes.len() as u64, at);
        (bytes, positions)
    }

    /// Returns for each message whether it was read ahead in a pool of this number of
    /// `threads`. Asserts that its bytes are correct.
    fn read_ahead(bytes: &[u8], positions: &[u64], threads: usize) -> Vec<bool> {
        let source: Arc<dyn Source> = Arc::new(Bytes::copy_from_slice(bytes));
        let size_field = SizeField::AfterItself;
        let classifier = MessageClassifier { size_field, end: bytes.len() as u64 };
        let start = LogStart { at: positions[0], size_field, votes: [0, 0] };
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut heads = HeaderReadAhead::new(&source, classifier, start).unwrap();
            let read_ahead = iter::zip(0.., positions).map(|(messages, position)| {
                let head = heads.head_at(*position, messages);
                let at = *position as usize;
                head.inspect(|head| assert_eq!(**head, bytes[at..at + EXAMINED_BYTES]))
                    .is_some()
            });
            read_ahead.collect()
        })
    }

    #[test]
    fn all_messages_are_read_ahead_with_a_correct_index() {
        let (bytes, positions) = log();
        for threads in [2, 5] {
            let read_ahead = read_ahead(&bytes, &positions, threads);
            // The last message has fewer than `EXAMINED_BYTES` bytes.
            let (last, others) = read_ahead.split_last().unwrap();
            assert!(
                others.iter().all(|read_ahead| *read_ahead) && !last,
                "{threads}: {read_ahead:?}"
            );
        }
        assert!(read_ahead(&bytes, &positions, 1).iter().all(|read_ahead| !read_ahead));
    }

    #[test]
    fn wrong_index_or_damage_never_yields_wrong_headers() {
        let (whole, positions) = log();
        // Damage one message: the headers up to the next range of the index are lost.
        let mut damaged = whole.clone();
        let broken = positions[700] as usize;
        damaged[broken..broken + HEADER_LEN].fill(0);
        let damaged_heard = read_ahead(&damaged, &positions, 2);
        let count = damaged_heard.iter().filter(|read_ahead| **read_ahead).count();
        assert!(
            damaged_heard[..700].iter().all(|read_ahead| *read_ahead)
                && !damaged_heard[700]
        );
        assert!((700..positions.len() - 1).contains(&count), "{count}");
        // Entries that are unordered, far outside the file, or inside messages.
        let mut number = 1_u64;
        let mut next = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            number >> 24
        };
        for turn in 0..20 {
            let mut bytes = whole.clone();
            for entry in
                bytes[FILE_HEADER_LEN..positions[0] as usize].chunks_exact_mut(8)
            {
                let value = match next() % 4 {
                    0 => next() << 23,
                    1 => positions[next() as usize % positions.len()],
                    2 => 0,
                    _ => next() % whole.len() as u64,
                };
                entry.copy_from_slice(&value.to_le_bytes());
            }
            read_ahead(&bytes, &positions, 2 + turn % 2);
        }
    }
}
