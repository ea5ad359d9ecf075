//! Walking over the next stretches of a log on all processors.
//!
//! Where a message begins is known only to who has walked over all before it. But others
//! can look for a place where messages seem to begin, walk on from there, and count; if
//! whoever walks in order comes to that very place, and nothing there depends on what was
//! before, he takes over what they have counted. If not, he walks himself: what comes of
//! a survey is the same on any number of processors.

use std::{collections::VecDeque, sync::Arc};

use logtool_core::{Source, TaskQueue};

use crate::{
    streams::Streams,
    survey::{segment::Stretch, statistics::Tally},
};

/// With more topics than these, nobody goes ahead: each stretch counts those of all.
const TOPICS: usize = 1 << 12;
/// After so many stretches in a row that were walked over in vain, no more are.
const VAIN: u32 = 8;

/// The stretches that are walked over by others, in the order of the file.
pub(super) struct Ahead {
    source: Arc<dyn Source>,
    /// Where the section ends.
    end: u64,
    /// How long a stretch is.
    len: u64,
    /// Where those begin that are under way.
    starts: VecDeque<u64>,
    stretches: TaskQueue<Option<Stretch>>,
    /// How many may be.
    width: usize,
    vain: u32,
}

impl Ahead {
    /// For a section of `source` that ends at `end`; `len` is the length of a stretch.
    /// A single processor has nobody who would go ahead.
    pub(super) fn new(source: &Arc<dyn Source>, end: u64, len: u64) -> Self {
        let threads = rayon::current_num_threads();
        let width = if threads > 1 { 2 * threads } else { 0 };
        Self {
            source: source.clone(),
            end,
            len,
            starts: VecDeque::new(),
            stretches: TaskQueue::with_width(width),
            width,
            vain: 0,
        }
    }

    /// How far to walk in order from `at` on: to where others have begun, or may begin.
    pub(super) fn limit(&self, at: u64) -> u64 {
        let limit = match self.starts.front() {
            Some(start) => *start,
            None if self.may_begin() => (at / self.len + 1) * self.len,
            None => self.end,
        };
        limit.min(self.end)
    }

    fn may_begin(&self) -> bool {
        self.starts.len() < self.width && self.vain < VAIN
    }

    /// Lets others begin with the next stretches behind `at`, knowing what is known.
    pub(super) fn begin(&mut self, at: u64, tally: &Tally, streams: &Streams) {
        while self.may_begin() && streams.len() <= TOPICS {
            let next = self.starts.back().map_or(0, |last| last + self.len);
            let start = at.next_multiple_of(self.len).max(next);
            if start >= self.end {
                break;
            }
            let bytes = start..(start + self.len).min(self.end);
            let (source, end) = (self.source.clone(), self.end);
            let (streams, tally) = (streams.clone(), tally.anew());
            self.starts.push_back(start);
            self.stretches
                .push(move || Stretch::walk(&source, bytes, end, streams, tally));
        }
    }

    /// The limit is reached, at `at`: takes over what was counted in the stretch that
    /// begins there, if that can be; says where to go on.
    pub(super) fn take(
        &mut self,
        at: u64,
        tally: &mut Tally,
        streams: &mut Streams,
    ) -> u64 {
        if self.starts.pop_front().is_none() {
            return at; // none is under way
        }
        tally.parts.reach(at, streams);
        let stretch = self.stretches.wait().flatten();
        let stretch = stretch.filter(|stretch| stretch.bytes.start == at);
        let next = stretch.and_then(|stretch| {
            let next = stretch.bytes.end;
            stretch.add_to(tally, streams).then_some(next)
        });
        self.vain = if next.is_some() { 0 } else { self.vain + 1 };
        next.unwrap_or(at)
    }
}
