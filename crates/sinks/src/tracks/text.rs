//! Strings and times in track files.

use std::fmt::{self, Write as _};

use crate::text::time_text::iso_second;

/// A string in XML. Characters that XML does not allow become replacement characters.
#[derive(Clone, Copy, Debug)]
pub struct XmlText<'t>(pub &'t str);

impl fmt::Display for XmlText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\t' | '\n' | '\r' => write!(f, "&#{};", u32::from(c))?,
                '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                    f.write_char('\u{fffd}')?
                }
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Nanoseconds of Unix time as ISO 8601 with microseconds, or with nanoseconds if the time is not
/// a multiple of microseconds.
pub(super) struct UtcTime(pub(super) i64);

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = iso_second(self.0.div_euclid(1_000_000_000));
        second.iter().try_for_each(|byte| f.write_char(char::from(*byte)))?;
        let fraction = self.0.rem_euclid(1_000_000_000);
        match fraction % 1_000 {
            0 => write!(f, ".{:06}Z", fraction / 1_000),
            _ => write!(f, ".{fraction:09}Z"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let text = XmlText("a<b>&\"c\"\u{1}\u{85}é\n").to_string();
        assert_eq!(text, "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}\u{85}é&#10;");
    }

    #[test]
    fn times_are_formatted_exactly() {
        assert_eq!(UtcTime(1_714_564_800_000_001_000).to_string(), TEXT);
        assert_eq!(UtcTime(-1).to_string(), "1969-12-31T23:59:59.999999999Z");
    }

    const TEXT: &str = "2024-05-01T12:00:00.000001Z";
}
