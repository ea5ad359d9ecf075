//! How urgent a line of a log is: the eight levels of syslog, which PX4 took over.

use std::{borrow::Cow, fmt};

/// How urgent a message or an event is; the smaller, the more so.
///
/// Levels 0 to 7 are those of syslog (RFC 5424, section 6.2.1), and the only ones that
/// the ULog specification allows in a logged message. Events know two more: `protocol`
/// (8, part of an exchange with a ground station, not meant to be shown) and `disabled`
/// (9, not meant for this side at all), so named by libevents.
///
/// ```
/// use logtool_ulog::Level;
///
/// assert_eq!(Level::from_log_byte(b'4').name(), "warning");
/// assert!(Level::from_log_byte(b'2') < Level::WARNING);
/// assert_eq!(Level::new(12).to_string(), "level 12");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

impl Level {
    /// Something is wrong; the flight goes on.
    pub const WARNING: Self = Self(4);
    /// The last level that is meant for people; see [`Level`] about what follows.
    pub const DEBUG: Self = Self(7);

    /// The level of this number.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// The level byte of a logged message (`L` and `C`).
    ///
    /// The specification says an ASCII digit, `'0'` to `'7'`; raw numbers 0 to 7 occur
    /// in files, too. Any other byte stays the number that it is.
    pub const fn from_log_byte(byte: u8) -> Self {
        match byte {
            b'0'..=b'7' => Self(byte - b'0'),
            _ => Self(byte),
        }
    }

    /// The number, 0 (emergency) to 7 (debug), or whatever the file had instead.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The name in lower case, or `level N` for a number without a name.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self.0 {
            0 => "emergency",
            1 => "alert",
            2 => "critical",
            3 => "error",
            4 => "warning",
            5 => "notice",
            6 => "info",
            7 => "debug",
            8 => "protocol",
            9 => "disabled",
            number => return Cow::Owned(format!("level {number}")),
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digit_and_a_raw_number_name_the_same_level() {
        for (digit, raw) in (b'0'..=b'7').zip(0..=7) {
            assert_eq!(Level::from_log_byte(digit), Level::from_log_byte(raw));
        }
        assert_eq!(Level::from_log_byte(b'0').name(), "emergency");
        assert_eq!(Level::from_log_byte(7).name(), "debug");
    }

    #[test]
    fn a_byte_outside_the_specification_keeps_its_number() {
        assert_eq!(Level::from_log_byte(b'8').name(), "level 56");
        assert_eq!(Level::from_log_byte(255).number(), 255);
    }

    #[test]
    fn the_two_levels_of_events_beyond_debug_have_names() {
        assert_eq!(Level::new(8).name(), "protocol");
        assert_eq!(Level::new(9).name(), "disabled");
        assert_eq!(Level::new(15).name(), "level 15");
    }
}
