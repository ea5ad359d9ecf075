//! Where a log can be split: where a second begins, and after so many bytes.

use logtool_core::{Part, TimeRange, Timestamp, TopicId, TopicSet};

/// The least that a part has, so that quiet seconds do not make thousands of them.
const LEAST: u64 = 64 << 10;

/// What a part has at most before another begins.
const MOST: u64 = 1 << 20;

/// The parts so far.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    done: Vec<Part>,
    current: Part,
}

impl Parts {
    /// The first part begins at `start`.
    pub(super) fn new(start: u64) -> Self {
        Self { done: Vec::new(), current: empty(start) }
    }

    /// A message begins at `at`, and perhaps a second with it.
    pub(super) fn reach(&mut self, at: u64, second_begins: bool) {
        let len = at - self.current.bytes.start;
        if len >= MOST || second_begins && len >= LEAST {
            let mut part = std::mem::replace(&mut self.current, empty(at));
            part.bytes.end = at;
            self.done.push(part);
        }
    }

    /// The current part holds a record.
    pub(super) fn record(&mut self, topic: TopicId, time: Timestamp) {
        self.current.topics.insert(topic);
        self.current.time = self.current.time.cover(&TimeRange::just(time));
    }

    /// All parts of a log of `end` bytes.
    pub(super) fn finish(mut self, end: u64) -> Vec<Part> {
        self.current.bytes.end = end;
        if !self.current.bytes.is_empty() {
            self.done.push(self.current);
        }
        self.done
    }
}

fn empty(start: u64) -> Part {
    let (topics, time) = (TopicSet::EMPTY, TimeRange::EMPTY);
    Part { bytes: start..start, topics, time }
}
