//! Compares the time that a lidar states with the clock of the log.
//!
//! Packets state the microseconds past the hour. An HDL-64E S2 or S3 also states the date
//! and the time of day in its status bytes, if a receiver sends it NMEA.

use logtool_core::{Timestamp, calendar::days_since_1970};

use crate::{
    calibration::StreamReport,
    hour::{HOUR, around_hour, format_past_hour},
    lidar::Lidar,
};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 24 * HOUR;

/// The week number of GPS overflows after this duration.
const ROLLOVER: i64 = 1_024 * 7 * DAY;

/// The offsets of time scales from UTC, since 2017. A PTP grandmaster sends TAI.
const TIME_SCALES: [(&str, i64); 2] = [("TAI", 37 * SECOND), ("GPS time", 18 * SECOND)];

/// The maximum difference between the offset of a clock and that of its time scale.
const TIME_SCALE_TOLERANCE: i64 = SECOND / 2;

/// The plausible age of the time in status bytes. Its bytes come from packets of several
/// milliseconds, and it may be a second old.
const STATUS_AGE: std::ops::RangeInclusive<i64> = -SECOND..=2 * SECOND;

/// The time in the status bytes of an HDL-64E, and the two times of the last packet that
/// was examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusTime {
    /// UTC in nanoseconds, in whole seconds.
    utc: i64,
    /// The microseconds past the hour in the packet.
    micros: u32,
    /// The record time of the packet.
    time: Timestamp,
}

impl StatusTime {
    /// Returns the time in status bytes, if it is valid and a receiver set it.
    pub(super) fn from_report(
        report: &StreamReport,
        micros: u32,
        time: Timestamp,
    ) -> Option<Self> {
        let is_set = matches!(report.gps, Some(b'A' | b'V'));
        let [hour, minute, second, day, month, year] =
            report.utc.filter(|_| is_set)?.map(i64::from);
        let is_time = hour < 24 && minute < 60 && second <= 60;
        if !is_time || !(1..=31).contains(&day) || !(1..=12).contains(&month) {
            return None;
        }
        let days = days_since_1970(2_000 + year, month, day);
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(Self { utc: seconds * SECOND, micros, time })
    }

    /// Describes each contradiction between the time in the status bytes and the other two
    /// times. The clock of the log plus `to_unix` nanoseconds is UTC.
    fn contradictions(self, to_unix: Option<i64>) -> Vec<String> {
        let mut contradictions = Vec::new();
        let stamp = i64::from(self.micros) * 1_000;
        if !STATUS_AGE.contains(&around_hour(stamp - self.utc)) {
            contradictions.push(format!(
                "the status bytes state {} past the hour, and the packets {}: one of them is \
                 wrong",
                format_past_hour(self.utc.rem_euclid(HOUR)),
                format_past_hour(stamp)
            ));
        }
        let Some(to_unix) = to_unix.filter(|_| self.time != Timestamp::MAX) else {
            return contradictions;
        };
        let log_utc = self.time.as_nanos().saturating_add(to_unix);
        let lead_nanos = log_utc.saturating_sub(self.utc);
        if !STATUS_AGE.contains(&lead_nanos) {
            let rollovers =
                lead_nanos.saturating_add(ROLLOVER / 2).div_euclid(ROLLOVER);
            let remainder = lead_nanos - rollovers.saturating_mul(ROLLOVER);
            let hint = if rollovers > 0 && remainder.abs() < DAY {
                format!(
                    ": {} weeks, so the week number of the GPS receiver has overflowed",
                    1_024 * rollovers
                )
            } else {
                String::new()
            };
            let direction = if lead_nanos > 0 { "behind" } else { "ahead of" };
            contradictions.push(format!(
                "the date and time in the status bytes are {} s {direction} the clock of the \
                 log{hint}",
                (lead_nanos.unsigned_abs() + SECOND.unsigned_abs() / 2)
                    / SECOND.unsigned_abs()
            ));
        }
        contradictions
    }
}

impl Lidar {
    /// Compares the times that the lidar states with the clock of the log, and records
    /// contradictions as warnings. The clock of the log plus `to_unix` nanoseconds is UTC.
    /// `to_unix` is `None` if the log does not state a date.
    pub fn compare_clocks(&mut self, to_unix: Option<i64>) {
        if !self.sensor.model.has_timestamps() {
            return;
        }
        let status_time = self.status_time.take();
        self.time_warnings = status_time
            .map_or_else(Vec::new, |status_time| status_time.contradictions(to_unix));
        if let (Some(hour_nanos), Some(to_unix)) = (self.hour_nanos, to_unix) {
            let lead_nanos =
                around_hour(hour_nanos.wrapping_neg().wrapping_sub(to_unix));
            self.time_warnings.extend(time_scale(lead_nanos).map(|scale| {
                format!(
                    "the time of the lidar is {:.3} s ahead of the clock of the log: it looks \
                     like {scale}, not UTC",
                    lead_nanos as f64 / 1e9
                )
            }));
        }
    }
}

/// Returns the name and the offset of the time scale that is `lead_nanos` ahead of UTC, e.g.
/// `TAI (37 s ahead of UTC)`.
pub(crate) fn time_scale(lead_nanos: i64) -> Option<String> {
    let scale = TIME_SCALES
        .iter()
        .find(|(_, offset)| (lead_nanos - offset).abs() <= TIME_SCALE_TOLERANCE);
    scale.map(|(name, offset)| format!("{name} ({} s ahead of UTC)", offset / SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2010-09-30 13:00:00 UTC: date -u -d "2010-09-30 13:00" +%s
    const UTC: i64 = 1_285_851_600 * SECOND;

    fn contradictions(utc: i64, micros: u32, log_nanos: i64) -> Vec<String> {
        let time = Timestamp::from_nanos(log_nanos);
        StatusTime { utc, micros, time }.contradictions(Some(0))
    }

    #[test]
    fn consistent_status_bytes_are_not_reported_across_the_hour() {
        let none: [String; 0] = [];
        assert_eq!(contradictions(UTC, 167_200, UTC + 167_200_000), none);
        assert_eq!(contradictions(UTC - SECOND, 900_000, UTC + 900_000_000), none);
        assert_eq!(contradictions(UTC, 3_599_900_000, UTC - 100_000_000), none);
    }

    #[test]
    fn status_bytes_that_contradict_packets_or_log_are_reported() {
        let texts = contradictions(UTC, 1_500_010_000, UTC);
        assert!(
            texts[0].contains("00:00.000 past the hour, and the packets 25:00.010")
        );
        assert_eq!(texts.len(), 1);
        let texts = contradictions(UTC - DAY, 0, UTC);
        assert!(texts[0].contains("86400 s behind the clock of the log"), "{texts:?}");
        let texts = contradictions(UTC + 2_400 * SECOND, 2_400_000_000, UTC);
        assert!(texts[0].contains("2400 s ahead of the clock"), "{texts:?}");
        for weeks in [1_024, 2_048] {
            let texts = contradictions(UTC - weeks * 7 * DAY, 0, UTC);
            let expected = format!("{weeks} weeks, so the week number");
            assert!(texts[0].contains(&expected), "{texts:?}");
        }
    }

    #[test]
    fn time_scale_is_identified_by_its_offset() {
        for lead_seconds in [36.6, 37.0, 37.4] {
            assert!(
                time_scale((lead_seconds * 1e9) as i64).unwrap().starts_with("TAI")
            );
        }
        assert!(time_scale(18 * SECOND).unwrap().starts_with("GPS time"));
        for lead_nanos in [0, 36 * SECOND, 38 * SECOND, -37 * SECOND, 1_800 * SECOND] {
            assert_eq!(time_scale(lead_nanos), None);
        }
    }
}
