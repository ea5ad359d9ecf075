//! On which clock times are told, and typed.

use std::fmt;

use anyhow::Result;
use jiff::tz::TimeZone;
use logtool_core::{ClockZero, Manifest, TimeBase, TimeRange, Timestamp};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{args::TimeChoice, complaint::Complaint, times::TypedTime};

/// The clock on which a log's times are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownClock {
    choice: TimeChoice,
    base: TimeBase,
    /// What to add for Unix time, if that is known.
    to_unix: Option<i64>,
    /// Whether the times that are told are Unix time, and so are dates to people.
    is_unix: bool,
    /// What times that are typed as seconds count from: the zero of the clock, or, as
    /// nobody means a moment of 1970, the start of a log on Unix time.
    typed_zero: i64,
}

/// More seconds than these are typed as Unix time: 2001.
const UNIX_TIMES: i64 = 1_000_000_000_000_000_000;

impl ShownClock {
    /// The clock that was chosen for a log.
    pub(crate) fn new(manifest: &Manifest, choice: TimeChoice) -> Result<Self> {
        let to_unix = match (&manifest.clock.to_unix, manifest.clock.zero) {
            (Some(fit), _) => Some(fit.offset_nanos),
            (None, ClockZero::Unix) => Some(0),
            (None, _) => None,
        };
        let start = manifest.time.map_or(0, |time| time.start.as_nanos());
        let base = match choice {
            TimeChoice::Boot => TimeBase::default(),
            TimeChoice::Relative => {
                TimeBase { offset_nanos: start.saturating_neg(), is_utc: false }
            }
            TimeChoice::Utc => {
                let offset_nanos = to_unix.ok_or_else(no_utc)?;
                TimeBase { offset_nanos, is_utc: true }
            }
        };
        let as_logged = choice == TimeChoice::Boot;
        let is_unix =
            base.is_utc || as_logged && manifest.clock.zero == ClockZero::Unix;
        let typed_zero = match manifest.clock.zero {
            ClockZero::Unix if as_logged => start,
            _ => base.offset_nanos.saturating_neg(),
        };
        Ok(Self { choice, base, to_unix, is_unix, typed_zero })
    }

    /// For the tables.
    pub(crate) fn base(&self) -> TimeBase {
        self.base
    }

    /// Whether the times that are told are Unix time.
    pub(crate) fn is_unix(&self) -> bool {
        self.is_unix
    }

    /// The time range that was typed, on the log's own clock.
    pub(crate) fn range(
        &self,
        from: Option<TypedTime>,
        to: Option<TypedTime>,
    ) -> Result<TimeRange> {
        let start = from.map(|time| self.moment(time)).transpose()?;
        let end = to.map(|time| self.moment(time)).transpose()?;
        let range = TimeRange {
            start: start.unwrap_or(Timestamp::MIN),
            end: end.unwrap_or(Timestamp::MAX),
        };
        if range.is_empty() {
            let what = "there is no time between --from and --to";
            return Err(Complaint::misuse(what).hint("--to is the later one").into());
        }
        Ok(range)
    }

    fn moment(&self, time: TypedTime) -> Result<Timestamp> {
        let nanos = match (time, self.choice) {
            (TypedTime::Nanos(nanos), TimeChoice::Boot)
                if self.is_unix && nanos >= UNIX_TIMES =>
            {
                nanos
            }
            (TypedTime::Nanos(nanos), TimeChoice::Boot | TimeChoice::Relative) => {
                self.typed_zero.saturating_add(nanos)
            }
            (TypedTime::Nanos(_), TimeChoice::Utc) => {
                let what = "with --time utc, --from and --to are dates";
                let hint = "as 2024-05-01T12:00:00Z; seconds go with --time boot or \
                            --time relative";
                return Err(Complaint::misuse(what).hint(hint).into());
            }
            (TypedTime::Unix(nanos), _) => {
                nanos.saturating_sub(self.to_unix.ok_or_else(no_utc)?)
            }
        };
        Ok(Timestamp::from_nanos(nanos))
    }

    /// `time` for JSON: a number of seconds, or a text where that is UTC.
    pub(crate) fn json(&self, time: Timestamp) -> JsonTime {
        JsonTime(self.shown(time), self.base.is_utc)
    }

    /// `time` for people: `hh:mm:ss.mmm`, with the date where that is Unix time.
    pub(crate) fn text(&self, time: Timestamp) -> TextTime {
        TextTime(self.shown(time), self.is_unix)
    }

    /// Nanoseconds on this clock; nothing where that cannot be told.
    fn shown(&self, time: Timestamp) -> Option<i64> {
        let nanos = Some(time).filter(|time| *time != Timestamp::MAX)?.as_nanos();
        nanos.checked_add(self.base.offset_nanos)
    }
}

fn no_utc() -> Complaint {
    Complaint::new("the log does not say when it was, in the world's time")
        .hint("`--time boot` and `--time relative` always work")
}

/// See [`ShownClock::json`].
pub(crate) struct JsonTime(Option<i64>, bool);

impl fmt::Display for JsonTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(None, _) => f.write_str("null"),
            Self(Some(nanos), true) => write!(f, "\"{}\"", Iso(nanos)),
            Self(Some(nanos), false) => write!(f, "{}", Seconds(nanos)),
        }
    }
}

/// See [`ShownClock::text`].
pub(crate) struct TextTime(Option<i64>, bool);

impl TextTime {
    /// A moment of Unix time.
    pub(crate) fn date(time: Timestamp) -> Self {
        Self(Some(time.as_nanos()), true)
    }
}

impl fmt::Display for TextTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Some(nanos), is_utc) = *self else { return f.pad("?") };
        if is_utc {
            let date = utc(nanos).strftime("%Y-%m-%d %H:%M:%S");
            return write!(
                f,
                "{date}.{:03}",
                nanos.rem_euclid(1_000_000_000) / 1_000_000
            );
        }
        let millis = nanos.unsigned_abs() / 1_000_000;
        let sign = if nanos < 0 && millis > 0 { "-" } else { "" };
        let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
        let (seconds, millis) = (millis / 1000 % 60, millis % 1000);
        write!(f, "{sign}{hours:02}:{minutes:02}:{seconds:02}.{millis:03}")
    }
}

/// Nanoseconds as seconds, with the microseconds and, where there are some, the
/// nanoseconds: never rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        match part % 1000 {
            0 => write!(f, "{sign}{whole}.{:06}", part / 1000),
            _ => write!(f, "{sign}{whole}.{part:09}"),
        }
    }
}

/// As a number of all these digits.
impl Serialize for Seconds {
    fn serialize<S: Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        let number = RawValue::from_string(self.to_string());
        number.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// Nanoseconds of Unix time as ISO 8601, as exact as [`Seconds`].
pub(crate) struct Iso(pub(crate) i64);

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
    // 64 bits of nanoseconds are 292 years either way, which jiff always can tell.
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
        assert_eq!(Seconds(i64::MAX).to_string(), "9223372036.854775807");
    }

    #[test]
    fn dates_are_exact_before_1970_too() {
        assert_eq!(
            Iso(1_714_564_800_000_001_000).to_string(),
            "2024-05-01T12:00:00.000001Z"
        );
        assert_eq!(Iso(-500_000_000).to_string(), "1969-12-31T23:59:59.500000Z");
        assert_eq!(TextTime(Some(-1), true).to_string(), "1969-12-31 23:59:59.999");
    }

    #[test]
    fn people_read_hours_and_minutes() {
        assert_eq!(
            TextTime(Some(3_723_004_999_999), false).to_string(),
            "01:02:03.004"
        );
        assert_eq!(TextTime(Some(-1_500_000_000), false).to_string(), "-00:00:01.500");
        assert_eq!(TextTime(None, false).to_string(), "?");
    }
}
