//! What time of day it was: the offset from the clock of the log to UTC.
//!
//! PX4's receivers report UTC beside the boot time at which they did. A single report
//! is off by up to 50 ms within one log, and the first ones before a fix by years, so
//! the median of all counts, and how far half of them stray from it is told.

use std::collections::BTreeMap;

use logtool_core::{Clock, ClockFit, ClockZero, TimeRange, Value};

/// 2001-01-01 in microseconds of Unix time: what is before was not set by a receiver.
const Y2001: u64 = 978_307_200_000_000;
/// How many observations of one topic are kept.
const MAX_KEPT: usize = 1 << 14;

/// The topics that report UTC.
pub(crate) const TOPICS: [&str; 2] = ["vehicle_gps_position", "sensor_gps"];
/// The field in which they do, in microseconds.
pub(crate) const FIELD: &str = "time_utc_usec";
/// The information message with the UTC time of the vehicle's boot, in microseconds.
pub(crate) const BOOT_TIME: &str = "boot_time_utc_us";
/// The source of UTC if the header has it, as a time of Unix.
pub(crate) const HEADER: &str = "header";

/// What one topic said of UTC: differences to the log's clock, in microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observations {
    kept: Vec<i64>,
    seen: u64,
    /// One in so many is kept, so that a long flight takes no more room than a short.
    stride: u64,
}

impl Observations {
    /// Takes an observation, if the receiver knew the time.
    pub(crate) fn observe(&mut self, utc: u64, time: u64) {
        let (Ok(utc), Ok(time)) = (i64::try_from(utc), i64::try_from(time)) else {
            return;
        };
        if utc >= Y2001 as i64 && time != 0 {
            self.keep(utc - time);
        }
    }

    /// Whether none was left out.
    pub(crate) fn are_all_kept(&self) -> bool {
        self.stride <= 1
    }

    /// Takes those that `next` kept.
    pub(crate) fn add(&mut self, next: &Self) {
        next.kept.iter().for_each(|difference| self.keep(*difference));
    }

    fn keep(&mut self, difference: i64) {
        if self.seen.is_multiple_of(self.stride.max(1)) {
            if self.kept.len() == MAX_KEPT {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride = self.stride.max(1) * 2;
            }
            self.kept.push(difference);
        }
        self.seen += 1;
    }

    fn fit(mut self, source: String) -> Option<ClockFit> {
        let offset = median(&mut self.kept)?;
        let mut strays: Vec<i64> = self
            .kept
            .iter()
            .map(|one| one.saturating_sub(offset).saturating_abs())
            .collect();
        let spread = median(&mut strays)?;
        Some(ClockFit {
            offset_nanos: offset.checked_mul(1_000)?,
            spread_nanos: u64::try_from(spread).ok()?.saturating_mul(1_000),
            observations: self.seen,
            source,
        })
    }
}

/// The clock of a log, from all that it says of time.
///
/// `start` is the header's time and `time` what the records span; observations come
/// with the label of their topic.
pub(crate) fn clock(
    start: u64,
    time: Option<TimeRange>,
    info: &BTreeMap<String, Value>,
    observations: Vec<(String, Observations)>,
) -> Clock {
    let first = time.map_or(0, |time| time.start.as_nanos() / 1_000) as u64;
    let exact = |offset_micros: i64, source: &str| ClockFit {
        offset_nanos: offset_micros.saturating_mul(1_000),
        spread_nanos: 0,
        observations: 1,
        source: source.to_owned(),
    };
    if first > Y2001 {
        // A simulation in lockstep logs Unix time.
        let fit = exact(0, "timestamps are Unix time");
        return Clock { zero: ClockZero::Unix, to_unix: Some(fit) };
    }
    let best = observations
        .into_iter()
        .filter_map(|(topic, seen)| seen.fit(format!("{topic}.{FIELD}")))
        .max_by_key(|fit| fit.observations);
    let to_unix = best.or_else(|| {
        // PX4 from September 2025 on writes when it was started.
        match info.get(BOOT_TIME) {
            Some(Value::UInt(boot)) if *boot > Y2001 => {
                Some(exact(i64::try_from(*boot).ok()?, BOOT_TIME))
            }
            _ if start > Y2001 && first > 0 => {
                let offset = i64::try_from(start).ok()? - i64::try_from(first).ok()?;
                Some(exact(offset, HEADER))
            }
            _ => None,
        }
    });
    Clock { zero: ClockZero::Boot, to_unix }
}

fn median(values: &mut [i64]) -> Option<i64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_not_moved_by_a_receiver_that_starts_in_the_past() {
        let mut seen = Observations::default();
        seen.observe(0, 1);
        seen.observe(Y2001 + 5, 5); // years off
        for (time, jitter) in [(10, 0), (20, 40), (30, 1), (40, 2)] {
            seen.observe(1_700_000_000_000_000 + time + jitter, time);
        }
        let clock = clock(0, None, &BTreeMap::new(), vec![("sensor_gps".into(), seen)]);
        let fit = clock.to_unix.unwrap();
        assert_eq!(fit.offset_nanos, 1_700_000_000_000_001_000);
        assert_eq!(
            (fit.observations, fit.source.as_str()),
            (5, "sensor_gps.time_utc_usec")
        );
    }

    #[test]
    fn a_long_flight_keeps_no_more_than_a_short() {
        let mut seen = Observations::default();
        (1..200_000).for_each(|time| seen.observe(Y2001 + 1_000 + time, time));
        assert!(seen.kept.len() <= MAX_KEPT);
        assert_eq!(seen.fit(String::new()).unwrap().spread_nanos, 0);
    }
}
