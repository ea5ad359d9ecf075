//! Timestamps of fewer than 64 bits are counters that wrap around. Each topic has its
//! own counter.

use serde::{Deserialize, Serialize};

/// Converts the wrapped values of a counter to absolute values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unwrapper {
    /// The last value, unwrapped, in the unit of the counter.
    last: Option<u64>,
    /// The time of the log's clock at the last value, in the same unit.
    clock: u64,
}

impl Unwrapper {
    /// Returns true if it has unwrapped a value.
    pub(crate) fn has_value(&self) -> bool {
        self.last.is_some()
    }

    /// Returns the last value, unwrapped.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Replaces the last value by one that is known to be correct.
    pub(crate) fn correct(&mut self, value: u64) {
        self.last = Some(value);
    }

    /// Returns the absolute value of `raw`, a counter of `bits` bits. `clock` is the
    /// approximate time of the log in the same unit.
    ///
    /// A continuous counter is never older than its last value, except for slightly
    /// disordered records. If the clock shows that the counter wrapped around unnoticed
    /// (in a pause or in a dropout), or that it is ahead of other records, the value
    /// nearest to the clock is used.
    pub(crate) fn unwrap(&mut self, raw: u64, bits: u32, clock: Option<u64>) -> u64 {
        let span = 1_u64 << bits;
        let full = match (self.last, clock) {
            (None, None) => raw,
            (None, Some(clock)) => nearest_value(raw, span, clock),
            (Some(last), clock) => {
                let distance = raw.wrapping_sub(last) & (span - 1);
                let next = if distance < span - span / 8 {
                    last.saturating_add(distance)
                } else {
                    last.checked_sub(span - distance).unwrap_or(last + distance)
                };
                let changed = clock.filter(|clock| *clock != self.clock);
                match changed {
                    Some(clock)
                        if next.saturating_add(span / 2) < clock
                            || last > clock.saturating_add(span / 2) =>
                    {
                        nearest_value(raw, span, clock)
                    }
                    _ => next,
                }
            }
        };
        (self.last, self.clock) = (Some(full), clock.unwrap_or(0));
        full
    }
}

/// Returns the value nearest to `clock` whose lower bits are `raw`. `span` is the
/// number of values of the counter.
pub(crate) fn nearest_value(raw: u64, span: u64, clock: u64) -> u64 {
    let distance = raw.wrapping_sub(clock) & (span - 1);
    let wrapped =
        if distance < span / 2 { None } else { clock.checked_sub(span - distance) };
    wrapped.unwrap_or_else(|| clock.saturating_add(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_counter_continues() {
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
    fn counter_that_wrapped_unnoticed_follows_clock() {
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
