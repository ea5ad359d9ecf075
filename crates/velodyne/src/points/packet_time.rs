//! Computes the time of a packet from its record or from the lidar's clock.

use crate::{hour::around_hour, model::Model, points::options::TimeSource};

/// The earliest time of a packet. There is a second between it and the limit of the type, so
/// that the times of firings do not overflow.
pub(super) const MIN_PACKET_TIME_NANOS: i64 = i64::MIN + 1_000_000_000;

/// The latest time of a packet, also a second from the limit of the type.
pub(super) const MAX_PACKET_TIME_NANOS: i64 = i64::MAX - 1_000_000_000;

/// The position and the times of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketTime {
    /// The offset of its record.
    pub(super) offset: u64,
    /// The time of its record.
    pub(super) record_nanos: i64,
    /// The time of the packet from the selected time source, between
    /// [`MIN_PACKET_TIME_NANOS`] and [`MAX_PACKET_TIME_NANOS`].
    pub(super) nanos: i64,
}

impl TimeSource {
    /// Returns the time of a packet of a lidar of this `model`. The packet states
    /// `micros` past the hour, and its record has the time `record_nanos`.
    pub(super) fn nanos(self, model: Model, record_nanos: i64, micros: u32) -> i64 {
        match self {
            Self::Sensor { hour_nanos } if model.has_timestamps() => {
                nearest_time_past_hour(record_nanos, hour_nanos, micros)
            }
            _ => record_nanos,
        }
    }
}

/// Returns the time nearest to `nanos` that is `micros` past an hour. Hours start at
/// `hour_nanos` plus multiples of one hour. Returns `nanos` if the calculation overflows.
pub(crate) fn nearest_time_past_hour(nanos: i64, hour_nanos: i64, micros: u32) -> i64 {
    let nanos_past_hour = i64::from(micros) * 1_000;
    let since_an_hour = nanos.checked_sub(hour_nanos);
    match since_an_hour.and_then(|elapsed| elapsed.checked_sub(nanos_past_hour)) {
        Some(deviation) => nanos.saturating_sub(around_hour(deviation)),
        None => nanos,
    }
}

/// Returns the time `nanos` of a packet plus the `delay` of a block in nanoseconds. The result
/// stays far enough from the limits of the type that the times of firings can be added.
pub(super) fn add_delay(nanos: i64, delay: f64) -> i64 {
    let delayed = nanos.saturating_add(delay.round() as i64);
    delayed.clamp(MIN_PACKET_TIME_NANOS, MAX_PACKET_TIME_NANOS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hour::HOUR;

    #[test]
    fn hour_of_a_packet_is_nearest_to_its_record() {
        let second = 1_000_000_000;
        // A timestamp one second before the hour, in a record one second after it.
        let time = nearest_time_past_hour(10 * HOUR + second, 0, 3_599_000_000);
        assert_eq!(time, 10 * HOUR - second);
        // A timestamp one second after the hour, in a record before it.
        let time = nearest_time_past_hour(10 * HOUR - 5, 0, 1_000_000);
        assert_eq!(time, 10 * HOUR + second);
        // Hours that start at the third second.
        let time = nearest_time_past_hour(7 * second, 3 * second, 4_500_000);
        assert_eq!(time, 7 * second + second / 2);
        assert_eq!(nearest_time_past_hour(i64::MIN, 1, 0), i64::MIN);
    }

    #[test]
    fn delayed_time_stays_a_second_from_the_limits_of_the_type() {
        assert_eq!(add_delay(5, 2.5e9), 2_500_000_005);
        assert_eq!(add_delay(i64::MAX - 1_000_000_000, 1.0), i64::MAX - 1_000_000_000);
        assert_eq!(add_delay(0, -1e30), i64::MIN + 1_000_000_000);
    }
}
