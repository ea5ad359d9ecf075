//! The offset that is added to the times of a log.

use logtool_core::{Clock, ClockZero};

use crate::time::clock::{Seconds, unix_offset};

/// The offset that is added to the times of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset {
    /// The nanoseconds that are added to each time.
    pub nanos: i64,
    /// Whether the resulting times are Unix time.
    pub is_unix: bool,
}

impl ClockOffset {
    /// Returns the offset from `clock` to Unix time, or 0 if it is unknown.
    pub fn from_clock(clock: &Clock) -> Self {
        let nanos = unix_offset(clock);
        Self { nanos: nanos.unwrap_or(0), is_unix: nanos.is_some() }
    }

    /// Returns the clock of the resulting times, for a log whose clock is `clock`.
    pub fn resulting_clock(self, clock: &Clock) -> Clock {
        if self.is_unix {
            Clock { zero: ClockZero::Unix, to_unix: None }
        } else {
            clock.clone()
        }
    }

    /// Describes the offset for users; `None` if it is 0.
    pub fn description(self) -> Option<String> {
        let direction = if self.nanos < 0 { "earlier" } else { "later" };
        let nanos = Seconds(self.nanos.saturating_abs());
        (self.nanos != 0).then(|| format!("times are {nanos} s {direction}"))
    }
}
