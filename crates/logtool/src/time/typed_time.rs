//! Parses the times and durations that users type.

use std::{fmt, str::FromStr};

use jiff::Timestamp;

/// A time that a user typed. The log determines the record time that it stands for.
///
/// ```
/// use logtool::time::typed_time::TypedTime;
///
/// assert_eq!("1m30s".parse(), Ok(TypedTime::Relative(90_000_000_000)));
/// assert_eq!("boot:105.2".parse(), Ok(TypedTime::Boot(105_200_000_000)));
/// assert_eq!("1970-01-01T00:00:01Z".parse(), Ok(TypedTime::Utc(1_000_000_000)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedTime {
    /// Nanoseconds since the start of the log.
    Relative(i64),
    /// Nanoseconds on the log's own clock.
    Boot(i64),
    /// UTC, in nanoseconds since 1970.
    Utc(i64),
}

/// The text is not a time.
#[derive(Debug, PartialEq, Eq)]
pub struct ParseTimeError(&'static str);

impl fmt::Display for ParseTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ParseTimeError {}

const NO_TIME: ParseTimeError = ParseTimeError(
    "expected a time such as 12.5, 1m30s, 2:30.5, boot:105.2 or 2024-05-01T12:00:00Z",
);

const NO_DURATION: ParseTimeError =
    ParseTimeError("expected a duration such as 2.5, 500ms, 1m30s or -0.25");

const NO_DATE: ParseTimeError =
    ParseTimeError("a date needs a time and a zone, e.g. 2024-05-01T12:00:00Z");

/// The reach of 64-bit nanoseconds.
const OUT_OF_RANGE: ParseTimeError =
    ParseTimeError("a time is at most 292 years from the zero of its clock");

impl FromStr for TypedTime {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        let text = text.trim();
        if is_date(text) {
            return utc(text).map(Self::Utc);
        }
        match text.strip_prefix("boot:") {
            Some(time) => nanos(time, NO_TIME).map(Self::Boot),
            None => nanos(text, NO_TIME).map(Self::Relative),
        }
    }
}

/// Parses a date with its time and zone, as nanoseconds since 1970.
///
/// # Errors
/// If `text` is not such a date, or if the date does not fit into 64 bits.
pub fn utc(text: &str) -> Result<i64, ParseTimeError> {
    let time: Timestamp = text.parse().map_err(|_| NO_DATE)?;
    i64::try_from(time.as_nanosecond()).map_err(|_| OUT_OF_RANGE)
}

/// Parses a duration, as nanoseconds. It may be negative.
///
/// # Errors
/// If `text` is not a duration, or if the duration does not fit into 64 bits.
pub fn duration(text: &str) -> Result<i64, ParseTimeError> {
    nanos(text.trim(), NO_DURATION)
}

/// Parses seconds, units or colons with an optional sign, as nanoseconds.
fn nanos(text: &str, malformed: ParseTimeError) -> Result<i64, ParseTimeError> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let nanos =
        if digits.contains(':') { with_colons(digits) } else { with_units(digits) };
    let nanos = i64::try_from(nanos.ok_or(malformed)?).map_err(|_| OUT_OF_RANGE)?;
    Ok(sign * nanos)
}

/// Returns whether `text` starts with a year and a hyphen, like `2024-05`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

/// Parses `1:02:03.5` or `2:03.5`.
fn with_colons(text: &str) -> Option<u128> {
    let parts: Vec<&str> = text.split(':').collect();
    let (seconds, larger) =
        parts.split_last().filter(|(_, larger_units)| larger_units.len() <= 2)?;
    let mut total = 0_u128;
    for part in larger {
        total = total.saturating_mul(60).saturating_add(digits(part)?);
    }
    let seconds = decimal(seconds, NANOS)?;
    Some(total.saturating_mul(60 * NANOS).saturating_add(seconds))
}

/// Parses `12.5`, `12.5s`, `12m30s`, `1h2m3.5s`, `250ms`.
fn with_units(text: &str) -> Option<u128> {
    const UNITS: [(&str, u128); 6] = [
        ("h", 3600 * NANOS),
        ("m", 60 * NANOS),
        ("s", NANOS),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];
    let (mut remaining, mut total, mut last) = (text, 0_u128, u128::MAX);
    while !remaining.is_empty() {
        let end = remaining
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(remaining.len());
        let (number, tail) = remaining.split_at(end);
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (name, tail) = tail.split_at(end);
        // A number without a unit is seconds. Each unit is smaller than the one before it.
        let unit = match name {
            "" if remaining.len() == text.len() => NANOS,
            _ => UNITS.iter().find(|(unit, _)| *unit == name)?.1,
        };
        if unit >= last {
            return None;
        }
        total = total.saturating_add(decimal(number, unit)?);
        (remaining, last) = (tail, unit);
    }
    (last < u128::MAX).then_some(total)
}

const NANOS: u128 = 1_000_000_000;

fn digits(text: &str) -> Option<u128> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Digits that do not fit are a number that is too large.
    is_number.then(|| text.parse().unwrap_or(u128::MAX))
}

/// Parses `12`, `12.5` or `.5` of a `unit` exactly. Fractions of a nanosecond are dropped.
fn decimal(text: &str, unit: u128) -> Option<u128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { digits(whole)? };
    let part = match part {
        "" => 0,
        part => {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            // 13 digits resolve nanoseconds in an hour. 20 digits cannot overflow below.
            let prefix = is_number.then(|| &part[..part.len().min(20)])?;
            digits(prefix)? * unit / 10_u128.pow(prefix.len() as u32)
        }
    };
    Some(whole.saturating_mul(unit).saturating_add(part))
}

#[cfg(test)]
mod tests {
    use super::{TypedTime::*, *};

    fn nanos(text: &str) -> i64 {
        let nanos = duration(text).unwrap();
        assert_eq!(text.parse(), Ok(Relative(nanos)), "{text}");
        assert_eq!(format!("boot:{text}").parse(), Ok(Boot(nanos)), "{text}");
        nanos
    }

    #[test]
    fn seconds_units_and_colons_are_parsed() {
        assert_eq!(nanos("12.5"), 12_500_000_000);
        assert_eq!(nanos("12.5s"), 12_500_000_000);
        assert_eq!(nanos("12m30s"), 750_000_000_000);
        assert_eq!(nanos("1h2m3.5s"), 3_723_500_000_000);
        assert_eq!(nanos("1h"), 3_600_000_000_000);
        assert_eq!(nanos("250ms"), 250_000_000);
        assert_eq!(nanos("2:30.5"), 150_500_000_000);
        assert_eq!(nanos("1:00:00"), 3_600_000_000_000);
        assert_eq!(nanos("-1.5"), -1_500_000_000);
        assert_eq!(nanos("0"), 0);
        assert_eq!(nanos("0.000001"), 1_000, "without a float in between");
    }

    /// The products were computed with Python's `decimal`, rounded down to the nanosecond.
    #[test]
    fn fractions_of_hours_and_minutes_are_exact() {
        assert_eq!(nanos("0.1234567891h"), 444_444_440_760);
        assert_eq!(nanos("1.00000000027778h"), 3_600_000_001_000);
        assert_eq!(nanos("2.98765432109876m"), 179_259_259_265);
        assert_eq!(nanos("0.3333333333333333333333h"), 1_199_999_999_999);
    }

    #[test]
    fn dates_are_utc() {
        // date -u -d 2024-05-01T12:00:00Z +%s
        let noon = 1_714_564_800_000_000_000;
        assert_eq!("2024-05-01T12:00:00Z".parse(), Ok(Utc(noon)));
        assert_eq!("2024-05-01T14:00:00+02:00".parse(), Ok(Utc(noon)));
        assert_eq!("2024-05-01T12:00:00.25Z".parse(), Ok(Utc(noon + 250_000_000)));
    }

    #[test]
    fn times_beyond_292_years_are_refused() {
        // 2^63 ns are 292.47 years, of 31,557,600 s.
        assert_eq!(nanos("9223372036"), 9_223_372_036_000_000_000);
        let long = "9".repeat(60);
        for text in ["9223372037", "99999999999", &long, "-9999999h", "9999999:0:0"] {
            assert_eq!(text.parse::<TypedTime>(), Err(OUT_OF_RANGE), "{text}");
        }
        assert_eq!("2300-01-01T00:00:00Z".parse::<TypedTime>(), Err(OUT_OF_RANGE));
        assert_eq!("9 9".parse::<TypedTime>(), Err(NO_TIME));
    }

    #[test]
    fn malformed_times_are_refused() {
        for text in [
            "",
            "s",
            "-",
            ".",
            "1x",
            "30s12m",
            "5 5",
            "1:2:3:4",
            "1m2",
            "é",
            "1.é",
            "1.12345678é",
            "2024-05-01",
            "2024-05-01T12:00:00",
            "99999999999999999999",
            "1m1m",
            "boot:",
            "boot:2024-05-01T12:00:00Z",
            "utc:5",
        ] {
            assert!(text.parse::<TypedTime>().is_err(), "{text:?}");
            assert!(duration(text).is_err(), "{text:?}");
        }
        assert_eq!(duration("boot:5"), Err(NO_DURATION));
        assert_eq!(duration("2024-05-01T12:00:00Z"), Err(NO_DURATION));
    }
}
