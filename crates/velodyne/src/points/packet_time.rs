//! Computes the time of a packet from its record or from the lidar's clock.

use crate::{hour::around_hour, model::Model, points::options::TimeSource};

impl TimeSource {
    /// Returns the time of a packet of a lidar of this `model`. The packet states
    /// `micros` past the hour and its record has the time `record_nanos`.
    pub(super) fn nanos(self, model: Model, record_nanos: i64, micros: u32) -> i64 {
        match self {
            Self::Sensor { hour_nanos } if model.has_timestamps() => {
                nearest(record_nanos, hour_nanos, micros)
            }
            _ => record_nanos,
        }
    }
}

/// Returns the time that is `micros` past an hour and nearest to `nanos`. Hours start at
/// `hour` plus multiples of one hour.
pub(crate) fn nearest(nanos: i64, hour: i64, micros: u32) -> i64 {
    let past = i64::from(micros) * 1_000;
    let Some(elapsed) = nanos.checked_sub(hour).and_then(|t| t.checked_sub(past))
    else {
        return nanos;
    };
    nanos.saturating_sub(around_hour(elapsed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hour::HOUR;

    #[test]
    fn hour_of_a_packet_is_nearest_to_its_record() {
        let second = 1_000_000_000;
        // A timestamp one second before the hour, in a record one second after it.
        assert_eq!(nearest(10 * HOUR + second, 0, 3_599_000_000), 10 * HOUR - second);
        // A timestamp one second after the hour, in a record before it.
        assert_eq!(nearest(10 * HOUR - 5, 0, 1_000_000), 10 * HOUR + second);
        // Hours of another clock.
        assert_eq!(nearest(7 * second, 3 * second, 4_500_000), 7 * second + second / 2);
        assert_eq!(nearest(i64::MIN, 1, 0), i64::MIN);
    }
}
