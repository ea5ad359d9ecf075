//! The index of a log: the position of the first message of each second.
//!
//! Entry `k` is the position in the file of the first message that is at least `k`
//! seconds after the first message of the file. Messages whose time is far from those
//! around them are ignored: one flipped bit can change a time by years.

use logtool_core::{ByteReader, Result, TopicId, WindowReader};
use serde::{Deserialize, Serialize};

use crate::vel::wire::FILE_HEADER_LEN;

/// The maximum number of indexed seconds: 48 days. Later seconds have no entries.
const MAX_SECONDS: usize = 1 << 22;

/// A time that differs from the previous one by more milliseconds than this is accepted
/// only if the next time is near it.
const MAX_STEP_MILLIS: f64 = 3_600e3;

/// If the second accepted time differs from the first by more milliseconds than this, the
/// first is rejected.
const MAX_FIRST_STEP_MILLIS: f64 = 24.0 * MAX_STEP_MILLIS;

/// The state of the index of a file. Reading never depends on the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexStatus {
    /// Each entry is the start of its second.
    Verified,
    /// The index has no entries.
    Missing,
    /// The entries are correct, but there are fewer entries than seconds.
    Short,
    /// The entries are not in ascending order.
    Unsorted,
    /// Entries are not the starts of their seconds, or are outside the file.
    Stale,
}

/// The index that a log should have, computed from its messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecondIndex {
    accepted: Option<AcceptedTimes>,
    /// A message whose time is far from those before it. The next message decides whether
    /// its time is accepted.
    pending: Option<PendingMessage>,
    /// The times of messages that are not records, then those of each topic.
    topics: Vec<TopicTimes>,
    /// The seconds that have messages, and the position of the first message of each.
    starts: Vec<(u64, u64)>,
    /// The position of the last message.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct PendingMessage {
    topic: Option<TopicId>,
    millis: f64,
    at: u64,
}

/// The times of the messages of one topic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TopicTimes {
    /// The earliest and the latest accepted time, in milliseconds.
    pub(crate) range: Option<(f64, f64)>,
    /// The number of messages without a time, or whose time is far from those around
    /// them.
    pub(crate) outliers: u64,
}

/// The accepted times, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct AcceptedTimes {
    /// The topic of the first message.
    first_topic: Option<TopicId>,
    first: f64,
    last: f64,
    earliest: f64,
    latest: f64,
    messages: u64,
}

impl SecondIndex {
    /// Adds the message at `at`. It is a record of `topic`, or of no topic if it is too
    /// long. Returns true if a second starts with this message, or with the pending one
    /// before it.
    pub(crate) fn add(&mut self, topic: Option<TopicId>, millis: f64, at: u64) -> bool {
        self.last = at;
        if !millis.is_finite() {
            self.times_of(topic).outliers += 1;
            return false;
        }
        let is_near = |other: f64| (millis - other).abs() <= MAX_STEP_MILLIS;
        if self.accepted.is_none_or(|accepted| is_near(accepted.last)) {
            if let Some(pending) = self.pending.take() {
                self.times_of(pending.topic).outliers += 1;
            }
            return self.accept(topic, millis, at);
        }
        match self.pending.replace(PendingMessage { topic, millis, at }) {
            Some(pending) if is_near(pending.millis) => {
                self.pending = None;
                let is_first_rejected = |accepted: &mut AcceptedTimes| {
                    accepted.messages == 1
                        && (pending.millis - accepted.first).abs()
                            > MAX_FIRST_STEP_MILLIS
                };
                if let Some(rejected) = self.accepted.take_if(is_first_rejected) {
                    let times = self.times_of(rejected.first_topic);
                    times.range = None;
                    times.outliers += 1;
                }
                let starts_second =
                    self.accept(pending.topic, pending.millis, pending.at);
                self.accept(topic, millis, at) || starts_second
            }
            Some(rejected) => {
                self.times_of(rejected.topic).outliers += 1;
                false
            }
            None => false,
        }
    }

    /// Returns the times of `topic`.
    fn times_of(&mut self, topic: Option<TopicId>) -> &mut TopicTimes {
        let index = topic.map_or(0, |topic| topic.index() + 1);
        if index >= self.topics.len() {
            self.topics.resize(index + 1, TopicTimes::default());
        }
        &mut self.topics[index]
    }

    /// Adds the message at `at`, whose time is accepted. Returns true if a second starts
    /// with it.
    fn accept(&mut self, topic: Option<TopicId>, millis: f64, at: u64) -> bool {
        let times = self.times_of(topic);
        let (earliest, latest) = times.range.unwrap_or((millis, millis));
        times.range = Some((earliest.min(millis), latest.max(millis)));
        let accepted = self.accepted.get_or_insert(AcceptedTimes {
            first_topic: topic,
            first: millis,
            last: millis,
            earliest: millis,
            latest: millis,
            messages: 0,
        });
        accepted.last = millis;
        accepted.earliest = accepted.earliest.min(millis);
        accepted.latest = accepted.latest.max(millis);
        accepted.messages += 1;
        let second = ((millis - accepted.first) / 1_000.0).floor().max(0.0) as u64;
        let is_new = self.starts.last().is_none_or(|(last, _)| *last < second);
        if is_new && self.starts.len() < MAX_SECONDS {
            self.starts.push((second, at));
        }
        is_new
    }

    /// Returns the earliest and the latest accepted time, in milliseconds.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        self.accepted.map(|accepted| (accepted.earliest, accepted.latest))
    }

    /// Returns the number of messages without a time, or with a rejected one.
    pub(crate) fn outliers(&self) -> u64 {
        let outliers: u64 = self.topics.iter().map(|times| times.outliers).sum();
        outliers + u64::from(self.pending.is_some())
    }

    /// Returns the times of the messages of `topic`.
    pub(crate) fn topic(&self, topic: TopicId) -> TopicTimes {
        let mut times = self.topics.get(topic.index() + 1).copied().unwrap_or_default();
        let is_pending =
            self.pending.is_some_and(|pending| pending.topic == Some(topic));
        times.outliers += u64::from(is_pending);
        times
    }

    /// Returns the number of entries of a complete index.
    pub(crate) fn len(&self) -> u64 {
        self.starts.last().map_or(0, |(second, _)| second.saturating_add(1))
    }

    /// Returns the entries of a complete index.
    pub(crate) fn entries(&self) -> impl Iterator<Item = u64> {
        // A second without messages has the entry of the next message.
        let mut next_second = 0;
        self.starts.iter().flat_map(move |(second, at)| {
            let first = std::mem::replace(&mut next_second, second.saturating_add(1));
            (first..=*second).map(|_| *at)
        })
    }

    /// Returns the position of the last message.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Compares the index of the file, which declares `declared_count` entries, with the
    /// messages, which start at `messages_start`.
    pub(crate) fn verify(
        &self,
        declared_count: u32,
        messages_start: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<IndexStatus> {
        let declared_count = u64::from(declared_count);
        if declared_count == 0 {
            return Ok(IndexStatus::Missing);
        }
        let (mut expected, mut previous) = (self.entries(), i64::MIN);
        let actual_count = messages_start.saturating_sub(FILE_HEADER_LEN as u64) / 8;
        let (mut is_sorted, mut is_correct) = (true, actual_count == declared_count);
        for entry in 0..declared_count.min(actual_count) {
            let bytes = window.read_at(FILE_HEADER_LEN as u64 + 8 * entry, 8)?;
            let Some(value) = ByteReader::new(&bytes).u64() else { break };
            is_sorted &= value as i64 >= previous;
            previous = value as i64;
            // Entries after the last second point to the last message.
            is_correct &= value == expected.next().unwrap_or(self.last);
        }
        Ok(match (is_sorted, is_correct) {
            (false, _) => IndexStatus::Unsorted,
            (true, false) => IndexStatus::Stale,
            (true, true) if expected.next().is_some() => IndexStatus::Short,
            (true, true) => IndexStatus::Verified,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_without_messages_has_the_entry_of_the_next_message() {
        let mut seconds = SecondIndex::default();
        let messages = [(500.0, 100), (900.0, 110), (1_499.9, 120), (4_500.0, 130)];
        let starts_second =
            messages.map(|(millis, at)| seconds.add(Some(TopicId(0)), millis, at));
        assert_eq!(starts_second, [true, false, false, true]);
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [100, 130, 130, 130, 130]);
        assert_eq!(seconds.len(), 5);
    }

    #[test]
    fn outliers_start_no_second_but_a_long_break_does() {
        let mut seconds = SecondIndex::default();
        let messages = [(0.0, 1), (8.9e12, 2), (500.0, 3), (f64::NAN, 4), (-8.9e12, 5)];
        for (millis, at) in messages {
            seconds.add(Some(TopicId(at as u32 % 2)), millis, at);
        }
        seconds.add(Some(TopicId(0)), 1_000.0, 6);
        // The outliers are at 2, 4 and 5.
        let times = |range, outliers| TopicTimes { range, outliers };
        assert_eq!(seconds.topic(TopicId(0)), times(Some((1_000.0, 1_000.0)), 2));
        assert_eq!(seconds.topic(TopicId(1)), times(Some((0.0, 500.0)), 1));
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [1, 6]);
        assert_eq!((seconds.outliers(), seconds.range()), (3, Some((0.0, 1_000.0))));
        // Two hours later, and further messages after that.
        assert!(!seconds.add(Some(TopicId(0)), 7_200e3, 7));
        assert!(seconds.add(Some(TopicId(0)), 7_200.5e3, 8));
        assert_eq!((seconds.outliers(), seconds.len()), (3, 7_201));
        assert_eq!(seconds.entries().last(), Some(7));
        // The first one is the outlier.
        let mut seconds = SecondIndex::default();
        for (millis, at) in [(8e12, 1), (5.0, 2), (6.0, 3), (1_005.0, 4)] {
            seconds.add(Some(TopicId(0)), millis, at);
        }
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [1, 4]);
        assert_eq!((seconds.outliers(), seconds.range()), (1, Some((5.0, 1_005.0))));
    }

    #[test]
    fn rejected_first_message_is_added_to_the_outliers_of_its_topic() {
        let mut seconds = SecondIndex::default();
        // The first message has no time, and that of the second is off by 250 years.
        for (millis, at) in [(f64::NAN, 1), (8e12, 2), (5.0, 3), (6.0, 4)] {
            seconds.add(Some(TopicId(0)), millis, at);
        }
        let expected = TopicTimes { range: Some((5.0, 6.0)), outliers: 2 };
        assert_eq!(seconds.topic(TopicId(0)), expected);
    }

    #[test]
    fn message_of_an_earlier_time_starts_no_second() {
        let mut seconds = SecondIndex::default();
        seconds.add(Some(TopicId(0)), 5_000.0, 10);
        seconds.add(Some(TopicId(0)), 7_000.0, 20);
        assert!(!seconds.add(Some(TopicId(0)), 0.0, 30));
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [10, 20, 20]);
    }
}
