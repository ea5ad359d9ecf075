//! Estimates the offset from the clock of the log to UTC.
//!
//! PX4's GPS receivers report UTC with the boot time of the report. A single report is
//! off by up to 50 ms within one log, and the first ones before a fix by years. So the
//! offset is the median of all reports, and the median deviation from it is reported as
//! the spread.

use std::collections::BTreeMap;

use logtool_core::{Clock, ClockFit, ClockZero, TimeRange, Value};

/// 2001-01-01 in microseconds of Unix time; earlier times were not set by a receiver.
const Y2001: u64 = 978_307_200_000_000;
/// The maximum number of observations that are stored for one topic.
const MAX_STORED: usize = 1 << 14;

/// The topics that report UTC.
pub(crate) const TOPICS: [&str; 2] = ["vehicle_gps_position", "sensor_gps"];
/// The field with UTC, in microseconds.
pub(crate) const FIELD: &str = "time_utc_usec";
/// The information message with the UTC time of the vehicle's boot, in microseconds.
pub(crate) const BOOT_TIME: &str = "boot_time_utc_us";
/// The source of UTC if the file header contains a Unix time.
pub(crate) const HEADER: &str = "header";

/// The observations of UTC of one topic: differences to the log's clock, in
/// microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observations {
    stored: Vec<i64>,
    count: u64,
    /// Every `stride`-th observation is stored, so that memory is bounded for long
    /// flights.
    stride: u64,
}

impl Observations {
    /// Adds an observation, if the receiver had a time.
    pub(crate) fn observe(&mut self, utc: u64, time: u64) {
        let (Ok(utc), Ok(time)) = (i64::try_from(utc), i64::try_from(time)) else {
            return;
        };
        if utc >= Y2001 as i64 && time != 0 {
            self.store(utc - time);
        }
    }

    /// Returns true if every observation is stored.
    pub(crate) fn are_all_stored(&self) -> bool {
        self.stride <= 1
    }

    /// Adds the observations stored in `next`.
    pub(crate) fn add(&mut self, next: &Self) {
        next.stored.iter().for_each(|difference| self.store(*difference));
    }

    fn store(&mut self, difference: i64) {
        if self.count.is_multiple_of(self.stride.max(1)) {
            if self.stored.len() == MAX_STORED {
                let mut index = 0;
                self.stored.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride = self.stride.max(1) * 2;
            }
            self.stored.push(difference);
        }
        self.count += 1;
    }

    fn fit(mut self, source: String) -> Option<ClockFit> {
        let offset = median(&mut self.stored)?;
        let mut deviations: Vec<i64> = self
            .stored
            .iter()
            .map(|difference| difference.saturating_sub(offset).saturating_abs())
            .collect();
        let spread = median(&mut deviations)?;
        Some(ClockFit {
            offset_nanos: offset.checked_mul(1_000)?,
            spread_nanos: u64::try_from(spread).ok()?.saturating_mul(1_000),
            observations: self.count,
            source,
        })
    }
}

/// Determines the clock of a log from all sources of time.
///
/// `start` is the time in the file header and `time` the range of the records, both on
/// the log's clock. Observations come with the label of their topic.
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
        .filter_map(|(topic, times)| times.fit(format!("{topic}.{FIELD}")))
        .max_by_key(|fit| fit.observations);
    let to_unix = best.or_else(|| {
        // PX4 logs its boot time since September 2025.
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
    fn early_observations_do_not_affect_median() {
        let mut count = Observations::default();
        count.observe(0, 1);
        count.observe(Y2001 + 5, 5); // off by years
        for (time, jitter) in [(10, 0), (20, 40), (30, 1), (40, 2)] {
            count.observe(1_700_000_000_000_000 + time + jitter, time);
        }
        let clock =
            clock(0, None, &BTreeMap::new(), vec![("sensor_gps".into(), count)]);
        let fit = clock.to_unix.unwrap();
        assert_eq!(fit.offset_nanos, 1_700_000_000_000_001_000);
        assert_eq!(
            (fit.observations, fit.source.as_str()),
            (5, "sensor_gps.time_utc_usec")
        );
    }

    #[test]
    fn observations_of_long_flight_are_bounded() {
        let mut count = Observations::default();
        (1..200_000).for_each(|time| count.observe(Y2001 + 1_000 + time, time));
        assert!(count.stored.len() <= MAX_STORED);
        assert_eq!(count.fit(String::new()).unwrap().spread_nanos, 0);
    }
}
