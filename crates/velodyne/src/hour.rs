//! Times past the hour. The clocks of lidars state only these.

/// Nanoseconds per hour, after which the clock of a lidar wraps.
pub(crate) const HOUR: i64 = 3_600_000_000_000;

/// Returns `nanos` modulo one hour, as a value from minus half an hour to half an hour.
pub(crate) fn around_hour(nanos: i64) -> i64 {
    let past_hour = nanos.rem_euclid(HOUR);
    if past_hour > HOUR / 2 { past_hour - HOUR } else { past_hour }
}

/// Formats a time past the hour as minutes and seconds, e.g. `25:00.010`.
pub(crate) fn format_past_hour(nanos: i64) -> String {
    let millis = nanos / 1_000_000;
    format!("{:02}:{:02}.{:03}", millis / 60_000, millis / 1_000 % 60, millis % 1_000)
}
