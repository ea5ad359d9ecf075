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

/// The sources of timestamps: 64 bits, and counters of fewer bits.
const WIDE: usize = 0;
const COUNTER: usize = 1;

/// Follows the timestamps of a log's data. All times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamClock {
    now: u64,
    /// The latest time since the last jump: what is logged now happened no earlier.
    latest: u64,
    /// Whether there was one at all.
    is_set: bool,
    /// Where a jump would go to, and how many timestamps are there.
    /// Each for timestamps of 64 bits, and for counters, which may be wrong after a pause.
    jump: [u64; 2],
    jumpers: [u32; 2],
    /// How many jumps were believed.
    pub(crate) epoch: u32,
    /// The start of logging in the header; 0 if it is not set.
    start: u64,
    /// How long the dropouts since the last believed record lasted.
    dropped: u64,
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

    /// Takes notice of the timestamp of a record that was unwrapped from fewer bits.
    pub(crate) fn observe_counter(&mut self, time: u64) -> Trust {
        self.observe_from(time, COUNTER)
    }

    #[inline]
    fn observe_from(&mut self, time: u64, source: usize) -> Trust {
        let is_near = time.abs_diff(self.now) <= NEAR;
        if is_near && time >= self.start.max(1) && self.is_set {
            self.now = time;
            self.latest = self.latest.max(time);
            (self.jumpers, self.dropped) = ([0; 2], 0);
            return Trust::Believed;
        }
        self.observe_odd(time, source)
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
            return Trust::Believed;
        }
        let (jump, jumpers) = (&mut self.jump[source], &mut self.jumpers[source]);
        let with_the_others = *jumpers > 0 && time.abs_diff(*jump) <= NEAR;
        *jumpers = if with_the_others { *jumpers + 1 } else { 1 };
        *jump = time;
        if *jumpers < AGREE {
            return Trust::Odd;
        }
        (self.now, self.latest) = (time, time);
        (self.jumpers, self.dropped) = ([0; 2], 0);
        self.epoch = self.epoch.saturating_add(1);
        Trust::Believed
    }

    /// Takes notice of a dropout.
    pub(crate) fn drop_out(&mut self, millis: u16) {
        self.dropped = self.dropped.saturating_add(u64::from(millis) * 1_000);
    }

    /// A clock of the same log that begins with a record of this time.
    pub(crate) fn at(&self, time: u64) -> Self {
        let start = self.start;
        Self { now: time, latest: time, is_set: true, start, ..Self::default() }
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

    /// About what time it is now: that of the last believed record, and the dropouts
    /// since then.
    pub(crate) fn estimate(&self) -> Option<u64> {
        self.now().map(|now| now.saturating_add(self.dropped))
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
    /// The time of the log's clock at the last value, in the same unit.
    clock: u64,
}

impl Unwrapper {
    /// Whether it has unwrapped a value.
    pub(crate) fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// The unwrapped value of `raw`, a counter of `bits` bits, where the `clock` of the
    /// log shows about what time it is.
    ///
    /// A counter that goes on is never behind its last value, but for a little
    /// disorder. If other records show that it wrapped around unseen (in a pause, or in a
    /// dropout), or that it is ahead of them, their clock counts.
    pub(crate) fn unwrap(&mut self, raw: u64, bits: u32, clock: Option<u64>) -> u64 {
        let span = 1_u64 << bits;
        let full = match (self.last, clock) {
            (None, None) => raw,
            (None, Some(clock)) => nearest(raw, span, clock),
            (Some(last), clock) => {
                let ahead = raw.wrapping_sub(last) & (span - 1);
                let next = match ahead < span - span / 8 {
                    true => last.saturating_add(ahead),
                    false => last.checked_sub(span - ahead).unwrap_or(last + ahead),
                };
                let news = clock.filter(|clock| *clock != self.clock);
                match news {
                    Some(clock)
                        if next.saturating_add(span / 2) < clock
                            || last > clock.saturating_add(span / 2) =>
                    {
                        nearest(raw, span, clock)
                    }
                    _ => next,
                }
            }
        };
        (self.last, self.clock) = (Some(full), clock.unwrap_or(0));
        full
    }
}

/// The value nearest to `clock` that a counter with `span` values shows as `raw`.
fn nearest(raw: u64, span: u64, clock: u64) -> u64 {
    let ahead = raw.wrapping_sub(clock) & (span - 1);
    let behind = if ahead < span / 2 { None } else { clock.checked_sub(span - ahead) };
    behind.unwrap_or_else(|| clock.saturating_add(ahead))
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
    fn a_counter_goes_on_after_it_wraps() {
        let mut wrapper = Unwrapper::default();
        let unwrapped = [250, 254, 2, 6, 4].map(|raw| wrapper.unwrap(raw, 8, None));
        assert_eq!(unwrapped, [250, 254, 258, 262, 260]);
        let first = Unwrapper::default().unwrap(2, 8, Some(1_020));
        assert_eq!(first, 1_026);
        // 50 ms from one value to the next, of a counter that wraps after 65.536 ms.
        let mut wrapper = Unwrapper::default();
        let unwrapped =
            [10_000, 60_000, 44_464].map(|raw| wrapper.unwrap(raw, 16, None));
        assert_eq!(unwrapped, [10_000, 60_000, 110_000]);
    }

    #[test]
    fn a_counter_that_wrapped_unseen_follows_the_clock() {
        // 2,500,000 µs and 2,520,000 µs, after 1,980,000 µs.
        let mut wrapper = Unwrapper::default();
        assert_eq!(wrapper.unwrap(13_920, 16, Some(1_980_000)), 1_980_000);
        assert_eq!(wrapper.unwrap(9_632, 16, Some(2_500_000)), 2_500_000);
        assert_eq!(wrapper.unwrap(29_632, 16, Some(2_500_000)), 2_520_000);
        // A pause of 100 minutes, of a counter that wraps after 71.6.
        let mut wrapper = Unwrapper::default();
        assert_eq!(wrapper.unwrap(1_000_000, 32, Some(1_000_000)), 1_000_000);
        let raw = 6_001_000_000 % (1 << 32);
        assert_eq!(wrapper.unwrap(raw, 32, Some(6_000_900_000)), 6_001_000_000);
        // 8 bits of milliseconds, a second later.
        let mut wrapper = Unwrapper::default();
        assert_eq!(wrapper.unwrap(1_000 % 256, 8, Some(1_000)), 1_000);
        assert_eq!(wrapper.unwrap(2_000 % 256, 8, Some(1_950)), 2_000);
    }

    #[test]
    fn a_dropout_moves_the_estimate_until_the_next_record() {
        let mut clock = StreamClock::starting(1_000_000);
        clock.drop_out(500);
        assert_eq!((clock.now(), clock.estimate()), (Some(1_000_000), Some(1_500_000)));
        clock.observe(1_510_000);
        assert_eq!(clock.estimate(), Some(1_510_000));
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
