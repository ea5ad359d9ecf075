//! The index: where each second of the log starts.
//!
//! Entry `k` is the position in the file of the first message that is at least `k`
//! seconds after the first message of the file. Messages whose time is far from those
//! around them are ignored: one flipped bit can change a time by years.

use logtool_core::{Cut, Result, TopicId, Window};
use serde::{Deserialize, Serialize};

use crate::vel::wire::HEAD_LEN;

/// The maximum number of indexed seconds: 48 days. Later seconds have no entries.
const MAX_SECONDS: usize = 1 << 22;

/// A time that differs from the previous one by more milliseconds than this is accepted
/// only if the next time is near it.
const FAR: f64 = 3_600e3;

/// If the second time differs from the first by more milliseconds than this, the first is
/// rejected.
const APART: f64 = 24.0 * FAR;

/// The state of the index of a file. Reading never depends on the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexVerdict {
    /// Each entry is the start of its second.
    Verified,
    /// The index has no entries.
    Missing,
    /// The entries are correct, but there are fewer than seconds.
    Short,
    /// The entries are not in ascending order.
    Unsorted,
    /// Entries are not the starts of their seconds, or are outside the file.
    Stale,
}

/// The seconds of a log that have messages, with the position of the first message of
/// each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seconds {
    believed: Option<Believed>,
    /// The time, position and topic of a message whose time is far from those before it.
    doubt: Option<(f64, u64, Option<TopicId>)>,
    /// The times of messages that are not records, then those of each topic.
    topics: Vec<TopicTimes>,
    starts: Vec<(u64, u64)>,
    last: u64,
}

/// The times of the messages of one topic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TopicTimes {
    /// The least and the greatest accepted time, in milliseconds.
    pub(crate) span: Option<(f64, f64)>,
    /// The number of messages without a time, or whose time is far from those around
    /// them.
    pub(crate) strays: u64,
}

/// The accepted times, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Believed {
    /// The topic of the first message.
    topic: Option<TopicId>,
    first: f64,
    last: f64,
    least: f64,
    most: f64,
    messages: u64,
}

impl Seconds {
    /// Adds the message at `at`. It is a record of `topic` unless it is too long. Returns
    /// true if a second starts with it.
    pub(crate) fn message(
        &mut self,
        topic: Option<TopicId>,
        millis: f64,
        at: u64,
    ) -> bool {
        self.last = at;
        if !millis.is_finite() {
            self.times_of(topic).strays += 1;
            return false;
        }
        let is_near = |other: f64| (millis - other).abs() <= FAR;
        if self.believed.is_none_or(|known| is_near(known.last)) {
            if let Some((_, _, doubted)) = self.doubt.take() {
                self.times_of(doubted).strays += 1;
            }
            return self.believe(topic, millis, at);
        }
        match self.doubt.replace((millis, at, topic)) {
            Some((doubted, then, topic_then)) if is_near(doubted) => {
                self.doubt = None;
                let is_apart = |known: &Believed| {
                    known.messages == 1 && (doubted - known.first).abs() > APART
                };
                if let Some(first) = self.believed.take_if(|known| is_apart(known)) {
                    *self.times_of(first.topic) = TopicTimes { span: None, strays: 1 };
                }
                let begins = self.believe(topic_then, doubted, then);
                self.believe(topic, millis, at) || begins
            }
            Some((_, _, doubted)) => {
                self.times_of(doubted).strays += 1;
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

    /// Adds the message at `at`, whose time is accepted.
    fn believe(&mut self, topic: Option<TopicId>, millis: f64, at: u64) -> bool {
        let times = self.times_of(topic);
        let (least, most) = times.span.unwrap_or((millis, millis));
        times.span = Some((least.min(millis), most.max(millis)));
        let (first, last, least, most) = (millis, millis, millis, millis);
        let new = Believed { topic, first, last, least, most, messages: 0 };
        let known = self.believed.get_or_insert(new);
        known.last = millis;
        (known.least, known.most) = (known.least.min(millis), known.most.max(millis));
        known.messages += 1;
        let second = ((millis - known.first) / 1_000.0).floor().max(0.0) as u64;
        let is_new = self.starts.last().is_none_or(|(last, _)| *last < second);
        if is_new && self.starts.len() < MAX_SECONDS {
            self.starts.push((second, at));
        }
        is_new
    }

    /// Returns the least and the greatest accepted time, in milliseconds.
    pub(crate) fn span(&self) -> Option<(f64, f64)> {
        self.believed.map(|known| (known.least, known.most))
    }

    /// Returns the number of messages without a time, or with a rejected one.
    pub(crate) fn strays(&self) -> u64 {
        let strays: u64 = self.topics.iter().map(|times| times.strays).sum();
        strays + u64::from(self.doubt.is_some())
    }

    /// Returns the times of the messages of `topic`.
    pub(crate) fn topic(&self, topic: TopicId) -> TopicTimes {
        let mut times = self.topics.get(topic.index() + 1).copied().unwrap_or_default();
        let is_doubted =
            |(_, _, doubted): (f64, u64, Option<TopicId>)| doubted == Some(topic);
        times.strays += u64::from(self.doubt.is_some_and(is_doubted));
        times
    }

    /// Returns the number of entries of a complete index.
    pub(crate) fn len(&self) -> u64 {
        self.starts.last().map_or(0, |(second, _)| second.saturating_add(1))
    }

    /// Returns the entries of a complete index.
    pub(crate) fn entries(&self) -> impl Iterator<Item = u64> {
        let mut next = 0;
        self.starts.iter().flat_map(move |(second, at)| {
            let from = std::mem::replace(&mut next, second.saturating_add(1));
            (from..=*second).map(|_| *at)
        })
    }

    /// Returns the position of the last message.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Compares the index of the file, which declares `count` entries, with the messages,
    /// which start at `messages`.
    pub(crate) fn judge(
        &self,
        count: u32,
        messages: u64,
        window: &mut Window<'_>,
    ) -> Result<IndexVerdict> {
        let count = u64::from(count);
        if count == 0 {
            return Ok(IndexVerdict::Missing);
        }
        let (mut wanted, mut previous) = (self.entries(), i64::MIN);
        let (mut is_sorted, mut is_right) = (true, true);
        let there = messages.saturating_sub(HEAD_LEN as u64) / 8;
        is_right &= there == count;
        for entry in 0..count.min(there) {
            let bytes = window.at(HEAD_LEN as u64 + 8 * entry, 8)?;
            let Some(value) = Cut::new(&bytes).u64() else { break };
            is_sorted &= value as i64 >= previous;
            previous = value as i64;
            is_right &= value == wanted.next().unwrap_or(self.last);
        }
        Ok(match (is_sorted, is_right) {
            (false, _) => IndexVerdict::Unsorted,
            (true, false) => IndexVerdict::Stale,
            (true, true) if wanted.next().is_some() => IndexVerdict::Short,
            (true, true) => IndexVerdict::Verified,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_without_messages_has_the_entry_of_the_next_message() {
        let mut seconds = Seconds::default();
        let messages = [(500.0, 100), (900.0, 110), (1_499.9, 120), (4_500.0, 130)];
        let begins =
            messages.map(|(millis, at)| seconds.message(Some(TopicId(0)), millis, at));
        assert_eq!(begins, [true, false, false, true]);
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [100, 130, 130, 130, 130]);
        assert_eq!(seconds.len(), 5);
    }

    #[test]
    fn outliers_start_no_second_but_a_long_break_does() {
        let mut seconds = Seconds::default();
        let wild = [(0.0, 1), (8.9e12, 2), (500.0, 3), (f64::NAN, 4), (-8.9e12, 5)];
        for (millis, at) in wild {
            seconds.message(Some(TopicId(at as u32 % 2)), millis, at);
        }
        seconds.message(Some(TopicId(0)), 1_000.0, 6);
        // The outliers are at 2, 4 and 5.
        let times = |span, strays| TopicTimes { span, strays };
        assert_eq!(seconds.topic(TopicId(0)), times(Some((1_000.0, 1_000.0)), 2));
        assert_eq!(seconds.topic(TopicId(1)), times(Some((0.0, 500.0)), 1));
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [1, 6]);
        assert_eq!((seconds.strays(), seconds.span()), (3, Some((0.0, 1_000.0))));
        // Two hours later, and further messages after that.
        assert!(!seconds.message(Some(TopicId(0)), 7_200e3, 7));
        assert!(seconds.message(Some(TopicId(0)), 7_200.5e3, 8));
        assert_eq!((seconds.strays(), seconds.len()), (3, 7_201));
        assert_eq!(seconds.entries().last(), Some(7));
        // The first one is the outlier.
        let mut seconds = Seconds::default();
        for (millis, at) in [(8e12, 1), (5.0, 2), (6.0, 3), (1_005.0, 4)] {
            seconds.message(Some(TopicId(0)), millis, at);
        }
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [1, 4]);
        assert_eq!((seconds.strays(), seconds.span()), (1, Some((5.0, 1_005.0))));
    }

    #[test]
    fn message_of_an_earlier_time_starts_no_second() {
        let mut seconds = Seconds::default();
        seconds.message(Some(TopicId(0)), 5_000.0, 10);
        seconds.message(Some(TopicId(0)), 7_000.0, 20);
        assert!(!seconds.message(Some(TopicId(0)), 0.0, 30));
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [10, 20, 20]);
    }
}
