//! Text messages of a log as lines of text, and their levels.

use std::io::Write as _;

use arrow_array::{Array as _, ArrayRef, RecordBatch, StringArray, cast::AsArray as _};
use arrow_schema::DataType;
use logtool_core::Timestamp;

use crate::{
    text::units::escape_unprintable,
    time::clock::{ShownClock, TextTime},
};

/// The level of a log message: the levels of syslog, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[allow(missing_docs)] // the names are those of syslog
pub enum LevelChoice {
    #[cfg_attr(feature = "clap", value(alias = "emerg"))]
    Emergency,
    Alert,
    #[cfg_attr(feature = "clap", value(alias = "crit"))]
    Critical,
    #[cfg_attr(feature = "clap", value(alias = "err"))]
    Error,
    #[cfg_attr(feature = "clap", value(alias = "warn"))]
    Warning,
    Notice,
    Info,
    Debug,
}

/// The names of the levels in the topics, the most urgent first, and their short names.
const LEVELS: [(LevelChoice, &str, &str); 8] = [
    (LevelChoice::Emergency, "emergency", "EMERG"),
    (LevelChoice::Alert, "alert", "ALERT"),
    (LevelChoice::Critical, "critical", "CRIT"),
    (LevelChoice::Error, "error", "ERROR"),
    (LevelChoice::Warning, "warning", "WARN"),
    (LevelChoice::Notice, "notice", "NOTICE"),
    (LevelChoice::Info, "info", "INFO"),
    (LevelChoice::Debug, "debug", "DEBUG"),
];

/// Returns whether a level called `name` is at least as urgent as `min_level`. A level of another
/// name may be urgent, and counts as such.
pub fn is_urgent(name: &str, min_level: LevelChoice) -> bool {
    let rank = |predicate: &dyn Fn(&(LevelChoice, &str, &str)) -> bool| {
        LEVELS.iter().position(predicate)
    };
    let min_level = rank(&|level| level.0 == min_level);
    rank(&|level| level.1 == name).is_none_or(|rank| Some(rank) <= min_level)
}

/// Returns the levels and the messages of a table of messages, if it is one.
pub(crate) fn columns(batch: &RecordBatch) -> Option<(StringArray, StringArray)> {
    let column = |name| strings(batch.column_by_name(name)?);
    Some((column("level")?, column("message")?))
}

/// Returns the strings of a column, if it has strings.
pub(crate) fn strings(column: &ArrayRef) -> Option<StringArray> {
    match column.data_type() {
        DataType::Utf8 => Some(column.as_string::<i32>().clone()),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let names = dictionary.values().as_string_opt::<i32>()?;
            let keys = dictionary.normalized_keys();
            let name = |(row, key): (usize, &usize)| {
                (!column.is_null(row)).then(|| names.value(*key))
            };
            Some(keys.iter().enumerate().map(name).collect())
        }
        _ => None,
    }
}

/// Appends `[00:01:02.000] WARN   text` to `line`, with the [shown](shown_time) time and
/// [text](shown_text).
pub(crate) fn write(
    clock: &ShownClock,
    time: Timestamp,
    level: &str,
    message: &str,
    line: &mut Vec<u8>,
) {
    let (time, level) = (shown_time(clock, time), short_level(level));
    // Writing to memory cannot fail.
    let _ = write!(line, "[{time}] {level:6} ");
    line.extend_from_slice(shown_text(message).as_bytes());
}

/// Returns the time of a message for people: in milliseconds on the clock of a vehicle, and as
/// exactly as it is known on other clocks, like ROS shows it.
pub(crate) fn shown_time(clock: &ShownClock, time: Timestamp) -> TextTime {
    if clock.is_vehicle_clock() { clock.text(time) } else { clock.exact_text(time) }
}

/// Returns the short name of a level, for example `WARN`.
pub(crate) fn short_level(level: &str) -> String {
    let known = LEVELS.iter().find(|(_, name, _)| *name == level);
    known.map_or_else(|| escape_unprintable(level), |(_, _, short)| (*short).to_owned())
}

/// Returns a message for people. Line ends, and other characters that act on a terminal, are
/// escaped. Colours are removed: PX4 has them in `Ready for takeoff!`.
pub(crate) fn shown_text(message: &str) -> String {
    escape_unprintable(&without_colours(message.trim_end()).replace('\t', " "))
}

/// Returns `message` without its colours.
fn without_colours(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut remaining = message;
    while let Some((before, _)) = remaining.split_once('\u{1b}') {
        text.push_str(before);
        let escape = remaining.get(before.len()..).unwrap_or_default();
        remaining = strip_colour(escape).unwrap_or_else(|| {
            text.push('\u{1b}');
            escape.get(1..).unwrap_or_default()
        });
    }
    text + remaining
}

/// Returns `text` after the escape sequence of a colour at its start, if there is one: `ESC [`,
/// numbers and `m`, which ECMA-48 calls "select graphic rendition".
fn strip_colour(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end_of_sequence =
        numbers.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    end_of_sequence.strip_prefix('m')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed_and_other_escape_sequences_are_not() {
        assert_eq!(strip_colour("\u{1b}[32mReady"), Some("Ready"));
        assert_eq!(strip_colour("\u{1b}[0m"), Some(""));
        assert_eq!(strip_colour("\u{1b}[1;31m!"), Some("!"));
        assert_eq!(strip_colour("\u{1b}[2J"), None);
        assert_eq!(strip_colour("32m"), None);
        let message = "\u{1b}[32mReady\u{1b}[0m for \u{1b}[2Jtakeoff";
        assert_eq!(without_colours(message), "Ready for \u{1b}[2Jtakeoff");
    }

    #[test]
    fn levels_at_least_as_urgent_and_unknown_levels_are_urgent() {
        assert!(is_urgent("critical", LevelChoice::Warning));
        assert!(is_urgent("warning", LevelChoice::Warning));
        assert!(!is_urgent("info", LevelChoice::Warning));
        assert!(is_urgent("level 12", LevelChoice::Warning));
    }
}
