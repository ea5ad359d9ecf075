//! Times past the hour, which the clocks of lidars state.

/// Nanoseconds per hour, after which the clock of a lidar wraps.
pub(crate) const HOUR: i64 = 3_600_000_000_000;

/// Returns the equivalent time between half an hour before and half an hour after the hour.
pub(crate) fn around_hour(nanos: i64) -> i64 {
    let past = nanos.rem_euclid(HOUR);
    if past > HOUR / 2 { past - HOUR } else { past }
}

/// Formats minutes and seconds past the hour, e.g. `25:00.010`.
pub(crate) fn past_hour(nanos: i64) -> String {
    let millis = nanos / 1_000_000;
    format!("{:02}:{:02}.{:03}", millis / 60_000, millis / 1_000 % 60, millis % 1_000)
}
