//! Where a log can be split.

use logtool_core::{Part, TimeRange, TopicId, TopicSet};

use crate::{
    streams::{Streams, StreamsState},
    wire,
};

/// The finest parts are no longer than this, and no shorter than 1/256 of the log.
const LONGEST: u64 = 512 << 10;
const SHORTEST: u64 = 128;
/// How many counters all parts may begin with; after that, what is left is one part.
/// (A topic with a timestamp of fewer than 64 bits has a counter.)
const MAX_COUNTERS: usize = 1 << 18;

/// Collects the parts of a log, in the order of the file.
#[derive(Default)]
pub(super) struct Parts {
    target: u64,
    next: u64,
    start: u64,
    words: Vec<u64>,
    built_in: BuiltInBits,
    time: TimeRange,
    done: Vec<RawPart>,
    state: StreamsState,
    counters: usize,
}

/// Which topics that are built in a part may hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BuiltInBits {
    pub(super) strings: bool,
    pub(super) changes: bool,
    pub(super) dropouts: bool,
}

/// A part, before it is known what number the built-in topics have.
pub(super) struct RawPart {
    pub(super) part: Part,
    pub(super) built_in: BuiltInBits,
    pub(super) state: StreamsState,
}

impl Parts {
    /// For a log of `len` bytes whose messages begin at `first`, if it has some, where
    /// `state` is that at the start of the first part.
    pub(super) fn new(len: u64, first: Option<u64>, state: StreamsState) -> Self {
        let target = (len / 256).clamp(SHORTEST, LONGEST);
        let first = first.unwrap_or(wire::FILE_HEADER_LEN as u64);
        Self { state, ..Self::of(target, first, Vec::new()) }
    }

    fn of(target: u64, start: u64, words: Vec<u64>) -> Self {
        let mut parts = Self {
            target,
            next: 0,
            start,
            words,
            built_in: BuiltInBits::default(),
            time: TimeRange::EMPTY,
            done: Vec::new(),
            state: StreamsState::default(),
            counters: 0,
        };
        parts.begin(start);
        parts
    }

    /// None, of the same log and topics.
    pub(super) fn anew(&self) -> Self {
        Self::of(self.target, self.start, vec![0; self.words.len()])
    }

    /// The next part begins at `at`, and ends where the first message begins behind the
    /// next whole multiple of a length: wherever the walk began, parts are the same.
    pub(super) fn begin(&mut self, at: u64) {
        (self.start, self.next) = (at, (at / self.target + 1) * self.target);
    }

    /// A whole number of parts that are about `len` bytes long together.
    pub(super) fn about(&self, len: u64) -> u64 {
        len.next_multiple_of(self.target)
    }

    /// Adds those that come next, where a part has just begun. The states in which they begin are `mended`, but that
    /// of the first, which is known.
    pub(super) fn add(&mut self, mut next: Self, mended: impl Fn(&mut StreamsState)) {
        // It may know of fewer topics.
        next.words.resize(self.words.len(), 0);
        let known = std::mem::take(&mut self.state);
        let states = next.done.iter_mut().map(|raw| &mut raw.state);
        let mut states = states.chain([&mut next.state]);
        if let Some(first) = states.next() {
            *first = known;
        }
        states.for_each(mended);
        self.done.append(&mut next.done);
        let Self { start, next, words, built_in, time, state, .. } = next;
        (self.start, self.next, self.state) = (start, next, state);
        (self.words, self.built_in, self.time) = (words, built_in, time);
    }

    /// A message begins at `at`: a part may end there.
    #[inline]
    pub(super) fn reach(&mut self, at: u64, streams: &Streams) {
        if at >= self.next {
            self.split(at, streams.state());
        }
    }

    /// A record of the stream `index` belongs to the part.
    #[inline]
    pub(super) fn record(&mut self, index: usize, time: &TimeRange) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
        self.time = self.time.cover(time);
    }

    /// There are now `streams` of them.
    pub(super) fn grow(&mut self, streams: usize) {
        self.words.resize(streams.div_ceil(64), 0);
    }

    /// A record of a topic that is built in belongs to the part.
    pub(super) fn built_in(
        &mut self,
        time: &TimeRange,
        mark: impl FnOnce(&mut BuiltInBits),
    ) {
        mark(&mut self.built_in);
        self.time = self.time.cover(time);
    }

    fn split(&mut self, at: u64, state: StreamsState) {
        self.counters += state.counters();
        let topics = TopicSet::from_words(&self.words);
        self.words.fill(0);
        let time = std::mem::replace(&mut self.time, TimeRange::EMPTY);
        self.done.push(RawPart {
            part: Part { bytes: self.start..at, topics, time },
            built_in: std::mem::take(&mut self.built_in),
            state: std::mem::replace(&mut self.state, state),
        });
        self.begin(at);
        if self.counters > MAX_COUNTERS {
            self.next = u64::MAX;
        }
    }

    /// All parts, the last of which ends at `end`.
    pub(super) fn finish(mut self, end: u64) -> Vec<RawPart> {
        if self.start < end {
            self.split(end, StreamsState::default());
        }
        self.done
    }
}

impl RawPart {
    /// The part, that the topics `ids` are in too.
    pub(super) fn with(
        self,
        ids: impl IntoIterator<Item = TopicId>,
    ) -> (Part, StreamsState) {
        let Self { mut part, state, .. } = self;
        ids.into_iter().for_each(|id| part.topics.insert(id));
        (part, state)
    }
}
