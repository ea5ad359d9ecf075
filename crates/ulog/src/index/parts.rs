//! Splits a log into parts.

use logtool_core::{Part, TimeRange, TopicId, TopicSet};

use crate::{
    topics::streams::{Streams, StreamsState},
    wire,
};

/// The maximum length of a part in a log of up to 256 times this length.
const LONGEST: u64 = 512 << 10;
/// The minimum length of a part.
const SHORTEST: u64 = 128;
/// The maximum number of counters at the starts of all parts; after that, the rest of
/// the log is one part. (A topic with a timestamp of fewer than 64 bits has a counter.)
const MAX_COUNTERS: usize = 1 << 18;

/// Collects the parts of a log, in file order.
#[derive(Default)]
pub(super) struct Parts {
    target: u64,
    next: u64,
    start: u64,
    topic_bits: Vec<u64>,
    built_in: BuiltInBits,
    time: TimeRange,
    done: Vec<RawPart>,
    state: StreamsState,
    counters: usize,
}

/// The built-in topics that have records in a part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BuiltInBits {
    pub(super) strings: bool,
    pub(super) changes: bool,
    pub(super) dropouts: bool,
}

/// A part, before the ids of the built-in topics are known.
pub(super) struct RawPart {
    pub(super) part: Part,
    pub(super) built_in: BuiltInBits,
    pub(super) state: StreamsState,
}

impl Parts {
    /// Creates the collection for a log of `len` bytes. `first` is the offset of the
    /// first message, if there is one, and `state` the state there.
    pub(super) fn new(len: u64, first: Option<u64>, state: StreamsState) -> Self {
        let target = (len / 256).clamp(SHORTEST, LONGEST);
        let first = first.unwrap_or(wire::FILE_HEADER_LEN as u64);
        Self { state, ..Self::with_target(target, first, Vec::new()) }
    }

    fn with_target(target: u64, start: u64, topic_bits: Vec<u64>) -> Self {
        let mut parts = Self {
            target,
            next: 0,
            start,
            topic_bits,
            built_in: BuiltInBits::default(),
            time: TimeRange::EMPTY,
            done: Vec::new(),
            state: StreamsState::default(),
            counters: 0,
        };
        parts.start_part(start);
        parts
    }

    /// Creates an empty collection for the same log and topics.
    pub(super) fn empty_like(&self) -> Self {
        Self::with_target(self.target, self.start, vec![0; self.topic_bits.len()])
    }

    /// Starts a part at `at`. It ends at the first message after the next multiple of
    /// the target length, so that parts do not depend on where a scan started.
    pub(super) fn start_part(&mut self, at: u64) {
        (self.start, self.next) = (at, (at / self.target + 1) * self.target);
    }

    /// Rounds `len` up to a multiple of the target length of a part.
    pub(super) fn round_up(&self, len: u64) -> u64 {
        len.next_multiple_of(self.target)
    }

    /// Appends the parts that come next; a part must have just started. The state at
    /// the start of each part is corrected with `correct`, except for the first, whose
    /// state is already exact.
    pub(super) fn add(&mut self, mut next: Self, correct: impl Fn(&mut StreamsState)) {
        // The next segment may have fewer topics.
        next.topic_bits.resize(self.topic_bits.len(), 0);
        let prior = std::mem::take(&mut self.state);
        let states = next.done.iter_mut().map(|raw| &mut raw.state);
        let mut states = states.chain([&mut next.state]);
        if let Some(first) = states.next() {
            *first = prior;
        }
        states.for_each(correct);
        self.done.append(&mut next.done);
        let Self { start, next, topic_bits, built_in, time, state, .. } = next;
        (self.start, self.next, self.state) = (start, next, state);
        (self.topic_bits, self.built_in, self.time) = (topic_bits, built_in, time);
    }

    /// Notes that a message starts at `at`, where a part may end.
    #[inline]
    pub(super) fn advance(&mut self, at: u64, streams: &Streams) {
        if at >= self.next {
            self.split(at, streams.state());
        }
    }

    /// Adds a record of the stream `index` to the part.
    #[inline]
    pub(super) fn record(&mut self, index: usize, time: &TimeRange) {
        if let Some(word) = self.topic_bits.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
        self.time = self.time.cover(time);
    }

    /// Sets the number of streams.
    pub(super) fn grow(&mut self, streams: usize) {
        self.topic_bits.resize(streams.div_ceil(64), 0);
    }

    /// Adds a record of a built-in topic to the part.
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
        let topics = TopicSet::from_words(&self.topic_bits);
        self.topic_bits.fill(0);
        let time = std::mem::replace(&mut self.time, TimeRange::EMPTY);
        self.done.push(RawPart {
            part: Part { bytes: self.start..at, topics, time },
            built_in: std::mem::take(&mut self.built_in),
            state: std::mem::replace(&mut self.state, state),
        });
        self.start_part(at);
        if self.counters > MAX_COUNTERS {
            self.next = u64::MAX;
        }
    }

    /// Returns all parts; the last one ends at `end`.
    pub(super) fn finish(mut self, end: u64) -> Vec<RawPart> {
        if self.start < end {
            self.split(end, StreamsState::default());
        }
        self.done
    }
}

impl RawPart {
    /// Returns the part with the additional topics `ids`.
    pub(super) fn with_topics(
        self,
        ids: impl IntoIterator<Item = TopicId>,
    ) -> (Part, StreamsState) {
        let Self { mut part, state, .. } = self;
        ids.into_iter().for_each(|id| part.topics.insert(id));
        (part, state)
    }
}
