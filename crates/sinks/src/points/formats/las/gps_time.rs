//! GPS time, which has no leap seconds.

use std::ops::Range;

/// The start of GPS time, 1980-01-06, in Unix time.
const GPS_EPOCH: i64 = 315_964_800;
/// The difference of GPS time and adjusted standard GPS time in seconds (LAS 1.2, table 2).
const STANDARD_TIME_OFFSET: i64 = 1_000_000_000;

/// The Unix times at which the offset of GPS from UTC grew by one second (IERS Bulletin C; the last
/// leap second was at the end of 2016).
const LEAP_SECONDS: [i64; 18] = [
    362_793_600,
    394_329_600,
    425_865_600,
    489_024_000,
    567_993_600,
    631_152_000,
    662_688_000,
    709_948_800,
    741_484_800,
    773_020_800,
    820_454_400,
    867_715_200,
    915_148_800,
    1_136_073_600,
    1_230_768_000,
    1_341_100_800,
    1_435_708_800,
    1_483_228_800,
];

/// Converts Unix time to GPS time. It remembers the number of leap seconds at the last time, because
/// that of the next one is the same, as a rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct GpsClock {
    /// The Unix times in seconds between which there is no leap second.
    range: Range<i64>,
    leap_seconds: i64,
}

impl GpsClock {
    /// Converts `nanos` of Unix time to adjusted standard GPS time in seconds. The precision of the
    /// float is 60 ns for present times.
    pub(crate) fn adjusted_standard_time(&mut self, nanos: i64) -> f64 {
        let seconds = nanos.div_euclid(1_000_000_000);
        if !self.range.contains(&seconds) {
            let leap_seconds = LEAP_SECONDS.partition_point(|time| *time <= seconds);
            let previous = leap_seconds.checked_sub(1);
            let start = previous.and_then(|index| LEAP_SECONDS.get(index));
            let end = LEAP_SECONDS.get(leap_seconds);
            self.range = *start.unwrap_or(&i64::MIN)..*end.unwrap_or(&i64::MAX);
            self.leap_seconds = leap_seconds as i64;
        }
        let gps_seconds =
            seconds - GPS_EPOCH - STANDARD_TIME_OFFSET + self.leap_seconds;
        gps_seconds as f64 + nanos.rem_euclid(1_000_000_000) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gps_time_is_ahead_by_the_leap_seconds_since_1980() {
        let mut clock = GpsClock::default();
        let mut adjusted_standard_time = |nanos| clock.adjusted_standard_time(nanos);
        // The start of GPS week 2000, 2018-05-06T00:00:00 GPS, is 23:59:42 UTC.
        let seconds = 2_000 * 604_800 - STANDARD_TIME_OFFSET;
        assert_eq!(adjusted_standard_time(1_525_564_782_000_000_000), seconds as f64);
        assert_eq!(adjusted_standard_time(GPS_EPOCH * 1_000_000_000), -1e9);
        // 1999-08-22T00:00:00 GPS, week 1024, is 13 seconds earlier in UTC.
        let seconds = 1_024 * 604_800 - STANDARD_TIME_OFFSET;
        assert_eq!(
            adjusted_standard_time(935_279_987_500_000_000),
            seconds as f64 + 0.5
        );
    }
}
