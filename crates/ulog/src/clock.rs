//! The time of the stream: what time it is where a message has none of its own.
//!
//! Dropouts and parameter changes say nothing of their time; they happened when the
//! data around them did. Single timestamps may be 0 or absurd (12 of 15 logs of PX4
//! have some), so the stream believes a timestamp that is near the last, and a jump
//! only after several have made it.

use serde::{Deserialize, Serialize};

/// How far apart neighbouring timestamps are believed, in microseconds: 5 minutes.
const NEAR: u64 = 5 * 60 * 1_000_000;
/// How many timestamps have to agree before a jump is believed.
pub(crate) const AGREE: u32 = 8;
/// The latest time that is believed at all.
const LATEST: u64 = i64::MAX as u64 / 1_000;

/// Follows the timestamps of a log's data. All times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamClock {
    now: u64,
    /// The latest time since the last jump: what is logged now happened no earlier.
    latest: u64,
    /// Whether there was one at all.
    is_set: bool,
    /// Where a jump would go to, and how many timestamps are there.
    jump: u64,
    jumpers: u32,
    /// How many jumps were believed.
    pub(crate) epoch: u32,
}

impl StreamClock {
    /// Takes notice of the timestamp of a record, and says whether it is believed.
    #[inline]
    pub(crate) fn observe(&mut self, time: u64) -> bool {
        let is_near = time.abs_diff(self.now) <= NEAR;
        if is_near && time != 0 && self.is_set {
            self.now = time;
            self.latest = self.latest.max(time);
            self.jumpers = 0;
            return true;
        }
        self.observe_odd(time)
    }

    #[cold]
    fn observe_odd(&mut self, time: u64) -> bool {
        if time == 0 || time > LATEST {
            return false;
        }
        if !self.is_set {
            (self.now, self.latest, self.is_set) = (time, time, true);
            return true;
        }
        let with_the_others = self.jumpers > 0 && time.abs_diff(self.jump) <= NEAR;
        self.jumpers = if with_the_others { self.jumpers + 1 } else { 1 };
        self.jump = time;
        if self.jumpers < AGREE {
            return false;
        }
        (self.now, self.latest, self.jumpers) = (time, time, 0);
        self.epoch = self.epoch.saturating_add(1);
        true
    }

    /// A clock that begins with a record of this time.
    pub(crate) fn at(time: u64) -> Self {
        Self { now: time, latest: time, is_set: true, ..Self::default() }
    }

    /// Whether it would have seen what a clock saw that began with the record of the time
    /// `first` and is now `next`, and no jump in that.
    pub(crate) fn goes_on_as(&self, first: u64, next: &Self) -> bool {
        let is_near = first != 0 && first.abs_diff(self.now) <= NEAR;
        self.is_set && is_near && next.epoch == 0
    }

    /// What it is then.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let latest = self.latest.max(next.latest);
        Self { latest, epoch: self.epoch, ..next.clone() }
    }

    /// The same, without what no longer tells anything.
    pub(crate) fn settled(&self) -> Self {
        let jump = if self.jumpers > 0 { self.jump } else { 0 };
        Self { jump, ..self.clone() }
    }

    /// The time of the last record that was believed, if there was one.
    pub(crate) fn now(&self) -> Option<u64> {
        self.is_set.then_some(self.now)
    }

    /// The latest time of a record that was believed, since the last jump.
    pub(crate) fn latest(&self) -> Option<u64> {
        self.is_set.then_some(self.latest)
    }
}

/// Unwraps timestamps of fewer than 64 bits, of which each topic has its own counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unwrapper {
    /// The last value, unwrapped, in the counter's own unit.
    last: Option<u64>,
}

impl Unwrapper {
    /// Whether it has unwrapped a value.
    pub(crate) fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// The unwrapped value of `raw`, a counter of `bits` bits: the one that is nearest
    /// to the last, or, for the first, to `guess`.
    pub(crate) fn unwrap(&mut self, raw: u64, bits: u32, guess: Option<u64>) -> u64 {
        let span = 1_u64 << bits;
        let full = match self.last.or(guess) {
            None => raw,
            Some(last) => {
                let ahead = raw.wrapping_sub(last) & (span - 1);
                match ahead < span / 2 {
                    true => last.saturating_add(ahead),
                    false => last.checked_sub(span - ahead).unwrap_or(last + ahead),
                }
            }
        };
        self.last = Some(full);
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_absurd_time_is_not_believed() {
        let mut clock = StreamClock::default();
        for time in [1_000, 1_010, 0, u64::MAX, 1 << 60, 1_020, 1_015] {
            clock.observe(time);
        }
        assert_eq!(clock.now(), Some(1_015));
        assert_eq!(clock.latest(), Some(1_020));
    }

    #[test]
    fn a_jump_is_believed_when_others_follow() {
        let mut clock = StreamClock::default();
        clock.observe(1_000);
        let day = 86_400_000_000;
        let believed: Vec<bool> = (0..9).map(|i| clock.observe(day + i)).collect();
        assert_eq!(believed.iter().position(|b| *b), Some(7));
        assert_eq!(clock.now(), Some(day + 8));
        clock.observe(day + 5);
        assert_eq!((clock.now(), clock.latest()), (Some(day + 5), Some(day + 8)));
    }

    #[test]
    fn a_counter_goes_on_after_it_wraps() {
        let mut wrapper = Unwrapper::default();
        let unwrapped = [250, 254, 2, 6, 4].map(|raw| wrapper.unwrap(raw, 8, None));
        assert_eq!(unwrapped, [250, 254, 258, 262, 260]);
        let first = Unwrapper::default().unwrap(2, 8, Some(1_020));
        assert_eq!(first, 1_026);
    }
}
