//! A segment of a log that is scanned before the messages before it are known.

use std::{ops::Range, sync::Arc};

use logtool_core::Source;

use crate::{
    declarations::formats::Formats,
    index::{section_reader::SectionReader, statistics::Statistics},
    time::clock::StreamClock,
    topics::{resync::MessageDetector, streams::Streams},
    wire::{self, kind},
};

/// The number of bytes that are searched for the first message, and the number of bytes
/// that the messages after it may need.
const SEARCH_BYTES: usize = 128 << 10;

/// The statistics of a segment of a log.
///
/// A segment starts with a record, at a guessed message boundary. It ends where the
/// next segment starts, or before any message other than records, strings, dropouts and
/// sync messages. Whether the guessed start is a real message boundary is known only
/// when the sequential scan reaches it.
pub(super) struct Segment {
    pub(super) bytes: Range<u64>,
    statistics: Statistics,
    /// The state at the end; it starts with the time of the first record.
    clock: StreamClock,
    /// The time of the first record, in microseconds.
    first: u64,
    /// The number of reassigned message ids at the start of the scan.
    reused: u32,
}

impl Segment {
    /// Scans the messages that start in `bytes` of the section of `source` that ends at
    /// `end`. Returns `None` if no message is found there. The `statistics` must be empty.
    pub(super) fn scan(
        source: &Arc<dyn Source>,
        bytes: Range<u64>,
        end: u64,
        mut streams: Streams,
        mut statistics: Statistics,
    ) -> Option<Self> {
        let mut reader = SectionReader::new(source, bytes.start..end);
        let (head, is_last) = reader.read_at(bytes.start, 2 * SEARCH_BYTES).ok()?;
        let formats = Formats::default(); // a message that defines types ends the segment
        let detector = MessageDetector { streams: &streams, formats: &formats };
        let keep = if is_last { 0 } else { SEARCH_BYTES };
        let skipped = detector.find_from(&head, 0, keep)?;
        let (start, first) =
            (bytes.start + skipped as u64, first(&streams, &head[skipped..])?);
        drop(head); // allows the reader to reuse its buffer
        streams.clock = streams.clock.restarted_at(first);
        statistics.parts.start_part(start);
        let scan = reader.scan(start, bytes.end, |at, rest| {
            statistics.parts.advance(at, &streams);
            statistics.message(&mut streams, rest)
        });
        let (bytes, reused) = (start..scan.ok()?.at, streams.reassigned_ids());
        Some(Self { bytes, statistics, clock: streams.clock, first, reused })
    }

    /// Merges the statistics of this segment into `statistics`, which must have been
    /// advanced exactly to the start of the segment, and moves `streams` to its end.
    /// Returns false if that is impossible because something in the segment depends on
    /// earlier messages.
    pub(super) fn add_to(
        self,
        statistics: &mut Statistics,
        streams: &mut Streams,
    ) -> bool {
        let before = &streams.clock;
        let is_known = |dropout| {
            before.latest_since_jump().is_some_and(|latest| latest <= dropout)
        };
        let is_valid = before.is_continued_by(self.first, &self.clock)
            && self.statistics.first_dropout.is_none_or(is_known)
            && self.reused == streams.reassigned_ids()
            && !streams.have_counters()
            && statistics.is_continued_by(&self.statistics);
        if is_valid {
            let before = before.clone();
            streams.clock = before.continued_by(&self.clock);
            statistics
                .add(self.statistics, before.epoch, |state| state.follow(&before));
        }
        is_valid
    }
}

/// Returns the time of the record at the start of `rest`, if there is one.
fn first(streams: &Streams, rest: &[u8]) -> Option<u64> {
    let (size, kind) = wire::header(rest)?;
    let payload = rest.get(wire::HEADER_LEN..wire::HEADER_LEN + size)?;
    let (id, record) = wire::data(payload)?;
    let time = streams.peek(id, record)?;
    let is_usable = time >= streams.clock.start().unwrap_or(1);
    (kind == kind::DATA && is_usable).then_some(time)
}
