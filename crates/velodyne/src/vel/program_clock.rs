//! The clock of the recording program.

use logtool_core::Timestamp;

/// Returns the time of a message from the milliseconds since the program started, rounded
/// to nanoseconds. Returns `Timestamp::MAX` if the value is not finite or out of range.
pub(crate) fn from_millis(millis: f64) -> Timestamp {
    let nanos = (millis * 1e6).round();
    if nanos.abs() < i64::MAX as f64 {
        Timestamp::from_nanos(nanos as i64)
    } else {
        Timestamp::MAX
    }
}
