//! Looking at the next stretches of a capture on all processors.
//!
//! Where an item begins is known only to who has gone over all before it. But others can
//! look for a place where items seem to begin, and go on from there; if whoever goes in order
//! comes to that very place, and nothing there depends on what was before, he takes over what
//! they have seen. If not, he looks himself: what comes of a survey is the same on any number
//! of processors.

use std::{collections::VecDeque, io, ops::Range, sync::Arc};

use logtool_core::{Queue, Source};

use crate::capture::{
    container::Container, defragment::Pieces, duplicates::Latest, reader::Reader,
    survey::stretch::Stretch,
};

/// How long a stretch is.
const STRETCH: u64 = 512 << 10;

/// After so many stretches in a row that were looked at in vain, no more are.
const VAIN: usize = 8;

/// The stretches that others look at, in the order of the file.
pub(super) struct Ahead {
    source: Arc<dyn Source>,
    /// Where the next one begins, and where nobody looks.
    next: u64,
    head: u64,
    /// Where those begin that are under way, and how much was declared before.
    begun: VecDeque<(u64, usize)>,
    stretches: Queue<io::Result<Option<Stretch>>>,
    /// Where the last one was that was taken.
    passed: Range<u64>,
    /// How many may be under way.
    width: usize,
    vain: usize,
}

impl Ahead {
    /// For the capture in `source`, of which nobody looks at the `head` ahead. A single
    /// processor has nobody who would; and packets without a container tell their time by
    /// those before.
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

    /// Lets others begin with the next stretches behind `at`, up to which so much was
    /// declared, and of which the `reader` knows how to read them.
    pub(super) fn begin(&mut self, at: u64, reader: &Reader, declared: usize) {
        // What is declared is so at the start, as a rule.
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

    /// The stretch that begins at `at`, up to which so much was declared, if somebody has
    /// looked at it.
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
