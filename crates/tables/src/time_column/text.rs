//! Text as nanoseconds.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::time_column::{TimeUnit, number::decimal_nanos};

/// Returns the nanoseconds of the text `cell` in a column of `unit`.
pub(crate) fn cell_nanos(cell: &[u8], unit: TimeUnit) -> Option<i64> {
    let text = str::from_utf8(cell).ok()?.trim();
    match unit {
        TimeUnit::Iso8601 => iso_nanos(text),
        _ => decimal_nanos(text, unit),
    }
}

/// Returns the Unix time of `text` in nanoseconds. It is UTC unless it states an offset.
fn iso_nanos(text: &str) -> Option<i64> {
    // A date alone is no time of a record.
    if text.len() < "2024-06-01T00".len() || !text.contains(':') {
        return None;
    }
    let time = text.parse::<Timestamp>().ok().or_else(|| {
        let civil: DateTime = text.parse().ok()?;
        civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    })?;
    i64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_utc_or_have_an_offset() {
        let nanos = |text: &str| cell_nanos(text.as_bytes(), TimeUnit::Iso8601);
        // `date -u -d '2024-06-01 10:00:04' +%s` is 1717236004.
        let expected = Some(1_717_236_004_899_000_000);
        for text in [
            "2024-06-01T10:00:04.899Z",
            "2024-06-01 10:00:04.899",
            " 2024-06-01 10:00:04.899+00:00",
            "2024-06-01T12:00:04.899000000+02:00",
        ] {
            assert_eq!(nanos(text), expected, "{text}");
        }
        for text in
            ["", "2024-06-01", "10:00:04", "2024-13-01 10:00:04", "abc:defghijklm"]
        {
            assert_eq!(nanos(text), None, "{text}");
        }
        assert_eq!(cell_nanos(b"\xff", TimeUnit::Iso8601), None);
    }
}
