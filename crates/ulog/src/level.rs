//! The severity of a message: the eight levels of syslog.

use std::{borrow::Cow, fmt};

/// The severity of a message or an event. Smaller levels are more severe.
///
/// Levels 0 to 7 are those of syslog (RFC 5424, section 6.2.1). Only they are allowed
/// by the ULog specification in a logged message. Events have two more: `protocol` (8,
/// part of an exchange with a ground station, not meant for display) and `disabled` (9,
/// not meant for the ground station at all). Their names are those of libevents.
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
    /// Something is wrong, but the flight continues.
    pub const WARNING: Self = Self(4);
    /// The last level that is meant for users; see [`Level`] for the levels after it.
    pub const DEBUG: Self = Self(7);

    /// Creates a level from its number.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Converts the level byte of a logged message (`L` and `C`).
    ///
    /// The specification requires an ASCII digit, `'0'` to `'7'`; raw numbers 0 to 7
    /// occur in files, too. Any other byte is used as the number of the level.
    pub const fn from_log_byte(byte: u8) -> Self {
        match byte {
            b'0'..=b'7' => Self(byte - b'0'),
            _ => Self(byte),
        }
    }

    /// Returns the number, 0 (emergency) to 7 (debug), or the byte from the file.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the name in lower case, or `level N` for a number without a name.
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
    fn digit_and_raw_number_are_same_level() {
        for (digit, raw) in (b'0'..=b'7').zip(0..=7) {
            assert_eq!(Level::from_log_byte(digit), Level::from_log_byte(raw));
        }
        assert_eq!(Level::from_log_byte(b'0').name(), "emergency");
        assert_eq!(Level::from_log_byte(7).name(), "debug");
    }

    #[test]
    fn invalid_byte_is_used_as_number() {
        assert_eq!(Level::from_log_byte(b'8').name(), "level 56");
        assert_eq!(Level::from_log_byte(255).number(), 255);
    }

    #[test]
    fn event_levels_after_debug_have_names() {
        assert_eq!(Level::new(8).name(), "protocol");
        assert_eq!(Level::new(9).name(), "disabled");
        assert_eq!(Level::new(15).name(), "level 15");
    }
}
