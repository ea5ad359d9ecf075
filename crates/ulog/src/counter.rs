//! Counters: timestamps of fewer than 64 bits. Each topic has its own counter.

use serde::{Deserialize, Serialize};

/// Unwraps the values of a counter.
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

    /// Returns the last value, unwrapped.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Replaces the last value by one that is known to be right.
    pub(crate) fn correct(&mut self, value: u64) {
        self.last = Some(value);
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
pub(crate) fn nearest(raw: u64, span: u64, clock: u64) -> u64 {
    let ahead = raw.wrapping_sub(clock) & (span - 1);
    let behind = if ahead < span / 2 { None } else { clock.checked_sub(span - ahead) };
    behind.unwrap_or_else(|| clock.saturating_add(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
