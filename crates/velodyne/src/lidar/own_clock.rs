//! The clock of a lidar beside that of the log: which of them points have their times
//! from, if both are said to tell UTC.

use logtool_core::Timestamp;

use crate::{lidar::Lidar, points::TimeSource};

/// Nanoseconds in an hour, after which the clock of a lidar starts over.
const HOUR: i64 = 3_600_000_000_000;

/// Clocks that are further apart contradict each other: packets wait less than a second
/// before they are recorded.
const APART: i64 = 1_000_000_000;

/// How many packets are compared.
const ENOUGH: usize = 1_000;

/// Which clock the times of points are from, where UTC is wanted and two clocks tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// The lidar's, unless GPS messages in the log contradict it.
    #[default]
    Auto,
    /// The log's.
    Log,
    /// The lidar's.
    Lidar,
}

/// Compares the clock in packets with that of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct ClockProbe(Vec<i64>);

impl ClockProbe {
    /// Takes note of a packet of `time` that tells `micros` past the hour.
    pub(super) fn add(&mut self, micros: u32, time: Timestamp) {
        let began = time.as_nanos().checked_sub(i64::from(micros) * 1_000);
        if let Some(began) = began.filter(|_| time != Timestamp::MAX)
            && self.0.len() < ENOUGH
        {
            self.0.push(began.rem_euclid(HOUR));
        }
    }

    /// Where an hour of the lidar begins on the log's clock, by the most of the packets.
    pub(super) fn hour(mut self) -> Option<i64> {
        let first = *self.0.first()?;
        self.0.iter_mut().for_each(|began| *began = around(*began - first));
        let middle = self.0.len() / 2;
        Some((first + *self.0.select_nth_unstable(middle).1).rem_euclid(HOUR))
    }
}

impl Lidar {
    /// Gives points the times of the lidar's own clock, if that tells UTC, in a log to
    /// whose clock `to_unix` nanoseconds are added to make that UTC too. If both do not
    /// agree, one is chosen, as the user says, or else the log's if it `has_gps`; and that
    /// is told.
    pub fn use_own_clock(&mut self, to_unix: i64, has_gps: bool, choice: ClockChoice) {
        if !self.tells_utc || !self.sensor.model.tells_time() {
            return;
        }
        let hour_nanos = to_unix.wrapping_neg().rem_euclid(HOUR);
        let behind = self.hour_nanos.map_or(0, |own| around(own - hour_nanos));
        let contradicts = behind.abs() > APART;
        let is_own = match choice {
            ClockChoice::Log => false,
            ClockChoice::Lidar => true,
            ClockChoice::Auto => !(contradicts && has_gps),
        };
        if is_own {
            self.points.time = TimeSource::Sensor { hour_nanos };
        }
        if contradicts {
            let seconds = behind.unsigned_abs() as f64 / 1e9;
            let where_to = if behind > 0 { "behind" } else { "ahead of" };
            let (log, other) = match has_gps {
                true => ("UTC as the GPS of the log tells it", "log"),
                false => ("the clock of the log", "log"),
            };
            let (taken, other) = match is_own {
                true => ("the lidar's", other),
                false => ("the log's", "lidar"),
            };
            self.clock_remark = Some(format!(
                "the clock of the lidar, which says that a receiver sets it, is {seconds:.3} s \
                 {where_to} {log}: one of them is wrong; the times of points are {taken}, and \
                 --lidar-clock {other} takes the other"
            ));
        }
    }
}

/// The same time of an hour, from half an hour before to half an hour after.
fn around(nanos: i64) -> i64 {
    let off = nanos.rem_euclid(HOUR);
    if off > HOUR / 2 { off - HOUR } else { off }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_begins_where_most_packets_say_also_around_the_full_hour() {
        let mut probe = ClockProbe::default();
        assert_eq!(probe.clone().hour(), None);
        // Packets wait for some milliseconds; one is of a clock that was not yet set.
        for (nanos, micros) in
            [(5, 3_599_999_999), (2_000_000, 0), (7_000_000, 5_000), (9, 77)]
        {
            probe.add(micros, Timestamp::from_nanos(nanos));
        }
        let hour = probe.hour().unwrap();
        assert!((0..3_000_000).contains(&hour), "{hour}");
    }
}
