//! Decides whether points have the times of the lidar's clock or of the log's clock, if
//! UTC is requested.

use logtool_core::Timestamp;

use crate::{
    hour::{HOUR, around_hour},
    lidar::Lidar,
    points::TimeSource,
};

/// Clocks that differ by more nanoseconds than this contradict each other. Packets usually
/// wait less than a second before they are recorded.
const MAX_DIFFERENCE: i64 = 1_000_000_000;

/// The maximum number of packets that are compared.
const MAX_PACKETS: usize = 1_000;

/// The clock that the times of points come from, if UTC is requested and both the lidar and
/// the log state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// The clock of the lidar, unless GPS messages in the log contradict it.
    #[default]
    Auto,
    /// The clock of the log.
    Log,
    /// The clock of the lidar.
    Lidar,
}

/// Compares the clock in packets with that of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct ClockProbe {
    /// The start of the lidar's hour on the clock of the log, modulo one hour, according to
    /// each packet.
    hour_starts: Vec<i64>,
}

impl ClockProbe {
    /// Adds a packet recorded at `time` that states `micros` past the hour.
    pub(super) fn add(&mut self, micros: u32, time: Timestamp) {
        let hour_start = time.as_nanos().checked_sub(i64::from(micros) * 1_000);
        if let Some(hour_start) = hour_start.filter(|_| time != Timestamp::MAX)
            && self.hour_starts.len() < MAX_PACKETS
        {
            self.hour_starts.push(hour_start.rem_euclid(HOUR));
        }
    }

    /// Returns the start of an hour of the lidar on the clock of the log, modulo one hour:
    /// the median of the packets.
    pub(super) fn hour(self) -> Option<i64> {
        let first = *self.hour_starts.first()?;
        // Relative to the first packet, no start wraps around at the full hour.
        let mut deviations: Vec<i64> =
            self.hour_starts.iter().map(|start| around_hour(start - first)).collect();
        let middle = deviations.len() / 2;
        let (_, median, _) = deviations.select_nth_unstable(middle);
        Some((first + *median).rem_euclid(HOUR))
    }
}

impl Lidar {
    /// Sets the lidar's own clock as the source of the times of points, if that clock is
    /// UTC. The clock of the log plus `to_unix` nanoseconds is UTC too. If the two clocks
    /// disagree, `choice` decides, and a warning is recorded. With `Auto`, the clock of the
    /// log is then used if `has_gps` is true, i.e. if its UTC is from GPS messages.
    pub fn use_own_clock(&mut self, to_unix: i64, has_gps: bool, choice: ClockChoice) {
        if !self.is_utc || !self.sensor.model.has_timestamps() {
            return;
        }
        let hour_nanos = to_unix.wrapping_neg().rem_euclid(HOUR);
        let lag = self
            .hour_nanos
            .map_or(0, |lidar_hour| around_hour(lidar_hour - hour_nanos));
        let contradicts = lag.abs() > MAX_DIFFERENCE;
        let uses_lidar_clock = match choice {
            ClockChoice::Log => false,
            ClockChoice::Lidar => true,
            ClockChoice::Auto => !(contradicts && has_gps),
        };
        if uses_lidar_clock {
            self.points.time = TimeSource::Sensor { hour_nanos };
        }
        if contradicts {
            let seconds = lag.unsigned_abs() as f64 / 1e9;
            let direction = if lag > 0 { "behind" } else { "ahead of" };
            let log_clock = if has_gps {
                "UTC from the GPS messages of the log"
            } else {
                "the clock of the log"
            };
            let (used_clock, other_clock) = if uses_lidar_clock {
                ("the lidar's", "log")
            } else {
                ("the log's", "lidar")
            };
            self.clock_warning = Some(format!(
                "the clock of the lidar, which a receiver sets according to its packets, is \
                 {seconds:.3} s {direction} {log_clock}: one of them is wrong; points have \
                 {used_clock} times, and can have those of the {other_clock}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_of_the_hour_is_the_median_across_the_full_hour() {
        let mut probe = ClockProbe::default();
        assert_eq!(probe.clone().hour(), None);
        // Packets wait for some milliseconds. One packet is from before the clock was
        // set.
        for (nanos, micros) in
            [(5, 3_599_999_999), (2_000_000, 0), (7_000_000, 5_000), (9, 77)]
        {
            probe.add(micros, Timestamp::from_nanos(nanos));
        }
        let hour = probe.hour().unwrap();
        assert!((0..3_000_000).contains(&hour), "{hour}");
    }
}
