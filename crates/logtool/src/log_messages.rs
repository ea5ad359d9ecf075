//! Formats the log messages of a vehicle for users.

use std::io::Write as _;

use arrow_array::{Array as _, ArrayRef, RecordBatch, StringArray, cast::AsArray as _};
use arrow_schema::DataType;
use logtool_core::Timestamp;

use crate::{time::clock::ShownClock, units::plain};

/// The level of a log message: the levels of syslog, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[allow(missing_docs)] // the names are those of syslog
pub enum LevelChoice {
    Emergency,
    Alert,
    Critical,
    Error,
    Warning,
    Notice,
    Info,
    Debug,
}

/// The levels, their names in topics, and their names for display, the most severe first.
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

/// Returns whether the level `name` is at least as severe as `least`. Unknown levels are shown,
/// because they may be severe.
pub fn is_urgent(name: &str, least: LevelChoice) -> bool {
    let rank =
        |is: &dyn Fn(&(LevelChoice, &str, &str)) -> bool| LEVELS.iter().position(is);
    let least = rank(&|level| level.0 == least);
    rank(&|level| level.1 == name).is_none_or(|rank| Some(rank) <= least)
}

/// Returns the levels and the texts in `batch`, if it is a table of log messages.
pub fn columns(batch: &RecordBatch) -> Option<(StringArray, StringArray)> {
    let column = |name| texts(batch.column_by_name(name)?);
    Some((column("level")?, column("message")?))
}

fn texts(column: &ArrayRef) -> Option<StringArray> {
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

/// Appends e.g. `[00:01:02.000] WARN   text`. On the clock of a vehicle, times have
/// milliseconds; on other clocks they have all known digits, like in ROS. Control characters of
/// terminals and line ends are escaped. Colours, which PX4 uses e.g. in `Ready for takeoff!`,
/// are removed.
pub fn write(
    clock: &ShownClock,
    time: Timestamp,
    level: &str,
    message: &str,
    line: &mut Vec<u8>,
) {
    let short = LEVELS.iter().find(|(_, name, _)| *name == level);
    let short = short.map_or_else(|| plain(level), |(_, _, short)| (*short).to_owned());
    let time =
        if clock.is_of_vehicle() { clock.text(time) } else { clock.exact_text(time) };
    let _ = write!(line, "[{time}] {short:6} ");
    let message = without_colours(message.trim_end()).replace('\t', " ");
    line.extend_from_slice(plain(&message).as_bytes());
}

/// Returns `message` without its colours.
fn without_colours(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, _)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        let escape = rest.get(before.len()..).unwrap_or_default();
        rest = behind_colour(escape).unwrap_or_else(|| {
            text.push('\u{1b}');
            escape.get(1..).unwrap_or_default()
        });
    }
    text + rest
}

/// Returns the text after the colour that `text` starts with, if it does. ECMA-48 calls it "select
/// graphic rendition": `ESC [`, numbers, `m`.
fn behind_colour(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let behind = numbers.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    behind.strip_prefix('m')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed_and_other_control_sequences_are_kept() {
        assert_eq!(behind_colour("\u{1b}[32mReady"), Some("Ready"));
        assert_eq!(behind_colour("\u{1b}[0m"), Some(""));
        assert_eq!(behind_colour("\u{1b}[1;31m!"), Some("!"));
        assert_eq!(behind_colour("\u{1b}[2J"), None);
        assert_eq!(behind_colour("32m"), None);
        let message = "\u{1b}[32mReady\u{1b}[0m for \u{1b}[2Jtakeoff";
        assert_eq!(without_colours(message), "Ready for \u{1b}[2Jtakeoff");
    }

    #[test]
    fn minimum_level_includes_more_severe_levels() {
        assert!(is_urgent("critical", LevelChoice::Warning));
        assert!(is_urgent("warning", LevelChoice::Warning));
        assert!(!is_urgent("info", LevelChoice::Warning));
        assert!(is_urgent("level 12", LevelChoice::Warning));
    }
}
