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

/// The minimum length of the ranges that tasks read. They consist of seconds of the index.
const RANGE_BYTES: u64 = 16 << 20;

/// The maximum number of messages of a range whose headers are read.
const MAX_MESSAGES: usize = 1 << 14;

/// If messages are shorter than this on average, a disk reads all bytes faster than it
/// seeks to each message, so the source is asked to prefetch.
const DENSE_BYTES: u64 = 128 << 10;

/// The number of bytes that the source is asked to prefetch.
const PREFETCH_BYTES: u64 = 64 << 20;

/// The number of bytes that are read at once. They often include the header of the next
/// message.
const READ_BYTES: u64 = 1 << 10;

/// Reads the headers of messages ahead, starting at the seconds in the index of the log.
///
/// This is only an optimization: no headers are read ahead where the index is wrong or
/// messages are damaged, nor in a pool of one thread.
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
    tasks: TaskQueue<HeaderBatch>,
    /// The number of submitted tasks whose results were not taken.
    pending_tasks: usize,
    max_pending_tasks: usize,
    batch: HeaderBatch,
}

/// The first bytes of some consecutive messages.
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
        let max_index_end = (FILE_HEADER_LEN + 8 * MAX_ENTRIES) as u64;
        let index = FILE_HEADER_LEN as u64..start.at.min(max_index_end);
        let entries = if threads > 1 { source.read_at(index)? } else { Bytes::new() };
        Ok(Self {
            source: source.clone(),
            classifier,
            start: start.at,
            prefetched: start.at,
            entries,
            reached: start.at,
            tasks: TaskQueue::with_width(threads + 1),
            pending_tasks: 0,
            max_pending_tasks: threads + 1,
            batch: HeaderBatch::default(),
        })
    }

    /// Returns the first [`EXAMINED_BYTES`] bytes of the message at `at`, if they were read
    /// ahead. `at` must not decrease from call to call. `messages_before` is the number of
    /// messages before `at`.
    pub(super) fn first_bytes_at(
        &mut self,
        at: u64,
        messages_before: u64,
    ) -> Option<Bytes> {
        let is_dense = (at - self.start) / DENSE_BYTES < messages_before;
        if is_dense && at.saturating_add(PREFETCH_BYTES / 2) > self.prefetched {
            let prefetch_end = at.saturating_add(PREFETCH_BYTES);
            self.source.will_peek(self.prefetched.max(at)..prefetch_end);
            self.prefetched = prefetch_end;
        }
        loop {
            if let Some(first_bytes) = self.batch.first_bytes_at(at) {
                return first_bytes;
            }
            self.reached = self.reached.max(at);
            self.submit_tasks();
            self.batch = self.tasks.wait()?;
            self.pending_tasks -= 1;
        }
    }

    /// Submits tasks that read the next headers.
    fn submit_tasks(&mut self) {
        while self.pending_tasks < self.max_pending_tasks
            && let Some(range) = self.next_range()
        {
            let (source, classifier) = (self.source.clone(), self.classifier);
            self.tasks.push(move || HeaderBatch::read(&*source, classifier, range));
            self.pending_tasks += 1;
        }
    }

    /// Returns the next range, from the start of a second to that of a later one.
    fn next_range(&mut self) -> Option<Range<u64>> {
        let mut range_start: Option<u64> = None;
        while let Some(entry) = self.entries.first_chunk() {
            let entry = u64::from_le_bytes(*entry);
            if (self.reached..self.classifier.end).contains(&entry) {
                let start = *range_start.get_or_insert(entry);
                if entry.saturating_sub(start) >= RANGE_BYTES {
                    self.reached = entry;
                    return Some(start..entry);
                }
            }
            self.entries.advance(8);
        }
        self.reached = self.classifier.end;
        range_start.map(|start| start..self.classifier.end)
    }
}

impl HeaderBatch {
    /// Reads the first bytes of consecutive messages in `range`. Stops at the first message
    /// that is not ordinary.
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
            let first_bytes = buffer.get(skip..skip + EXAMINED_BYTES);
            let Some(first_bytes) = first_bytes else { break };
            let Classification::Message(message) = classifier.classify(at, first_bytes)
            else {
                break;
            };
            positions.push(at);
            bytes.extend_from_slice(first_bytes);
            at += message.len;
        }
        Self { positions, bytes: bytes.into(), passed: 0 }
    }

    /// Returns the first bytes of the message at `at`, `Some(None)` if they were not read
    /// ahead, or `None` if all messages of the batch are before `at`.
    fn first_bytes_at(&mut self, at: u64) -> Option<Option<Bytes>> {
        let remaining = self.positions.get(self.passed..).unwrap_or_default();
        let before = remaining.iter().take_while(|position| **position < at).count();
        self.passed += before;
        let position = remaining.get(before)?;
        let start = EXAMINED_BYTES * self.passed;
        Some((*position == at).then(|| self.bytes.slice(start..start + EXAMINED_BYTES)))
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

    /// Returns a log of one minute and 30 MB, and the positions of its messages, which follow
    /// from their lengths.
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
        let start =
            LogStart { at: positions[0], size_field, consecutive_messages: [0, 0] };
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut reader = HeaderReadAhead::new(&source, classifier, start).unwrap();
            let messages = iter::zip(0.., positions);
            let is_read_ahead = messages.map(|(messages_before, position)| {
                let read = reader.first_bytes_at(*position, messages_before);
                let at = *position as usize;
                let expected = &bytes[at..bytes.len().min(at + EXAMINED_BYTES)];
                read.inspect(|read| assert_eq!(**read, *expected)).is_some()
            });
            is_read_ahead.collect()
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
                others.iter().all(|is_read_ahead| *is_read_ahead) && !last,
                "{threads}: {read_ahead:?}"
            );
        }
        let with_one_thread = read_ahead(&bytes, &positions, 1);
        assert!(with_one_thread.iter().all(|is_read_ahead| !is_read_ahead));
    }

    #[test]
    fn wrong_index_or_damage_never_yields_wrong_headers() {
        let (sound, positions) = log();
        // Damage one message: the headers up to the next range of the index are not read.
        let mut damaged = sound.clone();
        let broken = positions[700] as usize;
        damaged[broken..broken + HEADER_LEN].fill(0);
        let read_ahead_damaged = read_ahead(&damaged, &positions, 2);
        let (before, after) = read_ahead_damaged.split_at(700);
        assert!(before.iter().all(|is_read_ahead| *is_read_ahead) && !after[0]);
        let count =
            read_ahead_damaged.iter().filter(|is_read_ahead| **is_read_ahead).count();
        assert!((700..positions.len() - 1).contains(&count), "{count}");
        // Entries that are unordered, far outside the file, or inside messages.
        let mut number = 1_u64;
        let mut next = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            number >> 24
        };
        for turn in 0..20 {
            let mut bytes = sound.clone();
            for entry in
                bytes[FILE_HEADER_LEN..positions[0] as usize].chunks_exact_mut(8)
            {
                let value = match next() % 4 {
                    0 => next() << 23,
                    1 => positions[next() as usize % positions.len()],
                    2 => 0,
                    _ => next() % sound.len() as u64,
                };
                entry.copy_from_slice(&value.to_le_bytes());
            }
            read_ahead(&bytes, &positions, 2 + turn % 2);
        }
    }
}
