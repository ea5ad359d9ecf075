//! Splits a log into parts at the starts of seconds, and after a maximum length.

use logtool_core::{Part, TimeRange, Timestamp, TopicId, TopicSet};

/// The minimum length of a part, so that quiet seconds do not create thousands of parts.
const MIN_PART_BYTES: u64 = 64 << 10;

/// A part of this length ends even inside a second.
const MAX_PART_BYTES: u64 = 1 << 20;

/// The parts up to the current position.
#[derive(Clone, Debug)]
pub(super) struct PartSplitter {
    complete: Vec<Part>,
    current: Part,
}

impl PartSplitter {
    /// Creates the first part, which starts at `start`.
    pub(super) fn new(start: u64) -> Self {
        Self { complete: Vec::new(), current: empty_part(start) }
    }

    /// Starts a new part at the message at `at` if the current part is long enough.
    /// `starts_second` states whether a second starts with the message.
    pub(super) fn start_message(&mut self, at: u64, starts_second: bool) {
        let len = at - self.current.bytes.start;
        if len >= MAX_PART_BYTES || starts_second && len >= MIN_PART_BYTES {
            let mut part = std::mem::replace(&mut self.current, empty_part(at));
            part.bytes.end = at;
            self.complete.push(part);
        }
    }

    /// Adds a record to the current part.
    pub(super) fn add_record(&mut self, topic: TopicId, time: Timestamp) {
        self.current.topics.insert(topic);
        self.current.time = self.current.time.cover(&TimeRange::from_timestamp(time));
    }

    /// Returns all parts of a log of `end` bytes.
    pub(super) fn finish(mut self, end: u64) -> Vec<Part> {
        self.current.bytes.end = end;
        if !self.current.bytes.is_empty() {
            self.complete.push(self.current);
        }
        self.complete
    }
}

fn empty_part(start: u64) -> Part {
    let (topics, time) = (TopicSet::EMPTY, TimeRange::EMPTY);
    Part { bytes: start..start, topics, time }
}
