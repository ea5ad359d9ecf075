//! Scans the next segments of a capture speculatively on other threads.
//!
//! The start of an item is only certain after all items before it were read, which is what
//! the sequential pass does. Other threads search for a position at which items seem to
//! start, and scan from there. If the sequential pass arrives at exactly that position, it
//! uses the results, except for items that depend on earlier ones. Otherwise it scans the
//! segment itself. The manifest is therefore the same for any number of threads.

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
    /// The start of the next segment.
    next_start: u64,
    /// The end of the range at the start of the file that is never scanned ahead.
    sequential_end: u64,
    /// The starts of the submitted segments, with the number of declarations before each.
    submitted: VecDeque<(u64, usize)>,
    segments: TaskQueue<io::Result<Option<Segment>>>,
    /// The range of the last segment that was taken or discarded.
    last_range: Range<u64>,
    /// The maximum number of submitted segments.
    width: usize,
    /// The number of consecutive segments that were not usable to their end.
    unused: usize,
}

impl SpeculativeScanner {
    /// Creates a scanner for the capture in `source`, except for its first bytes up to
    /// `sequential_end`. It does not scan anything in a pool of one thread, or if packets
    /// have no container, because their times depend on earlier packets.
    pub(super) fn new(
        source: &Arc<dyn Source>,
        container: Container,
        sequential_end: u64,
    ) -> Self {
        let threads = rayon::current_num_threads();
        let is_disabled = threads == 1 || container == Container::Bare;
        let width = if is_disabled { 0 } else { 2 * threads };
        Self {
            source: source.clone(),
            next_start: sequential_end,
            sequential_end,
            submitted: VecDeque::new(),
            segments: TaskQueue::with_width(width),
            last_range: 0..0,
            width,
            unused: 0,
        }
    }

    /// Submits the next segments after `offset`. `declarations` is the number of
    /// declarations before `offset`, and `reader` has applied them.
    pub(super) fn submit(
        &mut self,
        offset: u64,
        reader: &ItemReader,
        declarations: usize,
    ) {
        // Declarations are usually at the start, so wait until they were read.
        if offset < self.sequential_end / 2 {
            return;
        }
        let file_len = self.source.len();
        while self.submitted.len() < self.width && self.unused < MAX_UNUSED + self.width
        {
            let start = self.next_start.max(offset.next_multiple_of(SEGMENT_BYTES));
            if start >= file_len {
                return;
            }
            self.next_start = start + SEGMENT_BYTES;
            let range = start..self.next_start.min(file_len);
            let reader = ItemReader {
                section: reader.section.clone(),
                reassembler: Reassembler::default(),
                duplicate_filter: DuplicateFilter::default(),
                hours: None,
                ..reader.clone()
            };
            let source = self.source.clone();
            self.submitted.push_back((start, declarations));
            self.segments.push(move || Segment::scan(&source, range, file_len, reader));
        }
    }

    /// Returns the segment that starts at `offset`, if it was scanned with the same number
    /// of declarations. Discards all segments before it.
    pub(super) fn take(&mut self, offset: u64, declarations: usize) -> Option<Segment> {
        while let Some((start, segment_declarations)) = self.submitted.front().copied()
            && start <= offset
        {
            self.submitted.pop_front();
            self.source.release(self.last_range.clone());
            let segment = self.segments.wait()?.ok().flatten();
            self.last_range = start..(start + SEGMENT_BYTES).min(self.source.len());
            let segment = segment.filter(|segment| {
                segment.start == offset && segment_declarations == declarations
            });
            let end = self.last_range.end;
            let is_complete =
                segment.as_ref().is_some_and(|segment| segment.end >= end);
            self.unused = if is_complete { 0 } else { self.unused + 1 };
            if let Some(segment) = segment.filter(|segment| segment.end > offset) {
                return Some(segment);
            }
        }
        None
    }
}

impl Drop for SpeculativeScanner {
    fn drop(&mut self) {
        self.source.release(self.last_range.clone());
    }
}
