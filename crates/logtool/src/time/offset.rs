//! By how much the times of a log are moved.

use logtool_core::Clock;

use crate::time::clock::{Seconds, to_unix};

/// By how much the times of a log are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Nanoseconds to add to each time.
    pub nanos: i64,
    /// Whether they are Unix time then.
    pub is_unix: bool,
}

impl Moved {
    /// To Unix time, if `clock` knows that; else not at all.
    pub fn to_unix(clock: &Clock) -> Self {
        let nanos = to_unix(clock);
        Self { nanos: nanos.unwrap_or(0), is_unix: nanos.is_some() }
    }

    /// How far, for people; nothing if they are not moved.
    pub fn told(self) -> Option<String> {
        let way = if self.nanos < 0 { "earlier" } else { "later" };
        let nanos = Seconds(self.nanos.saturating_abs());
        (self.nanos != 0).then(|| format!("times are {nanos} s {way}"))
    }
}
