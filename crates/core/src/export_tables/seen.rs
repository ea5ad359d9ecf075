//! What was read of each topic.

use std::collections::BTreeMap;

use crate::{block::Run, time::Timestamp, topic::TopicId};

/// What was read of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How many records.
    pub records: u64,
    /// How many bytes their payloads are.
    pub bytes: u64,
    /// The first time.
    pub first: Timestamp,
    /// The last one.
    pub last: Timestamp,
}

impl Seen {
    const NONE: Self =
        Self { records: 0, bytes: 0, first: Timestamp::MAX, last: Timestamp::MIN };

    fn add(&mut self, other: Self) {
        self.records += other.records;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// Adds the records of `run` to what was `seen`.
pub(super) fn add(seen: &mut BTreeMap<TopicId, Seen>, run: Run<'_>) {
    let mut new = Seen { records: run.len() as u64, ..Seen::NONE };
    for (time, payload) in run.times().zip(run.payloads()) {
        new.bytes += payload.len() as u64;
        new.first = new.first.min(time);
        new.last = new.last.max(time);
    }
    seen.entry(run.topic()).or_insert(Seen::NONE).add(new);
}

/// Adds what was seen in `other` places.
pub(super) fn join(seen: &mut BTreeMap<TopicId, Seen>, other: BTreeMap<TopicId, Seen>) {
    for (topic, other) in other {
        seen.entry(topic).or_insert(Seen::NONE).add(other);
    }
}
