//! Splits a log into parts.

use logtool_core::{Part, TimeRange, TopicId, TopicSet};

use crate::{
    topics::streams::{Streams, StreamsState},
    wire,
};

/// The maximum length of a part in a log of up to 256 times this length.
const MAX_PART_LEN: u64 = 512 << 10;
/// The minimum length of a part.
const MIN_PART_LEN: u64 = 128;
/// The maximum number of counters at the starts of all parts; after that, the rest of
/// the log is one part. (A topic with a timestamp of fewer than 64 bits has a counter.)
const MAX_COUNTERS: usize = 1 << 18;

/// Collects the parts of a log, in file order.
#[derive(Default)]
pub(super) struct Parts {
    /// The usual length of a part in bytes.
    target_len: u64,
    /// The current part ends at the first message at this offset or later.
    split_offset: u64,
    /// The start of the current part.
    start: u64,
    topic_bits: Vec<u64>,
    built_in: BuiltInBits,
    time: TimeRange,
    finished: Vec<RawPart>,
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
    /// Creates the collection for a log of `len` bytes. `first_offset` is the offset of the first
    /// message, if there is one, and `state` is the state at that message.
    pub(super) fn new(
        len: u64,
        first_offset: Option<u64>,
        state: StreamsState,
    ) -> Self {
        let target_len = (len / 256).clamp(MIN_PART_LEN, MAX_PART_LEN);
        let first_offset = first_offset.unwrap_or(wire::FILE_HEADER_LEN as u64);
        Self { state, ..Self::with_target(target_len, first_offset, Vec::new()) }
    }

    fn with_target(target_len: u64, start: u64, topic_bits: Vec<u64>) -> Self {
        let mut parts = Self {
            target_len,
            split_offset: 0,
            start,
            topic_bits,
            built_in: BuiltInBits::default(),
            time: TimeRange::EMPTY,
            finished: Vec::new(),
            state: StreamsState::default(),
            counters: 0,
        };
        parts.start_part(start);
        parts
    }

    /// Creates an empty collection for the same log and topics.
    pub(super) fn empty_like(&self) -> Self {
        Self::with_target(self.target_len, self.start, vec![0; self.topic_bits.len()])
    }

    /// Starts a part at `start`. It ends at the first message after the next multiple of the target
    /// length, so that parts do not depend on the start of a scan.
    pub(super) fn start_part(&mut self, start: u64) {
        (self.start, self.split_offset) =
            (start, (start / self.target_len + 1) * self.target_len);
    }

    /// Rounds `len` up to a multiple of the target length of a part.
    pub(super) fn round_up(&self, len: u64) -> u64 {
        len.next_multiple_of(self.target_len)
    }

    /// Appends the parts of the next segment. The current part must have just started. The state at
    /// the start of each appended part is corrected with `correct`, except for the first part,
    /// whose state is already exact.
    pub(super) fn add(&mut self, mut next: Self, correct: impl Fn(&mut StreamsState)) {
        // The next segment may have fewer topics.
        next.topic_bits.resize(self.topic_bits.len(), 0);
        let prior = std::mem::take(&mut self.state);
        let states = next.finished.iter_mut().map(|raw| &mut raw.state);
        let mut states = states.chain([&mut next.state]);
        if let Some(first) = states.next() {
            *first = prior;
        }
        states.for_each(correct);
        self.finished.append(&mut next.finished);
        let Self { start, split_offset, topic_bits, built_in, time, state, .. } = next;
        (self.start, self.split_offset, self.state) = (start, split_offset, state);
        (self.topic_bits, self.built_in, self.time) = (topic_bits, built_in, time);
    }

    /// Ends the current part at the message at `offset`, if it is long enough.
    #[inline]
    pub(super) fn advance(&mut self, offset: u64, streams: &Streams) {
        if offset >= self.split_offset {
            self.split(offset, streams.state());
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
        set_bit: impl FnOnce(&mut BuiltInBits),
    ) {
        set_bit(&mut self.built_in);
        self.time = self.time.cover(time);
    }

    fn split(&mut self, offset: u64, state: StreamsState) {
        self.counters += state.counters();
        let topics = TopicSet::from_words(&self.topic_bits);
        self.topic_bits.fill(0);
        let time = std::mem::replace(&mut self.time, TimeRange::EMPTY);
        self.finished.push(RawPart {
            part: Part { bytes: self.start..offset, topics, time },
            built_in: std::mem::take(&mut self.built_in),
            state: std::mem::replace(&mut self.state, state),
        });
        self.start_part(offset);
        if self.counters > MAX_COUNTERS {
            self.split_offset = u64::MAX;
        }
    }

    /// Returns all parts; the last one ends at `end`.
    pub(super) fn finish(mut self, end: u64) -> Vec<RawPart> {
        if self.start < end {
            self.split(end, StreamsState::default());
        }
        self.finished
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
