//! The program's clock.

use logtool_core::Timestamp;

/// The time of a message: milliseconds since the program started, rounded to the
/// nanosecond; the end of time for what is no time, or none that nanoseconds can tell.
pub(crate) fn of_millis(millis: f64) -> Timestamp {
    let nanos = (millis * 1e6).round();
    match nanos.abs() < i64::MAX as f64 {
        true => Timestamp::from_nanos(nanos as i64),
        false => Timestamp::MAX,
    }
}
