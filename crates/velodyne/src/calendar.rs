//! The Gregorian calendar.

/// Returns the days from 1970-01-01 to a date.
pub(crate) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // The year starts in March here, so that the leap day is its last day.
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_counted_like_the_date_command() {
        // date -u -d "2010-09-30" +%s, and so on, over 86400.
        for (date, days) in [
            ((2010, 9, 30), 14_882),
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((2024, 3, 1), 19_783),
            ((2099, 12, 31), 47_481),
        ] {
            assert_eq!(days_since_1970(date.0, date.1, date.2), days, "{date:?}");
        }
    }
}
