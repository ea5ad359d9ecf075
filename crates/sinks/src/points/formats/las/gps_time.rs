//! GPS time, which has no leap seconds.

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

/// Converts `nanos` of Unix time to adjusted standard GPS time in seconds. The precision of the
/// float is 60 ns for present times.
pub(crate) fn adjusted_standard_time(nanos: i64) -> f64 {
    let seconds = nanos.div_euclid(1_000_000_000);
    let leap_seconds = LEAP_SECONDS.partition_point(|time| *time <= seconds) as i64;
    let gps_seconds = seconds - GPS_EPOCH - STANDARD_TIME_OFFSET + leap_seconds;
    gps_seconds as f64 + nanos.rem_euclid(1_000_000_000) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gps_time_is_ahead_by_the_leap_seconds_since_1980() {
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
