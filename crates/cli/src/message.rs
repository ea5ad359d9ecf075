//! What a vehicle said, as people read it.

use std::io::Write as _;

use arrow_array::{Array as _, ArrayRef, RecordBatch, StringArray, cast::AsArray as _};
use arrow_schema::DataType;
use logtool_core::Timestamp;

use crate::{args::LevelChoice, clock::ShownClock};

/// The names of the levels as the topics have them, the most urgent first, and for
/// people.
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

/// Whether a level called `name` is as urgent as `least`. One that has no name is
/// shown: nobody knows how urgent it is.
pub(crate) fn is_urgent(name: &str, least: LevelChoice) -> bool {
    let rank =
        |is: &dyn Fn(&(LevelChoice, &str, &str)) -> bool| LEVELS.iter().position(is);
    let least = rank(&|level| level.0 == least);
    rank(&|level| level.1 == name).is_none_or(|rank| Some(rank) <= least)
}

/// The levels and the texts of a table of messages, if it is one.
pub(crate) fn columns(batch: &RecordBatch) -> Option<(StringArray, StringArray)> {
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

/// Appends `[00:01:02.000] WARN   text`. What a terminal would take for a command, and
/// line ends, are shown and not sent.
pub(crate) fn write(
    clock: &ShownClock,
    time: Timestamp,
    level: &str,
    message: &str,
    line: &mut Vec<u8>,
) {
    let short = LEVELS.iter().find(|(_, name, _)| *name == level);
    let short = short.map_or(level, |(_, _, short)| short);
    let _ = write!(line, "[{}] {short:6} ", clock.text(time));
    for c in message.trim_end().chars() {
        let _ = match c {
            '\t' => write!(line, " "),
            c if c.is_control() => write!(line, "{}", c.escape_default()),
            c => write!(line, "{c}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_lets_the_more_urgent_through() {
        assert!(is_urgent("critical", LevelChoice::Warning));
        assert!(is_urgent("warning", LevelChoice::Warning));
        assert!(!is_urgent("info", LevelChoice::Warning));
        assert!(is_urgent("level 12", LevelChoice::Warning));
    }
}
