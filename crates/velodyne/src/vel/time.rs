//! The program's clock.

use logtool_core::Timestamp;

/// The time of a message: milliseconds since the program started, rounded to the
/// nanosecond.
pub(crate) fn of_millis(millis: f64) -> Timestamp {
    Timestamp::from_nanos((millis * 1e6).round() as i64)
}
