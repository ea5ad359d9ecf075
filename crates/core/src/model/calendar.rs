//! The Gregorian calendar.
//!
//! The algorithms are `days_from_civil` and `civil_from_days` of Howard Hinnant's
//! "chrono-Compatible Low-Level Date Algorithms". Their years start in March, so that the leap day
//! is the last day of a year. An era of 400 years has 146,097 days, and 719,468 days lie between
//! 0000-03-01 and 1970-01-01.

/// Returns the days from 1970-01-01 to a date. The 13th month is January of the next year.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let months_since_march = (month + 9) % 12;
    let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + day_of_year - 719_468
}

/// Returns the year, the month and the day of the month of the day that is `days` days after
/// 1970-01-01.
pub fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524
        - day_of_era / 146_096)
        / 365;
    let day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = (months_since_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The days are those of `date -u -d "2010-09-30" +%s` and so on, divided by 86400.
    #[test]
    fn dates_and_days_are_those_of_the_date_command() {
        for (date, days) in [
            ((1677, 9, 21), -106_752),
            ((1969, 12, 31), -1),
            ((1970, 1, 1), 0),
            ((2000, 2, 28), 11_015),
            ((2000, 2, 29), 11_016),
            ((2010, 9, 30), 14_882),
            ((2024, 3, 1), 19_783),
            ((2099, 12, 31), 47_481),
            ((2100, 3, 1), 47_541),
            ((2262, 4, 11), 106_751),
        ] {
            let (year, month, day) = date;
            assert_eq!(days_since_1970(year, month, day), days, "{date:?}");
            assert_eq!(date_from_days(days), date, "{days}");
        }
    }

    #[test]
    fn the_thirteenth_month_is_january_of_the_next_year() {
        // `date -u -d 2024-01-01 +%s`, divided by 86400.
        assert_eq!(days_since_1970(2023, 13, 1), 19_723);
    }

    #[test]
    fn days_of_any_size_have_a_date() {
        assert!(date_from_days(i64::MAX).0 > 0);
        assert!(date_from_days(i64::MIN).0 < 0);
    }
}
