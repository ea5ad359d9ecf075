//! The column that contains the times of the rows of a table.

mod number;
mod text;

use std::{fmt, str::FromStr};

use logtool_core::{Clock, ClockZero, Error, ErrorKind, TimeRange};
use serde::{Deserialize, Serialize};

pub(crate) use self::{number::float_nanos, number::integer_nanos, text::cell_nanos};

/// The unit of the values of a time column.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Dates and times as text, as in ISO 8601.
    Iso8601,
}

impl TimeUnit {
    /// Returns the symbol of the unit, or `None` for text.
    pub const fn symbol(self) -> Option<&'static str> {
        match self {
            Self::Seconds => Some("s"),
            Self::Millis => Some("ms"),
            Self::Micros => Some("us"),
            Self::Nanos => Some("ns"),
            Self::Iso8601 => None,
        }
    }

    /// Returns the description for messages, e.g. `in microseconds`.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Seconds => "in seconds",
            Self::Millis => "in milliseconds",
            Self::Micros => "in microseconds",
            Self::Nanos => "in nanoseconds",
            Self::Iso8601 => "as ISO 8601",
        }
    }

    /// Returns the exponent of the number of nanoseconds in the unit, as a power of ten.
    const fn exponent(self) -> u32 {
        match self {
            Self::Seconds => 9,
            Self::Millis => 6,
            Self::Micros => 3,
            Self::Nanos | Self::Iso8601 => 0,
        }
    }
}

/// A column that a user chose as the time column: `NAME`, or `NAME:UNIT` with the unit `s`, `ms`,
/// `us` or `ns`.
///
/// ```
/// use logtool_tables::time_column::{TimeColumnChoice, TimeUnit};
///
/// let choice: TimeColumnChoice = "stamp:ms".parse()?;
/// assert_eq!((choice.name.as_str(), choice.unit), ("stamp", Some(TimeUnit::Millis)));
/// # Ok::<(), logtool_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeColumnChoice {
    /// The name of the column.
    pub name: String,
    /// The unit; `None` to derive it from the name and the values.
    pub unit: Option<TimeUnit>,
}

impl FromStr for TimeColumnChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const UNITS: [TimeUnit; 4] =
            [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos];
        // A name may contain colons, so the last part is a unit only if it is known.
        let split = text.rsplit_once(':').and_then(|(name, unit)| {
            let unit =
                UNITS.into_iter().find(|candidate| candidate.symbol() == Some(unit))?;
            Some((name, Some(unit)))
        });
        let (name, unit) = split.unwrap_or((text, None));
        if name.is_empty() {
            let message = "a time column is NAME or NAME:UNIT";
            return Err(Error::new(ErrorKind::NoSuch, message));
        }
        Ok(Self { name: name.to_owned(), unit })
    }
}

/// The time column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TimeColumn {
    /// The index among the columns of the file.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) unit: TimeUnit,
    /// Whether the file declares that the times are UTC.
    pub(crate) is_utc: bool,
}

impl TimeColumn {
    /// Returns the clock of a log with times in the range `time`.
    pub(crate) fn clock(&self, time: Option<TimeRange>) -> Clock {
        let is_late = time.is_some_and(|time| time.start.as_nanos() >= YEAR_2000_NANOS);
        let is_unix = self.is_utc || self.unit == TimeUnit::Iso8601 || is_late;
        let zero = if is_unix { ClockZero::Unix } else { ClockZero::Boot };
        Clock { zero, to_unix: None }
    }
}

impl fmt::Display for TimeColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the times are those of the column `{}`, ", self.name)?;
        f.write_str(self.unit.description())
    }
}

/// The usual names of time columns, and the default units of numbers in them. The most certain
/// names come first.
const KNOWN_NAMES: [(&str, TimeUnit); 9] = [
    // ulog2csv of pyulog, and logtool.
    ("timestamp", TimeUnit::Micros),
    // `rostopic echo -p` of ROS 1.
    ("%time", TimeUnit::Nanos),
    ("time", TimeUnit::Seconds),
    ("log_time", TimeUnit::Nanos),
    // Exports of bags.
    ("rosbagtimestamp", TimeUnit::Nanos),
    ("t", TimeUnit::Seconds),
    ("header.stamp", TimeUnit::Nanos),
    ("field.header.stamp", TimeUnit::Nanos),
    ("stamp", TimeUnit::Nanos),
];

/// Returns the indices of the columns in `names` that may be the time column, and the default units
/// of numbers in them. The most certain columns come first.
pub(crate) fn candidates(names: &[String]) -> Vec<(usize, TimeUnit)> {
    let columns = KNOWN_NAMES.iter().filter_map(|(known, unit)| {
        let index = names.iter().position(|name| name.eq_ignore_ascii_case(known))?;
        Some((index, *unit))
    });
    columns.collect()
}

/// Returns the index of the chosen column, and its unit if it was chosen or follows from the name.
///
/// # Errors
/// `NoSuch` if no column has this name.
pub(crate) fn find_chosen_column(
    choice: &TimeColumnChoice,
    names: &[String],
) -> Result<(usize, Option<TimeUnit>), Error> {
    let index =
        names.iter().position(|name| *name == choice.name).ok_or_else(|| {
            let message = format!(
                "the table has no column `{}`; {}",
                choice.name,
                name_list(names)
            );
            Error::new(ErrorKind::NoSuch, message)
        })?;
    let default_unit =
        candidates(names).into_iter().find(|(candidate, _)| *candidate == index);
    Ok((index, choice.unit.or(default_unit.map(|(_, unit)| unit))))
}

/// Returns the error of a table with the columns `names` and without a time column.
pub(crate) fn without_time_column(names: &[String]) -> Error {
    let message = format!(
        "the table has no column that is known to contain times; {}; `--time-column NAME:UNIT` \
         chooses one, with the unit s, ms, us or ns",
        name_list(names)
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// Returns a clause that lists the first `names`.
fn name_list(names: &[String]) -> String {
    const MAX_NAMES: usize = 20;
    const MAX_CHARS: usize = 60;
    let shorten = |name: &String| name.chars().take(MAX_CHARS).collect::<String>();
    let listed: Vec<String> = names.iter().take(MAX_NAMES).map(shorten).collect();
    let remaining = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        remaining => format!(" and {remaining} more"),
    };
    format!("its columns are {}{remaining}", listed.join(", "))
}

/// 2000-01-01 in nanoseconds of Unix time.
const YEAR_2000_NANOS: i64 = 946_684_800_000_000_000;

/// Returns the unit of numbers in a column whose name suggests the unit `default_unit`, and whose
/// first value is `first`.
///
/// A value that would be a Unix time after the year 2000 in a smaller unit has that unit, because
/// it would be thousands of years in the default unit. A value with a fraction that would be a Unix
/// time in seconds is in seconds, because times in smaller units are integers.
pub(crate) fn unit_of(default_unit: TimeUnit, first: f64) -> TimeUnit {
    const YEAR_2000_SECONDS: f64 = 946_684_800.0;
    const YEAR_2100_SECONDS: f64 = 4_102_444_800.0;
    let is_seconds = (YEAR_2000_SECONDS..YEAR_2100_SECONDS).contains(&first);
    if is_seconds && first.fract() != 0.0 {
        return TimeUnit::Seconds;
    }
    let smaller_units =
        [(TimeUnit::Nanos, 1e9), (TimeUnit::Micros, 1e6), (TimeUnit::Millis, 1e3)];
    let unit = smaller_units.into_iter().find(|(unit, scale)| {
        *unit > default_unit && first >= YEAR_2000_SECONDS * scale
    });
    unit.map_or(default_unit, |(unit, _)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_follows_from_the_name_and_the_first_value() {
        use TimeUnit::{Micros, Millis, Nanos, Seconds};
        // The unit of the name, the first value, and the unit of the column.
        for (unit_of_name, first_value, unit) in [
            (Micros, 5_020_174.0, Micros),
            // `date -u -d 2024-06-01 +%s` is 1717200000, but also half an hour in microseconds.
            (Micros, 1_717_200_000.0, Micros),
            (Micros, 1_717_200_000.25, Seconds),
            (Micros, 1_717_200_000e6, Micros),
            (Micros, 1_717_200_000e9, Nanos),
            (Seconds, 1_717_200_000.0, Seconds),
            (Seconds, 1_717_200_000e3, Millis),
            (Seconds, 1_717_200_000e6, Micros),
            (Seconds, 1_717_200_000e9, Nanos),
            (Nanos, 5.0, Nanos),
        ] {
            let actual = unit_of(unit_of_name, first_value);
            assert_eq!(actual, unit, "{unit_of_name:?} {first_value}");
        }
    }

    #[test]
    fn name_of_a_chosen_column_may_contain_colons() {
        let parse = |text: &str| text.parse::<TimeColumnChoice>().unwrap();
        assert_eq!(parse("a:b").name, "a:b");
        assert_eq!(parse("a:b:ns").unit, Some(TimeUnit::Nanos));
        assert!(":s".parse::<TimeColumnChoice>().is_err());
    }

    #[test]
    fn names_of_time_columns_match_in_any_case() {
        let names = ["x", "Time", "TIMESTAMP"].map(str::to_owned);
        let indices: Vec<usize> =
            candidates(&names).iter().map(|candidate| candidate.0).collect();
        assert_eq!(indices, [2, 1]);
        let err = without_time_column(&names).to_string();
        assert!(err.contains("x, Time, TIMESTAMP"), "{err}");
    }
}
