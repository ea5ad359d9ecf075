//! How the times of a column are written as text.

use arrow_array::{Array as _, ArrayRef, cast::AsArray as _, types::*};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, TimeUnit};
use logtool_core::{TIME_UNIT_KEY, calendar};

/// The text format of the times of a column.
///
/// It depends on the type of the column, and on the time unit of the log format, which is in the
/// metadata [`TIME_UNIT_KEY`]. Each time is written exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeFormat {
    /// An integer that counts units of `divisor` nanoseconds.
    Number { divisor: i64 },
    /// ISO 8601 with `digits` digits after the decimal point, and a Z.
    Iso { digits: usize },
}

impl TimeFormat {
    /// Returns the format for `field`, or `None` if it is not a column of times.
    pub(crate) fn for_field(field: &Field) -> Option<Self> {
        let DataType::Timestamp(unit, zone) = field.data_type() else { return None };
        let unit = match field.metadata().get(TIME_UNIT_KEY).map(String::as_str) {
            Some("us") => TimeUnit::Microsecond,
            Some("ns") => TimeUnit::Nanosecond,
            _ => *unit,
        };
        let (divisor, digits) = match unit {
            TimeUnit::Second => (1_000_000_000, 0),
            TimeUnit::Millisecond => (1_000_000, 3),
            TimeUnit::Microsecond => (1_000, 6),
            TimeUnit::Nanosecond => (1, 9),
        };
        Some(match zone {
            None => Self::Number { divisor },
            Some(_) => Self::Iso { digits },
        })
    }
}

/// Returns the nanoseconds of a column of times of any unit, or `None` if it is not a column of
/// times. Times that 64 bits cannot represent become the nearest time that they can represent.
pub(crate) fn nanos(column: &ArrayRef) -> Option<ScalarBuffer<i64>> {
    let scaled = |values: &ScalarBuffer<i64>, factor: i64| {
        values.iter().map(|value| value.saturating_mul(factor)).collect()
    };
    let DataType::Timestamp(unit, _) = column.data_type() else { return None };
    Some(match unit {
        TimeUnit::Nanosecond => {
            column.as_primitive::<TimestampNanosecondType>().values().clone()
        }
        TimeUnit::Microsecond => {
            scaled(column.as_primitive::<TimestampMicrosecondType>().values(), 1_000)
        }
        TimeUnit::Millisecond => scaled(
            column.as_primitive::<TimestampMillisecondType>().values(),
            1_000_000,
        ),
        TimeUnit::Second => {
            scaled(column.as_primitive::<TimestampSecondType>().values(), 1_000_000_000)
        }
    })
}

/// Formats a second of Unix time of the years 0 to 9999 as `2024-05-01T12:00:00`. (Times in
/// nanoseconds in 64 bits are in the years 1677 to 2262.)
pub(crate) fn iso_second(second: i64) -> [u8; 19] {
    let (days, second_of_day) = (second.div_euclid(86_400), second.rem_euclid(86_400));
    let (year, month, day) = calendar::date_from_days(days);
    let mut text = *b"0000-00-00T00:00:00";
    let mut write_digits = |offset: usize, len: usize, mut value: i64| {
        for digit in text.iter_mut().skip(offset).take(len).rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
    };
    write_digits(0, 4, year.clamp(0, 9999));
    write_digits(5, 2, month);
    write_digits(8, 2, day);
    write_digits(11, 2, second_of_day / 3600);
    write_digits(14, 2, second_of_day / 60 % 60);
    write_digits(17, 2, second_of_day % 60);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values were computed with Python's datetime.
    #[test]
    fn seconds_are_formatted_in_the_gregorian_calendar() {
        for (second, text) in [
            (0, "1970-01-01T00:00:00"),
            (-1, "1969-12-31T23:59:59"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_714_564_800, "2024-05-01T12:00:00"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (9_223_372_036, "2262-04-11T23:47:16"),
            (-9_223_372_037, "1677-09-21T00:12:43"),
        ] {
            assert_eq!(iso_second(second), text.as_bytes(), "{text}");
        }
    }
}
