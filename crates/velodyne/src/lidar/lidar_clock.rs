//! Decides whether points have the times of the lidar's clock or of the log's clock if
//! both are UTC.

use logtool_core::Timestamp;

use crate::{
    hour::{HOUR, around_hour},
    lidar::Lidar,
    points::TimeSource,
};

/// Clocks that differ by more nanoseconds than this contradict each other. Packets wait
/// less than a second before they are recorded.
const MAX_DIFFERENCE: i64 = 1_000_000_000;

/// The maximum number of packets that are compared.
const ENOUGH: usize = 1_000;

/// The clock of the times of points, if UTC is requested and two clocks state it.
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
pub(super) struct ClockProbe(Vec<i64>);

impl ClockProbe {
    /// Adds a packet recorded at `time` that states `micros` past the hour.
    pub(super) fn add(&mut self, micros: u32, time: Timestamp) {
        let began = time.as_nanos().checked_sub(i64::from(micros) * 1_000);
        if let Some(began) = began.filter(|_| time != Timestamp::MAX)
            && self.0.len() < ENOUGH
        {
            self.0.push(began.rem_euclid(HOUR));
        }
    }

    /// Returns the start of an hour of the lidar on the clock of the log: the median of
    /// the packets.
    pub(super) fn hour(mut self) -> Option<i64> {
        let first = *self.0.first()?;
        self.0.iter_mut().for_each(|began| *began = around_hour(*began - first));
        let middle = self.0.len() / 2;
        Some((first + *self.0.select_nth_unstable(middle).1).rem_euclid(HOUR))
    }
}

impl Lidar {
    /// Gives points the times of the lidar's own clock if that is UTC. Adding `to_unix`
    /// nanoseconds to the clock of the log makes that UTC too. If both clocks disagree,
    /// `choice` decides. With `Auto`, the clock of the log is used if it `has_gps`. A
    /// disagreement is recorded as a warning.
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
            let where_to = if lag > 0 { "behind" } else { "ahead of" };
            let log = if has_gps {
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
                 {seconds:.3} s {where_to} {log}: one of them is wrong; points have {used_clock} \
                 times, and can have those of the {other_clock}"
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
