//! The clocks on which times are shown, and the meaning of typed times.

use std::{fmt, io::Write as _};

use arrow_schema::Field;
use jiff::tz::TimeZone;
use logtool_core::{
    Clock, ClockZero, Manifest, TIME_UNIT_KEY, TimeBase, TimeRange, Timestamp,
};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{
    error::{Error, Remedy, Result},
    time::typed_time::TypedTime,
};

/// A clock on which times are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum TimeChoice {
    /// The log's own clock: in a ULog, the time since the vehicle was switched on
    #[default]
    Boot,
    /// UTC, if the log has a reference, such as GPS
    Utc,
    /// The time since the start of the log
    Relative,
}

/// The clock on which a log's times are shown.
#[derive(Clone, Copy, Debug)]
pub struct ShownClock {
    choice: TimeChoice,
    base: TimeBase,
    /// The offset to Unix time in nanoseconds, if it is known.
    to_unix: Option<i64>,
    /// Whether the shown times are Unix time, which text output shows as dates.
    is_unix: bool,
    /// The start of the log on its own clock, in nanoseconds.
    start: i64,
}

impl ShownClock {
    /// Returns the clock of the log itself.
    pub fn from_manifest(manifest: &Manifest) -> Self {
        Self::with_base(manifest, TimeChoice::Boot, TimeBase::default())
    }

    /// Returns the clock that was chosen for a log.
    ///
    /// # Errors
    /// If UTC was chosen, and the log has no UTC reference.
    pub fn new(manifest: &Manifest, choice: TimeChoice) -> Result<Self> {
        let base = match choice {
            TimeChoice::Boot => TimeBase::default(),
            TimeChoice::Relative => {
                let offset_nanos = start(manifest).saturating_neg();
                TimeBase { offset_nanos, is_utc: false }
            }
            TimeChoice::Utc => {
                let offset_nanos = unix_offset(&manifest.clock).ok_or_else(no_utc)?;
                TimeBase { offset_nanos, is_utc: true }
            }
        };
        Ok(Self::with_base(manifest, choice, base))
    }

    fn with_base(manifest: &Manifest, choice: TimeChoice, base: TimeBase) -> Self {
        let to_unix = unix_offset(&manifest.clock);
        let is_as_logged = choice == TimeChoice::Boot;
        let is_unix =
            base.is_utc || is_as_logged && manifest.clock.zero == ClockZero::Unix;
        Self { choice, base, to_unix, is_unix, start: start(manifest) }
    }

    /// Returns which clock it is.
    pub fn choice(&self) -> TimeChoice {
        self.choice
    }

    /// Returns the time base for tables.
    pub fn base(&self) -> TimeBase {
        self.base
    }

    /// Returns whether the shown times are Unix time.
    pub fn is_unix(&self) -> bool {
        self.is_unix
    }

    /// Returns whether it is the clock of the log itself and does not show Unix time.
    pub fn is_vehicle_clock(&self) -> bool {
        self.choice == TimeChoice::Boot && !self.is_unix
    }

    /// Returns the range from `start` to before `end`, on the log's own clock.
    ///
    /// # Errors
    /// If the range is empty, or if a date is typed and the log has no UTC reference.
    pub fn range(
        &self,
        start: Option<TypedTime>,
        end: Option<TypedTime>,
    ) -> Result<TimeRange> {
        let start = start.map(|time| self.log_time(time)).transpose()?;
        let end = end.map(|time| self.log_time(time)).transpose()?;
        let range = TimeRange {
            start: start.unwrap_or(Timestamp::MIN),
            end: end.unwrap_or(Timestamp::MAX),
        };
        if range.is_empty() {
            return Err(Error::invalid_request(
                "the end of the time range is not after its start",
            ));
        }
        Ok(range)
    }

    /// Returns `time` on the log's own clock.
    fn log_time(&self, time: TypedTime) -> Result<Timestamp> {
        let nanos = match time {
            TypedTime::Relative(nanos) => self.start.saturating_add(nanos),
            TypedTime::Boot(nanos) => nanos,
            TypedTime::Utc(nanos) => {
                nanos.saturating_sub(self.to_unix.ok_or_else(no_utc)?)
            }
        };
        Ok(Timestamp::from_nanos(nanos))
    }

    /// Returns `time` as a user can type it: a date, or seconds since the start of a log that
    /// has no UTC reference.
    pub fn typed_text(&self, time: Timestamp) -> String {
        let nanos = time.as_nanos();
        match self.to_unix {
            Some(offset) => Iso(nanos.saturating_add(offset)).to_string(),
            None => Seconds(nanos.saturating_sub(self.start)).to_string(),
        }
    }

    /// Formats `time` for JSON: a number of seconds, or a string if it is UTC.
    pub fn json(&self, time: Timestamp) -> JsonTime {
        JsonTime(self.nanos_at(time), self.base.is_utc)
    }

    /// Formats `time` for JSON Lines: an integer that counts `unit`, or a string if it is UTC.
    pub fn row_time(&self, time: Timestamp, unit: TimeUnit) -> RowTime {
        RowTime { nanos: self.nanos_at(time), is_utc: self.base.is_utc, unit }
    }

    /// Formats `time` for users: `hh:mm:ss.mmm`, with the date if it is Unix time.
    pub fn text(&self, time: Timestamp) -> TextTime {
        TextTime { nanos: self.nanos_at(time), is_unix: self.is_unix, is_exact: false }
    }

    /// Like [`text`](Self::text), with microseconds and nanoseconds, unless they are 0.
    pub fn exact_text(&self, time: Timestamp) -> TextTime {
        self.text(time).with_nanoseconds()
    }

    /// Returns the nanoseconds on this clock; `None` if they cannot be represented.
    fn nanos_at(&self, time: Timestamp) -> Option<i64> {
        let nanos = Some(time).filter(|time| *time != Timestamp::MAX)?.as_nanos();
        nanos.checked_add(self.base.offset_nanos)
    }
}

/// Returns the offset of `clock` to Unix time, if it is known.
pub fn unix_offset(clock: &Clock) -> Option<i64> {
    match (&clock.to_unix, clock.zero) {
        (Some(fit), _) => Some(fit.offset_nanos),
        (None, ClockZero::Unix) => Some(0),
        (None, _) => None,
    }
}

/// Returns the message for a selection without records, of a log on this `clock`.
pub fn empty_selection(clock: &Clock) -> String {
    let message = "no records match the selected topics and time range";
    let offset = unix_offset(clock)
        .filter(|offset| clock.zero == ClockZero::Unix && *offset != 0);
    let Some(offset) = offset else { return message.to_owned() };
    let (seconds, direction) =
        (Seconds(offset.saturating_abs()), if offset < 0 { "ahead" } else { "behind" });
    format!("{message} (dates are UTC; the log's own clock is {seconds} s {direction})")
}

/// Describes the zero of a clock for users.
pub fn describe_zero(clock: &Clock) -> &'static str {
    match clock.zero {
        ClockZero::Unix => "1970",
        ClockZero::Boot => "the start of the vehicle",
        ClockZero::ProgramStart => "the start of the program",
    }
}

/// Returns when the log of `manifest` starts, in nanoseconds of its clock; 0 if it has no times.
fn start(manifest: &Manifest) -> i64 {
    manifest.time.map_or(0, |time| time.start.as_nanos())
}

fn no_utc() -> Error {
    Error::other("the log has no UTC reference").with_remedy(Remedy::SetUtcStart)
}

/// See [`ShownClock::json`].
pub struct JsonTime(Option<i64>, bool);

impl fmt::Display for JsonTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(None, _) => f.write_str("null"),
            Self(Some(nanos), true) => write!(f, "\"{}\"", Iso(nanos)),
            Self(Some(nanos), false) => write!(f, "{}", Seconds(nanos)),
        }
    }
}

impl Serialize for JsonTime {
    fn serialize<S: Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serialize_raw(self, serializer)
    }
}

/// Writes `json` as it is.
fn serialize_raw<S: Serializer>(
    json: &impl fmt::Display,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let json = RawValue::from_string(json.to_string());
    json.map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// The unit in which the format of a log counts its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// Returns the unit of a column of times.
    pub fn from_field(field: &Field) -> Self {
        match field.metadata().get(TIME_UNIT_KEY).map(String::as_str) {
            Some("us") => Self::Micros,
            _ => Self::Nanos,
        }
    }
}

/// See [`ShownClock::row_time`].
pub struct RowTime {
    nanos: Option<i64>,
    is_utc: bool,
    unit: TimeUnit,
}

impl RowTime {
    /// Appends the time to `json`.
    pub fn append(&self, json: &mut Vec<u8>) {
        // Writing to memory cannot fail.
        let _ = match (self.nanos, self.is_utc, self.unit) {
            (None, ..) => write!(json, "null"),
            (Some(nanos), false, TimeUnit::Nanos) => write!(json, "{nanos}"),
            (Some(nanos), false, TimeUnit::Micros) => {
                write!(json, "{}", nanos.div_euclid(1_000))
            }
            (Some(nanos), true, unit) => {
                let date = utc(nanos).strftime("%Y-%m-%dT%H:%M:%S");
                let part = nanos.rem_euclid(1_000_000_000);
                match unit {
                    TimeUnit::Nanos => write!(json, "\"{date}.{part:09}Z\""),
                    TimeUnit::Micros => write!(json, "\"{date}.{:06}Z\"", part / 1_000),
                }
            }
        };
    }
}

/// See [`ShownClock::text`].
pub struct TextTime {
    nanos: Option<i64>,
    is_unix: bool,
    is_exact: bool,
}

impl TextTime {
    /// Formats a time as Unix time.
    pub fn from_unix_time(time: Timestamp) -> Self {
        Self { nanos: Some(time.as_nanos()), is_unix: true, is_exact: false }
    }

    /// Formats a duration in nanoseconds.
    pub fn from_duration(nanos: i64) -> Self {
        Self { nanos: Some(nanos), is_unix: false, is_exact: false }
    }

    /// Adds microseconds and nanoseconds, unless they are 0.
    pub fn with_nanoseconds(self) -> Self {
        Self { is_exact: true, ..self }
    }

    /// Formats the fraction of a second of `nanos`: milliseconds, and further digits if they are
    /// requested and not zero.
    fn fraction(&self, nanos: u64) -> String {
        match nanos {
            _ if !self.is_exact || nanos.is_multiple_of(1_000_000) => {
                format!("{:03}", nanos / 1_000_000)
            }
            _ if nanos.is_multiple_of(1_000) => format!("{:06}", nanos / 1_000),
            _ => format!("{nanos:09}"),
        }
    }
}

impl fmt::Display for TextTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        let Some(nanos) = self.nanos else { return f.pad("?") };
        if self.is_unix {
            let date = utc(nanos).strftime("%Y-%m-%d %H:%M:%S");
            let part = nanos.rem_euclid(SECOND as i64).unsigned_abs();
            return write!(f, "{date}.{}", self.fraction(part));
        }
        let is_visible = self.is_exact || nanos.unsigned_abs() >= 1_000_000;
        let sign = if nanos < 0 && is_visible { "-" } else { "" };
        let nanos = nanos.unsigned_abs();
        let (seconds, part) = (nanos / SECOND, self.fraction(nanos % SECOND));
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        write!(f, "{sign}{hours:02}:{minutes:02}:{:02}.{part}", seconds % 60)
    }
}

/// Formats nanoseconds as seconds with microseconds, and with nanoseconds if they are not 0,
/// without rounding.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        match part % 1_000 {
            0 => write!(f, "{sign}{whole}.{:06}", part / 1_000),
            _ => write!(f, "{sign}{whole}.{part:09}"),
        }
    }
}

/// Serializes a number with all digits.
impl Serialize for Seconds {
    fn serialize<S: Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serialize_raw(self, serializer)
    }
}

/// Formats nanoseconds of Unix time as ISO 8601, with the digits of [`Seconds`].
pub struct Iso(pub i64);

impl fmt::Display for Iso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.0.rem_euclid(1_000_000_000);
        let date = utc(self.0).strftime("%Y-%m-%dT%H:%M:%S");
        match part % 1000 {
            0 => write!(f, "{date}.{:06}Z", part / 1000),
            _ => write!(f, "{date}.{part:09}Z"),
        }
    }
}

fn utc(nanos: i64) -> jiff::Zoned {
    // 64 bits of nanoseconds reach 292 years from 1970, which jiff can represent.
    jiff::Timestamp::from_nanosecond(i128::from(nanos))
        .unwrap_or_default()
        .to_zoned(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        assert_eq!(Seconds(1_500_000_000).to_string(), "1.500000");
        assert_eq!(Seconds(1_500_000_001).to_string(), "1.500000001");
        assert_eq!(Seconds(-250_000_000).to_string(), "-0.250000");
        assert_eq!(Seconds(0).to_string(), "0.000000");
        assert_eq!(Seconds(-1).to_string(), "-0.000000001");
        assert_eq!(Seconds(12_000_034_000).to_string(), "12.000034");
        assert_eq!(Seconds(i64::MAX).to_string(), "9223372036.854775807");
        assert_eq!(Seconds(i64::MIN).to_string(), "-9223372036.854775808");
    }

    #[test]
    fn dates_are_exact_before_1970_too() {
        assert_eq!(
            Iso(1_714_564_800_000_001_000).to_string(),
            "2024-05-01T12:00:00.000001Z"
        );
        assert_eq!(Iso(-500_000_000).to_string(), "1969-12-31T23:59:59.500000Z");
        assert_eq!(text(-1, true, false), "1969-12-31 23:59:59.999");
        assert_eq!(text(-1, true, true), "1969-12-31 23:59:59.999999999");
    }

    #[test]
    fn text_has_hours_and_minutes_and_all_digits_on_request() {
        assert_eq!(text(3_723_004_999_999, false, false), "01:02:03.004");
        assert_eq!(text(3_723_004_999_999, false, true), "01:02:03.004999999");
        assert_eq!(text(3_723_004_999_000, false, true), "01:02:03.004999");
        assert_eq!(text(3_723_004_000_000, false, true), "01:02:03.004");
        assert_eq!(text(-1_500_000_000, false, false), "-00:00:01.500");
        let nothing = TextTime { nanos: None, is_unix: false, is_exact: true };
        assert_eq!(nothing.to_string(), "?");
    }

    fn text(nanos: i64, is_unix: bool, is_exact: bool) -> String {
        TextTime { nanos: Some(nanos), is_unix, is_exact }.to_string()
    }
}
