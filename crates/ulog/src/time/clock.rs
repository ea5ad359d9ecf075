//! The stream clock: the time of messages that have no timestamp of their own.
//!
//! Dropouts and parameter changes have no timestamp; they happened at the time of the
//! data around them. Single timestamps may be 0 or absurd (12 of 15 PX4 logs have
//! some). So the clock accepts a timestamp that is close to the previous one, and
//! accepts a jump only after several timestamps confirm it.
//!
//! The clock starts at the time in the file header. PX4 then writes the last
//! publication of each topic with its old timestamp, so these records are older than
//! the start of logging. They are valid, but they do not change the clock.

use serde::{Deserialize, Serialize};

/// The maximum distance of neighboring timestamps, in microseconds: 5 minutes.
pub(crate) const MAX_STEP: u64 = 5 * 60 * 1_000_000;
/// The number of timestamps that must agree before a jump is accepted.
pub(crate) const JUMP_CONFIRMATIONS: u32 = 8;
/// The latest time that is accepted at all.
const LATEST: u64 = i64::MAX as u64 / 1_000;

/// The sources of timestamps: counters of 8, 16 and 32 bits, and timestamps of 64 bits.
const SOURCES: usize = 4;
const WIDEST: usize = SOURCES - 1;

/// Follows the timestamps of the data of a log. All times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamClock {
    now: u64,
    /// The latest time since the last jump. Messages that are logged now are no older.
    latest: u64,
    /// Whether the clock has a time yet.
    is_set: bool,
    /// For each source, the time of a possible jump, and the number of timestamps that
    /// confirm it. They are separate because a counter may be wrong after a pause, and
    /// does not contradict wider timestamps.
    jump: [u64; SOURCES],
    jump_votes: [u32; SOURCES],
    /// The number of accepted jumps.
    pub(crate) epoch: u32,
    /// The start of logging in the file header; 0 if it is not set.
    start: u64,
    /// For each source, the last accepted time of this source or a wider one, and the
    /// duration of the dropouts since then. A counter has 0 if that is the last time of
    /// 64 bits.
    last_times: [u64; SOURCES],
    dropped: [u64; SOURCES],
    /// Whether there was a counter, a dropout or a possible jump since the last
    /// accepted time of 64 bits. If not, a record of 64 bits updates only two numbers.
    is_marked: bool,
}

/// The trust in the timestamp of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The time is consistent with the neighboring records.
    Trusted,
    /// The time is older than the start of logging: the record was published before.
    BeforeStart,
    /// The time is 0, or far from the neighboring records.
    Implausible,
}

impl StreamClock {
    /// Creates a clock that starts at the `start` of logging, or with the first record
    /// if `start` is 0.
    pub(crate) fn with_start(start: u64) -> Self {
        let start = if start > LATEST { 0 } else { start };
        Self { now: start, latest: start, is_set: start != 0, start, ..Self::default() }
    }

    /// Updates the clock with the timestamp of a record. Returns the trust in the timestamp.
    #[inline]
    pub(crate) fn observe(&mut self, time: u64) -> Trust {
        self.observe_from(time, WIDEST)
    }

    /// Updates the clock with a timestamp that was unwrapped from a counter of `bits`
    /// bits.
    pub(crate) fn observe_counter(&mut self, time: u64, bits: u32) -> Trust {
        self.observe_from(time, source(bits))
    }

    #[inline]
    fn observe_from(&mut self, time: u64, source: usize) -> Trust {
        let is_near = time.abs_diff(self.now) <= MAX_STEP;
        if is_near && time >= self.start.max(1) && self.is_set {
            self.now = time;
            self.latest = self.latest.max(time);
            if source == WIDEST && !self.is_marked {
                self.last_times[WIDEST] = time;
            } else {
                self.accept(time, source);
            }
            return Trust::Trusted;
        }
        self.observe_unusual(time, source)
    }

    /// Stores an accepted time of a source, for this source and all narrower ones.
    #[cold]
    fn accept(&mut self, time: u64, source: usize) {
        self.is_marked = source != WIDEST;
        let time_for_counters = if self.is_marked { time } else { 0 };
        for narrower in 0..=source {
            self.last_times[narrower] = time_for_counters;
            (self.dropped[narrower], self.jump_votes[narrower]) = (0, 0);
        }
        self.last_times[source] = time;
    }

    #[cold]
    fn observe_unusual(&mut self, time: u64, source: usize) -> Trust {
        if time == 0 || time > LATEST {
            return Trust::Implausible;
        }
        if time < self.start {
            return Trust::BeforeStart;
        }
        if !self.is_set {
            (self.now, self.latest, self.is_set) = (time, time, true);
            self.accept(time, source);
            return Trust::Trusted;
        }
        self.is_marked = true;
        let (jump, jump_votes) = (&mut self.jump[source], &mut self.jump_votes[source]);
        let is_confirmed = *jump_votes > 0 && time.abs_diff(*jump) <= MAX_STEP;
        *jump_votes = if is_confirmed { *jump_votes + 1 } else { 1 };
        *jump = time;
        if *jump_votes < JUMP_CONFIRMATIONS {
            return Trust::Implausible;
        }
        self.jump(time, source);
        Trust::Trusted
    }

    /// Sets the clock to `time`, which is known to be correct.
    pub(crate) fn jump_to(&mut self, time: u64) {
        self.jump(time, WIDEST);
    }

    fn jump(&mut self, time: u64, source: usize) {
        (self.now, self.latest, self.is_set) = (time, time, true);
        self.accept(time, source);
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Returns true if `time` is close to the last accepted time.
    pub(crate) fn is_near(&self, time: u64) -> bool {
        self.is_set && time.abs_diff(self.now) <= MAX_STEP
    }

    /// Adds a dropout.
    pub(crate) fn add_dropout(&mut self, millis: u16) {
        self.is_marked = true;
        for dropped in &mut self.dropped {
            *dropped = dropped.saturating_add(u64::from(millis) * 1_000);
        }
    }

    /// Returns true if the last timestamp of 64 bits may be the first one after a jump.
    pub(crate) fn may_jump(&self) -> bool {
        self.jump_votes[WIDEST] == 1
    }

    /// Returns true if a record has set the clock for counters of `bits` bits. The start of
    /// logging alone may be long before the first record.
    pub(crate) fn has_seen(&self, bits: u32) -> bool {
        self.last_time_of(source(bits)) != 0
    }

    /// Returns the last accepted time of a source or of a wider one; 0 if there was none.
    fn last_time_of(&self, source: usize) -> u64 {
        match self.last_times[source] {
            0 => self.last_times[WIDEST],
            time => time,
        }
    }

    /// Returns a clock of the same log that starts with a record at `time`.
    pub(crate) fn restarted_at(&self, time: u64) -> Self {
        let start = self.start;
        let mut last_times = [0; SOURCES];
        last_times[WIDEST] = time;
        Self {
            now: time,
            latest: time,
            is_set: true,
            start,
            last_times,
            ..Self::default()
        }
    }

    /// Returns the start of logging in the file header, if the clock started there.
    pub(crate) fn start(&self) -> Option<u64> {
        (self.start != 0).then_some(self.start)
    }

    /// Returns true if continuing from this clock would give the same result as `next`,
    /// which was started at the record time `first`. This is the case if no jump
    /// occurred at `first` or later.
    pub(crate) fn is_continued_by(&self, first: u64, next: &Self) -> bool {
        let is_near =
            first >= self.start.max(1) && first.abs_diff(self.now) <= MAX_STEP;
        self.is_set && is_near && next.epoch == 0
    }

    /// Returns the state after this clock is continued by `next`.
    pub(crate) fn continued_by(&self, next: &Self) -> Self {
        let latest = self.latest.max(next.latest);
        Self { latest, epoch: self.epoch, ..next.clone() }
    }

    /// Returns this clock without candidates for jumps that were rejected, so that
    /// equal clocks compare equal.
    pub(crate) fn without_stale_votes(&self) -> Self {
        let mut clock = self.clone();
        for (jump, jump_votes) in clock.jump.iter_mut().zip(self.jump_votes) {
            if jump_votes == 0 {
                *jump = 0;
            }
        }
        clock
    }

    /// Returns the last accepted time, if there is one.
    pub(crate) fn last_accepted(&self) -> Option<u64> {
        self.is_set.then_some(self.now)
    }

    /// Returns the approximate time for a counter of `bits` bits: the last accepted
    /// time of a record with at least as many bits, plus the dropouts since then.
    pub(crate) fn estimate(&self, bits: u32) -> Option<u64> {
        let source = source(bits);
        let latest = match self.last_time_of(source) {
            0 => self.start,
            time => time,
        };
        (latest != 0).then(|| latest.saturating_add(self.dropped[source]))
    }

    /// Returns the latest accepted time since the last jump.
    pub(crate) fn latest_since_jump(&self) -> Option<u64> {
        self.is_set.then_some(self.latest)
    }
}

/// Returns the source for timestamps of `bits` bits.
fn source(bits: u32) -> usize {
    match bits {
        0..=8 => 0,
        9..=16 => 1,
        17..=32 => 2,
        _ => WIDEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_absurd_time_is_rejected() {
        let mut clock = StreamClock::default();
        for time in [1_000, 1_010, 0, u64::MAX, 1 << 60, 1_020, 1_015] {
            clock.observe(time);
        }
        assert_eq!(clock.last_accepted(), Some(1_015));
        assert_eq!(clock.latest_since_jump(), Some(1_020));
    }

    #[test]
    fn jump_is_accepted_after_enough_confirmations() {
        let mut clock = StreamClock::default();
        clock.observe(1_000);
        let day = 86_400_000_000;
        let trust: Vec<Trust> = (0..9).map(|i| clock.observe(day + i)).collect();
        assert_eq!(trust.iter().position(|t| *t == Trust::Trusted), Some(7));
        assert_eq!(clock.last_accepted(), Some(day + 8));
        clock.observe(day + 5);
        assert_eq!(
            (clock.last_accepted(), clock.latest_since_jump()),
            (Some(day + 5), Some(day + 8))
        );
    }

    #[test]
    fn dropout_advances_estimate_until_next_record() {
        let mut clock = StreamClock::with_start(1_000_000);
        clock.add_dropout(500);
        assert_eq!(clock.last_accepted(), Some(1_000_000));
        assert_eq!(clock.estimate(8), Some(1_500_000));
        // A counter of 8 bits does not set the clock of a counter of 16 bits.
        clock.observe_counter(1_510_000, 8);
        assert_eq!(
            [8, 16].map(|bits| clock.estimate(bits)),
            [1_510_000, 1_500_000].map(Some)
        );
        clock.observe(1_520_000);
        assert_eq!(clock.estimate(16), Some(1_520_000));
    }

    #[test]
    fn records_before_start_do_not_change_clock() {
        let start = 500_000_000;
        let mut clock = StreamClock::with_start(start);
        // There are more of these times than a jump needs, and some are close to the
        // start.
        for time in [5_000, 5_001, 6_000, 7, 8, 9, 10, 11, 12, start - 1] {
            assert_eq!(clock.observe(time), Trust::BeforeStart);
        }
        assert_eq!(clock.last_accepted(), Some(start));
        assert_eq!(clock.observe(0), Trust::Implausible);
        assert_eq!(clock.observe(start), Trust::Trusted);
        assert_eq!(clock.observe(start + MAX_STEP), Trust::Trusted);
    }
}
