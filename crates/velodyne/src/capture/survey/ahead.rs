//! Scans the next segments of a capture speculatively on other threads.
//!
//! The sequential pass finds the start of each item only after all items before it. Other
//! threads search for a position at which items seem to start, and scan from there. If
//! the sequential pass arrives at exactly that position, and nothing in the segment
//! depends on earlier items, it takes over the results. Otherwise it scans the segment
//! itself. The manifest is therefore the same for any number of threads.

use std::{collections::VecDeque, io, ops::Range, sync::Arc};

use logtool_core::{Queue, Source};

use crate::capture::{
    container::Container, defragment::Pieces, duplicates::Latest, reader::Reader,
    survey::stretch::Stretch,
};

/// The length of a segment.
const STRETCH: u64 = 512 << 10;

/// The number of consecutive unusable segments after which no more are scanned.
const VAIN: usize = 8;

/// The segments that are being scanned ahead, in the order of the file.
pub(super) struct Ahead {
    source: Arc<dyn Source>,
    /// The start of the next segment, and the end of the range that is never scanned
    /// ahead.
    next: u64,
    head: u64,
    /// The starts of the submitted segments, with the number of declarations before each.
    begun: VecDeque<(u64, usize)>,
    stretches: Queue<io::Result<Option<Stretch>>>,
    /// The range of the last segment that was taken.
    passed: Range<u64>,
    /// The maximum number of submitted segments.
    width: usize,
    vain: usize,
}

impl Ahead {
    /// Creates a scanner for the capture in `source` that leaves out its first `head`
    /// bytes. It never scans in a pool of one thread, or if packets have no container,
    /// because their times depend on earlier packets.
    pub(super) fn new(
        source: &Arc<dyn Source>,
        container: Container,
        head: u64,
    ) -> Self {
        let threads = rayon::current_num_threads();
        let is_alone = threads == 1 || container == Container::Bare;
        let width = if is_alone { 0 } else { 2 * threads };
        Self {
            source: source.clone(),
            next: head,
            head,
            begun: VecDeque::new(),
            stretches: Queue::of(width),
            passed: 0..0,
            width,
            vain: 0,
        }
    }

    /// Submits the next segments after `at`. `declared` is the number of declarations
    /// before `at`, and `reader` has applied them.
    pub(super) fn begin(&mut self, at: u64, reader: &Reader, declared: usize) {
        // Declarations are usually at the start.
        if at < self.head / 2 {
            return;
        }
        let end = self.source.len();
        while self.begun.len() < self.width && self.vain < VAIN + self.width {
            let start = self.next.max(at.next_multiple_of(STRETCH));
            if start >= end {
                return;
            }
            self.next = start + STRETCH;
            let bytes = start..self.next.min(end);
            let (pieces, latest) = (Pieces::default(), Latest::default());
            let section = reader.section.clone();
            let reader = Reader { section, pieces, latest, hours: None, ..*reader };
            let source = self.source.clone();
            self.begun.push_back((start, declared));
            self.stretches.push(move || Stretch::look(&source, bytes, end, reader));
        }
    }

    /// Returns the segment that starts at `at`, if it was scanned with the same number of
    /// declarations.
    pub(super) fn take(&mut self, at: u64, declared: usize) -> Option<Stretch> {
        while let Some((start, known)) = self.begun.front().copied()
            && start <= at
        {
            self.begun.pop_front();
            self.source.release(self.passed.clone());
            let stretch = self.stretches.wait()?.ok().flatten();
            self.passed = start..(start + STRETCH).min(self.source.len());
            let end = self.passed.end;
            let is_it = |stretch: &Stretch| stretch.start == at && known == declared;
            let stretch = stretch.filter(is_it);
            let is_whole = |stretch: &Stretch| stretch.end >= end;
            let is_used = stretch.as_ref().is_some_and(is_whole);
            self.vain = if is_used { 0 } else { self.vain + 1 };
            if let Some(stretch) = stretch.filter(|stretch| stretch.end > at) {
                return Some(stretch);
            }
        }
        None
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.source.release(self.passed.clone());
    }
}
