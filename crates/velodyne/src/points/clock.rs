//! The time that a packet stands for: of its record, or of the lidar's own clock.

use crate::{model::Model, points::options::TimeSource};

/// Nanoseconds in an hour.
const HOUR: i64 = 3_600_000_000_000;

impl TimeSource {
    /// The time that a packet of a lidar of this `model` stands for, which tells `micros`
    /// past the hour, in a record of `record_nanos`.
    pub(super) fn nanos(self, model: Model, record_nanos: i64, micros: u32) -> i64 {
        match self {
            Self::Sensor { hour_nanos } if model.tells_time() => {
                nearest(record_nanos, hour_nanos, micros)
            }
            _ => record_nanos,
        }
    }
}

/// The time at which `micros` of an hour have passed, of that hour which makes it the
/// nearest to `nanos`, if some hour begins at `hour`.
pub(crate) fn nearest(nanos: i64, hour: i64, micros: u32) -> i64 {
    let past = i64::from(micros) * 1_000;
    let Some(since) = nanos.checked_sub(hour).and_then(|t| t.checked_sub(past)) else {
        return nanos;
    };
    let off = since.rem_euclid(HOUR);
    let off = if off > HOUR / 2 { off - HOUR } else { off };
    nanos.saturating_sub(off)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hour_of_a_packet_is_the_one_that_brings_it_near_its_record() {
        let second = 1_000_000_000;
        // Stamped a second before the hour, written a second after it.
        assert_eq!(nearest(10 * HOUR + second, 0, 3_599_000_000), 10 * HOUR - second);
        // Stamped a second after the hour, written before it.
        assert_eq!(nearest(10 * HOUR - 5, 0, 1_000_000), 10 * HOUR + second);
        // Hours of another clock.
        assert_eq!(nearest(7 * second, 3 * second, 4_500_000), 7 * second + second / 2);
        assert_eq!(nearest(i64::MIN, 1, 0), i64::MIN);
    }
}
