//! The index: where each second of the log begins.
//!
//! Entry `k` is the position, in the file, of the first message that is `k` seconds or
//! more after the first of all.

use logtool_core::{Cut, Result, Window};
use serde::{Deserialize, Serialize};

use crate::vel::wire::HEAD_LEN;

/// How many seconds are noted: 48 days. After that there are no further entries.
const MAX_SECONDS: usize = 1 << 22;

/// What the index of a file is worth. Reading never depends on it: what the messages
/// say is what counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexVerdict {
    /// Each entry is where its second begins.
    Verified,
    /// It has no entries.
    Missing,
    /// The entries are right, and there are fewer than seconds.
    Short,
    /// The entries are not in the order of the file.
    Unsorted,
    /// Entries are not where their seconds begin, or are not even there.
    Stale,
}

/// The seconds of a log, as its messages tell them: those with a message, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seconds {
    first_millis: Option<f64>,
    starts: Vec<(u64, u64)>,
    last: u64,
}

impl Seconds {
    /// Takes note of a message at `at`; says whether a second begins with it.
    pub(crate) fn message(&mut self, millis: f64, at: u64) -> bool {
        let first = *self.first_millis.get_or_insert(millis);
        self.last = at;
        let second = ((millis - first) / 1_000.0).floor().max(0.0) as u64;
        let is_new = self.starts.last().is_none_or(|(last, _)| *last < second);
        if is_new && self.starts.len() < MAX_SECONDS {
            self.starts.push((second, at));
        }
        is_new
    }

    /// How many entries a complete index has.
    pub(crate) fn len(&self) -> u64 {
        self.starts.last().map_or(0, |(second, _)| second.saturating_add(1))
    }

    /// The entries of a complete index.
    pub(crate) fn entries(&self) -> impl Iterator<Item = u64> {
        let mut next = 0;
        self.starts.iter().flat_map(move |(second, at)| {
            let from = std::mem::replace(&mut next, second.saturating_add(1));
            (from..=*second).map(|_| *at)
        })
    }

    /// Where the last message begins.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Compares the index of `count` entries in the file with the messages, which begin
    /// at `messages`.
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
    fn a_second_without_messages_points_to_the_next_one() {
        let mut seconds = Seconds::default();
        let messages = [(500.0, 100), (900.0, 110), (1_499.9, 120), (4_500.0, 130)];
        let begins = messages.map(|(millis, at)| seconds.message(millis, at));
        assert_eq!(begins, [true, false, false, true]);
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [100, 130, 130, 130, 130]);
        assert_eq!(seconds.len(), 5);
    }

    #[test]
    fn a_message_of_the_past_begins_no_second() {
        let mut seconds = Seconds::default();
        seconds.message(5_000.0, 10);
        seconds.message(7_000.0, 20);
        assert!(!seconds.message(0.0, 30));
        assert_eq!(seconds.entries().collect::<Vec<_>>(), [10, 20, 20]);
    }
}
