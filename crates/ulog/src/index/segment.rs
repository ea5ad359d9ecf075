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
    first_record_time: u64,
    /// The number of reassigned message ids at the start of the scan.
    reassigned_ids: u32,
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
        let (start_bytes, is_last) =
            reader.read_at(bytes.start, 2 * SEARCH_BYTES).ok()?;
        let formats = Formats::default(); // a message that defines types ends the segment
        let detector = MessageDetector { streams: &streams, formats: &formats };
        let lookahead = if is_last { 0 } else { SEARCH_BYTES };
        let skipped = detector.find_from(&start_bytes, 0, lookahead)?;
        let (start, first_record_time) = (
            bytes.start + skipped as u64,
            first_record_time(&streams, &start_bytes[skipped..])?,
        );
        drop(start_bytes); // allows the reader to reuse its buffer
        streams.clock = streams.clock.restarted_at(first_record_time);
        statistics.parts.start_part(start);
        let scan = reader.scan(start, bytes.end, |offset, bytes| {
            statistics.parts.advance(offset, &streams);
            statistics.message(&mut streams, bytes)
        });
        let (bytes, reassigned_ids) =
            (start..scan.ok()?.offset, streams.reassigned_ids());
        Some(Self {
            bytes,
            statistics,
            clock: streams.clock,
            first_record_time,
            reassigned_ids,
        })
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
        let previous_clock = &streams.clock;
        let is_known = |dropout| {
            previous_clock.latest_since_jump().is_some_and(|latest| latest <= dropout)
        };
        let is_valid = previous_clock
            .is_continued_by(self.first_record_time, &self.clock)
            && self.statistics.first_dropout.is_none_or(is_known)
            && self.reassigned_ids == streams.reassigned_ids()
            && !streams.have_counters()
            && self.statistics.can_be_added();
        if is_valid {
            let previous_clock = previous_clock.clone();
            streams.clock = previous_clock.continued_by(&self.clock);
            statistics.add(self.statistics, previous_clock.epoch, |state| {
                state.follow(&previous_clock)
            });
        }
        is_valid
    }
}

/// Returns the time in microseconds of the record at the start of `bytes`, if there is one.
fn first_record_time(streams: &Streams, bytes: &[u8]) -> Option<u64> {
    let (size, kind) = wire::header(bytes)?;
    let payload = bytes.get(wire::HEADER_LEN..wire::HEADER_LEN + size)?;
    let (id, record) = wire::data(payload)?;
    let time = streams.peek(id, record)?;
    let is_usable = time >= streams.clock.start().unwrap_or(1);
    (kind == kind::DATA && is_usable).then_some(time)
}
