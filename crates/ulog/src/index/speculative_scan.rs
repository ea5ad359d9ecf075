//! Scans the next segments of a log on all cores.
//!
//! The start of a message is certain only after a sequential scan of everything before
//! it. But other threads can guess a start, scan from there, and collect statistics. If
//! the sequential scan reaches exactly that start, and nothing in the segment depends
//! on earlier records, it takes over the statistics. If not, it scans the segment
//! itself. So the result does not depend on the number of threads.

use std::{collections::VecDeque, sync::Arc};

use logtool_core::{Source, TaskQueue};

use crate::{
    index::{segment::Segment, statistics::Statistics},
    topics::streams::Streams,
};

/// The maximum number of topics for speculative scans: each segment has statistics of
/// all topics.
const MAX_TOPICS: usize = 1 << 12;
/// Speculation stops after this number of consecutive useless segments.
const MAX_FAILURES: u32 = 8;

/// The segments that other threads scan, in file order.
pub(super) struct SpeculativeScan {
    source: Arc<dyn Source>,
    /// The end of the section.
    end: u64,
    /// The length of a segment.
    len: u64,
    /// The guessed starts of the segments that are being scanned.
    starts: VecDeque<u64>,
    segments: TaskQueue<Option<Segment>>,
    /// The maximum number of segments that are scanned at a time.
    max_segments: usize,
    failures: u32,
}

impl SpeculativeScan {
    /// Creates a scanner for a section of `source` that ends at `end`; `len` is the
    /// length of a segment. With a single thread there is no speculation.
    pub(super) fn new(source: &Arc<dyn Source>, end: u64, len: u64) -> Self {
        let threads = rayon::current_num_threads();
        let max_segments = if threads > 1 { 2 * threads } else { 0 };
        Self {
            source: source.clone(),
            end,
            len,
            starts: VecDeque::new(),
            segments: TaskQueue::with_width(max_segments),
            max_segments,
            failures: 0,
        }
    }

    /// Returns the offset up to which the sequential scan continues from `offset`: the start of the
    /// next segment that is being scanned, or may be scanned.
    pub(super) fn limit(&self, offset: u64) -> u64 {
        let limit = match self.starts.front() {
            Some(start) => *start,
            None if self.may_start() => (offset / self.len + 1) * self.len,
            None => self.end,
        };
        limit.min(self.end)
    }

    fn may_start(&self) -> bool {
        self.starts.len() < self.max_segments && self.failures < MAX_FAILURES
    }

    /// Starts to scan the segments after `offset`, with the current state.
    pub(super) fn start_segments(
        &mut self,
        offset: u64,
        statistics: &Statistics,
        streams: &Streams,
    ) {
        while self.may_start() && streams.len() <= MAX_TOPICS {
            let next_start = self.starts.back().map_or(0, |last| last + self.len);
            let start = offset.next_multiple_of(self.len).max(next_start);
            if start >= self.end {
                break;
            }
            let bytes = start..(start + self.len).min(self.end);
            let (source, end) = (self.source.clone(), self.end);
            let (streams, statistics) = (streams.clone(), statistics.empty_like());
            self.starts.push_back(start);
            self.segments
                .push(move || Segment::scan(&source, bytes, end, streams, statistics));
        }
    }

    /// Merges the segment that starts at `offset`, if possible. Returns the offset at which the
    /// sequential scan continues.
    pub(super) fn merge_next(
        &mut self,
        offset: u64,
        statistics: &mut Statistics,
        streams: &mut Streams,
    ) -> u64 {
        if self.starts.pop_front().is_none() {
            return offset; // no segment is being scanned
        }
        statistics.parts.advance(offset, streams);
        let segment = self.segments.wait().flatten();
        let segment = segment.filter(|segment| segment.bytes.start == offset);
        let next_offset = segment.and_then(|segment| {
            let next_offset = segment.bytes.end;
            segment.add_to(statistics, streams).then_some(next_offset)
        });
        self.failures = if next_offset.is_some() { 0 } else { self.failures + 1 };
        next_offset.unwrap_or(offset)
    }
}
