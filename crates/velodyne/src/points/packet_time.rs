//! Computes the time of a packet from its record or from the lidar's clock.

use crate::{hour::around_hour, model::Model, points::options::TimeSource};

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
}
