//! The time of the stream: what time it is where a message has none of its own.
//!
//! Dropouts and parameter changes say nothing of their time; they happened when the
//! data around them did. Single timestamps may be 0 or absurd (12 of 15 logs of PX4
//! have some), so the stream believes a timestamp that is near the last, and a jump
//! only after several have made it.
//!
//! The clock begins at the time of the file's header. PX4 then writes the last
//! publication of each topic with its old timestamp: such records are older than the
//! start of logging. They are valid, but they do not move the clock.

use serde::{Deserialize, Serialize};

/// How far apart neighbouring timestamps are believed, in microseconds: 5 minutes.
pub(crate) const NEAR: u64 = 5 * 60 * 1_000_000;
/// How many timestamps have to agree before a jump is believed.
pub(crate) const AGREE: u32 = 8;
/// The latest time that is believed at all.
const LATEST: u64 = i64::MAX as u64 / 1_000;

/// The sources of timestamps: counters of 8, 16 and 32 bits, and timestamps of 64 bits.
const SOURCES: usize = 4;
const WIDE: usize = SOURCES - 1;

/// Follows the timestamps of a log's data. All times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamClock {
    now: u64,
    /// The latest time since the last jump: what is logged now happened no earlier.
    latest: u64,
    /// Whether there was one at all.
    is_set: bool,
    /// Where a jump would go to, and how many timestamps are there, for each source: a
    /// counter may be wrong after a pause, and does not contradict wider timestamps.
    jump: [u64; SOURCES],
    jumpers: [u32; SOURCES],
    /// How many jumps were believed.
    pub(crate) epoch: u32,
    /// The start of logging in the header; 0 if it is not set.
    start: u64,
    /// For each source, the last believed time of that source or of a wider one, and the duration
    /// of the dropouts since then. A counter has 0 if that is the last time of 64 bits.
    seen: [u64; SOURCES],
    dropped: [u64; SOURCES],
    /// Whether a counter, a dropout or a jump was seen since the last believed time of 64 bits.
    /// Without any, a record of 64 bits changes two numbers only.
    is_marked: bool,
}

/// How far the timestamp of a record is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It fits the records around it.
    Believed,
    /// It is older than the start of logging: a value that was published before.
    BeforeStart,
    /// It is 0, or far from the records around it.
    Odd,
}

impl StreamClock {
    /// A clock that begins at the `start` of logging, or, where that is 0, with the
    /// first record.
    pub(crate) fn starting(start: u64) -> Self {
        let start = if start > LATEST { 0 } else { start };
        Self { now: start, latest: start, is_set: start != 0, start, ..Self::default() }
    }

    /// Takes notice of the timestamp of a record, and says whether it is believed.
    #[inline]
    pub(crate) fn observe(&mut self, time: u64) -> Trust {
        self.observe_from(time, WIDE)
    }

    /// Takes notice of a timestamp that was unwrapped from a counter of `bits` bits.
    pub(crate) fn observe_counter(&mut self, time: u64, bits: u32) -> Trust {
        self.observe_from(time, source(bits))
    }

    #[inline]
    fn observe_from(&mut self, time: u64, source: usize) -> Trust {
        let is_near = time.abs_diff(self.now) <= NEAR;
        if is_near && time >= self.start.max(1) && self.is_set {
            self.now = time;
            self.latest = self.latest.max(time);
            if source == WIDE && !self.is_marked {
                self.seen[WIDE] = time;
            } else {
                self.believe(time, source);
            }
            return Trust::Believed;
        }
        self.observe_odd(time, source)
    }

    /// Notes a time that was believed of a source, for it and for the narrower ones.
    #[cold]
    fn believe(&mut self, time: u64, source: usize) {
        self.is_marked = source != WIDE;
        let of_counters = if self.is_marked { time } else { 0 };
        for narrower in 0..=source {
            self.seen[narrower] = of_counters;
            (self.dropped[narrower], self.jumpers[narrower]) = (0, 0);
        }
        self.seen[source] = time;
    }

    #[cold]
    fn observe_odd(&mut self, time: u64, source: usize) -> Trust {
        if time == 0 || time > LATEST {
            return Trust::Odd;
        }
        if time < self.start {
            return Trust::BeforeStart;
        }
        if !self.is_set {
            (self.now, self.latest, self.is_set) = (time, time, true);
            self.believe(time, source);
            return Trust::Believed;
        }
        self.is_marked = true;
        let (jump, jumpers) = (&mut self.jump[source], &mut self.jumpers[source]);
        let with_the_others = *jumpers > 0 && time.abs_diff(*jump) <= NEAR;
        *jumpers = if with_the_others { *jumpers + 1 } else { 1 };
        *jump = time;
        if *jumpers < AGREE {
            return Trust::Odd;
        }
        self.jump(time, source);
        Trust::Believed
    }

    /// Sets the clock to `time`, which is known to be right.
    pub(crate) fn jump_to(&mut self, time: u64) {
        self.jump(time, WIDE);
    }

    fn jump(&mut self, time: u64, source: usize) {
        (self.now, self.latest, self.is_set) = (time, time, true);
        self.believe(time, source);
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Whether records of this time are near to the last one that was believed.
    pub(crate) fn is_near(&self, time: u64) -> bool {
        self.is_set && time.abs_diff(self.now) <= NEAR
    }

    /// Takes notice of a dropout.
    pub(crate) fn drop_out(&mut self, millis: u16) {
        self.is_marked = true;
        for dropped in &mut self.dropped {
            *dropped = dropped.saturating_add(u64::from(millis) * 1_000);
        }
    }

    /// Returns true if the last timestamp of 64 bits may be the first one after a jump.
    pub(crate) fn may_jump(&self) -> bool {
        self.jumpers[WIDE] == 1
    }

    /// Returns true if a record has set the clock for counters of `bits` bits. The start of
    /// logging alone may be long before the first record.
    pub(crate) fn has_seen(&self, bits: u32) -> bool {
        self.seen_by(source(bits)) != 0
    }

    /// Returns the last believed time of a source or of a wider one; 0 if there was none.
    fn seen_by(&self, source: usize) -> u64 {
        match self.seen[source] {
            0 => self.seen[WIDE],
            time => time,
        }
    }

    /// A clock of the same log that begins with a record of this time.
    pub(crate) fn at(&self, time: u64) -> Self {
        let start = self.start;
        let mut seen = [0; SOURCES];
        seen[WIDE] = time;
        Self { now: time, latest: time, is_set: true, start, seen, ..Self::default() }
    }

    /// When logging started by the header, where the clock began there.
    pub(crate) fn start(&self) -> Option<u64> {
        (self.start != 0).then_some(self.start)
    }

    /// Whether it would have seen what a clock saw that began with the record of the time
    /// `first` and is now `next`, and no jump in that.
    pub(crate) fn goes_on_as(&self, first: u64, next: &Self) -> bool {
        let is_near = first >= self.start.max(1) && first.abs_diff(self.now) <= NEAR;
        self.is_set && is_near && next.epoch == 0
    }

    /// What it is then.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let latest = self.latest.max(next.latest);
        Self { latest, epoch: self.epoch, ..next.clone() }
    }

    /// The same, without what no longer tells anything.
    pub(crate) fn settled(&self) -> Self {
        let mut settled = self.clone();
        for (jump, jumpers) in settled.jump.iter_mut().zip(self.jumpers) {
            if jumpers == 0 {
                *jump = 0;
            }
        }
        settled
    }

    /// The time of the last record that was believed, if there was one.
    pub(crate) fn now(&self) -> Option<u64> {
        self.is_set.then_some(self.now)
    }

    /// Returns the approximate time for a counter of `bits` bits: the time of the last believed
    /// record with at least as many bits, plus the dropouts since then.
    pub(crate) fn estimate(&self, bits: u32) -> Option<u64> {
        let source = source(bits);
        let seen = match self.seen_by(source) {
            0 => self.start,
            time => time,
        };
        (seen != 0).then(|| seen.saturating_add(self.dropped[source]))
    }

    /// The latest time of a record that was believed, since the last jump.
    pub(crate) fn latest(&self) -> Option<u64> {
        self.is_set.then_some(self.latest)
    }
}

/// Returns the source of timestamps of `bits` bits.
fn source(bits: u32) -> usize {
    match bits {
        0..=8 => 0,
        9..=16 => 1,
        17..=32 => 2,
        _ => WIDE,
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
        let trust: Vec<Trust> = (0..9).map(|i| clock.observe(day + i)).collect();
        assert_eq!(trust.iter().position(|t| *t == Trust::Believed), Some(7));
        assert_eq!(clock.now(), Some(day + 8));
        clock.observe(day + 5);
        assert_eq!((clock.now(), clock.latest()), (Some(day + 5), Some(day + 8)));
    }

    #[test]
    fn a_dropout_moves_the_estimate_until_the_next_record() {
        let mut clock = StreamClock::starting(1_000_000);
        clock.drop_out(500);
        assert_eq!(clock.now(), Some(1_000_000));
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
    fn records_from_before_the_start_do_not_move_the_clock() {
        let start = 500_000_000;
        let mut clock = StreamClock::starting(start);
        // More than it takes for a jump; some are near the start.
        for time in [5_000, 5_001, 6_000, 7, 8, 9, 10, 11, 12, start - 1] {
            assert_eq!(clock.observe(time), Trust::BeforeStart);
        }
        assert_eq!(clock.now(), Some(start));
        assert_eq!(clock.observe(0), Trust::Odd);
        assert_eq!(clock.observe(start), Trust::Believed);
        assert_eq!(clock.observe(start + NEAR), Trust::Believed);
    }
}
