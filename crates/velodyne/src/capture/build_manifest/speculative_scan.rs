//! Scans the next segments of a capture speculatively on other threads.
//!
//! The sequential pass finds the start of each item only after all items before it. Other
//! threads search for a position at which items seem to start, and scan from there. If
//! the sequential pass arrives at exactly that position, and nothing in the segment
//! depends on earlier items, it takes over the results. Otherwise it scans the segment
//! itself. The manifest is therefore the same for any number of threads.

use std::{collections::VecDeque, io, ops::Range, sync::Arc};

use logtool_core::{Source, TaskQueue};

use crate::capture::{
    build_manifest::segment::Segment,
    container::Container,
    packets::{defragment::Reassembler, duplicates::DuplicateFilter},
    reader::ItemReader,
};

/// The length of a segment.
const SEGMENT_BYTES: u64 = 512 << 10;

/// The number of consecutive unusable segments after which no more are scanned.
const MAX_UNUSED: usize = 8;

/// The segments that are being scanned ahead, in the order of the file.
pub(super) struct SpeculativeScanner {
    source: Arc<dyn Source>,
    /// The start of the next segment, and the end of the range that is never scanned
    /// ahead.
    next: u64,
    header_len: u64,
    /// The starts of the submitted segments, with the number of declarations before each.
    submitted: VecDeque<(u64, usize)>,
    segments: TaskQueue<io::Result<Option<Segment>>>,
    /// The range of the last segment that was taken.
    passed: Range<u64>,
    /// The maximum number of submitted segments.
    width: usize,
    unused: usize,
}

impl SpeculativeScanner {
    /// Creates a scanner for the capture in `source` that leaves out its first `header_len`
    /// bytes. It never scans in a pool of one thread, or if packets have no container,
    /// because their times depend on earlier packets.
    pub(super) fn new(
        source: &Arc<dyn Source>,
        container: Container,
        header_len: u64,
    ) -> Self {
        let threads = rayon::current_num_threads();
        let is_alone = threads == 1 || container == Container::Bare;
        let width = if is_alone { 0 } else { 2 * threads };
        Self {
            source: source.clone(),
            next: header_len,
            header_len,
            submitted: VecDeque::new(),
            segments: TaskQueue::with_width(width),
            passed: 0..0,
            width,
            unused: 0,
        }
    }

    /// Submits the next segments after `at`. `declared` is the number of declarations
    /// before `at`, and `reader` has applied them.
    pub(super) fn submit(&mut self, at: u64, reader: &ItemReader, declared: usize) {
        // Declarations are usually at the start.
        if at < self.header_len / 2 {
            return;
        }
        let end = self.source.len();
        while self.submitted.len() < self.width && self.unused < MAX_UNUSED + self.width
        {
            let start = self.next.max(at.next_multiple_of(SEGMENT_BYTES));
            if start >= end {
                return;
            }
            self.next = start + SEGMENT_BYTES;
            let bytes = start..self.next.min(end);
            let (fragments, duplicate_filter) =
                (Reassembler::default(), DuplicateFilter::default());
            let section = reader.section.clone();
            let reader = ItemReader {
                section,
                fragments,
                duplicate_filter,
                hours: None,
                ..*reader
            };
            let source = self.source.clone();
            self.submitted.push_back((start, declared));
            self.segments.push(move || Segment::scan(&source, bytes, end, reader));
        }
    }

    /// Returns the segment that starts at `at`, if it was scanned with the same number of
    /// declarations.
    pub(super) fn take(&mut self, at: u64, declared: usize) -> Option<Segment> {
        while let Some((start, known)) = self.submitted.front().copied()
            && start <= at
        {
            self.submitted.pop_front();
            self.source.release(self.passed.clone());
            let segment = self.segments.wait()?.ok().flatten();
            self.passed = start..(start + SEGMENT_BYTES).min(self.source.len());
            let end = self.passed.end;
            let is_valid_segment =
                |segment: &Segment| segment.start == at && known == declared;
            let segment = segment.filter(is_valid_segment);
            let is_complete = |segment: &Segment| segment.end >= end;
            let is_used = segment.as_ref().is_some_and(is_complete);
            self.unused = if is_used { 0 } else { self.unused + 1 };
            if let Some(segment) = segment.filter(|segment| segment.end > at) {
                return Some(segment);
            }
        }
        None
    }
}

impl Drop for SpeculativeScanner {
    fn drop(&mut self) {
        self.source.release(self.passed.clone());
    }
}
