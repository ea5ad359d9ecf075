//! Formats numbers and strings for users.

use std::{borrow::Cow, fmt};

pub use logtool_core::{escape_unprintable, is_unprintable};

/// A count, formatted as `1,234,567`.
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() * 4 / 3);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

/// A number of bytes, formatted as `999 B`, `1.23 kB`, `12.3 MB`.
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
        if self.0 < 1000 {
            return f.pad(&format!("{} B", self.0));
        }
        let (mut value, mut unit) = (self.0 as f64 / 1e3, 0);
        while value >= 999.5 && unit + 1 < UNITS.len() {
            (value, unit) = (value / 1e3, unit + 1);
        }
        let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        f.pad(&format!("{value:.decimals$} {}", UNITS[unit]))
    }
}

/// A duration in nanoseconds, formatted as `1.19 s`, `3 min 17.1 s`, `2 h 3 min 4 s`.
pub struct Span(pub u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 + 50_000_000) / 100_000_000;
        let (hours, minutes) = (tenths / 36_000, tenths / 600 % 60);
        let seconds = tenths % 600;
        let text = match (hours, minutes) {
            (0, 0) if self.0 == 0 => "0 s".to_owned(),
            (0, 0) if self.0 < 1_000_000 => format!("{:.3} ms", self.0 as f64 / 1e6),
            (0, 0) if self.0 < 10_000_000_000 => {
                format!("{:.3} s", self.0 as f64 / 1e9)
            }
            (0, 0) => format!("{}.{} s", seconds / 10, seconds % 10),
            (0, _) => format!("{minutes} min {}.{} s", seconds / 10, seconds % 10),
            _ => format!("{hours} h {minutes} min {} s", seconds / 10),
        };
        f.pad(&text)
    }
}

/// A rate, formatted as `250`, `49.8`, `1.05`, `0.0021`.
pub struct Rate(pub f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match self.0 {
            rate if rate >= 99.95 => 0,
            rate if rate >= 9.995 => 1,
            rate if rate >= 0.0995 => 2,
            _ => 4,
        };
        f.pad(&format!("{:.decimals$}", self.0))
    }
}

/// Formats a count with a noun: `1 topic`, `2 topics`.
pub fn count_of(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", Count(count))
}

/// Shortens `text` to at most `max_chars` characters by removing its middle.
pub fn shorten_middle(text: &str, max_chars: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= max_chars {
        return Cow::Borrowed(text);
    }
    let (before, after) = (max_chars / 2, max_chars.saturating_sub(max_chars / 2 + 1));
    let start = text.chars().take(before);
    let end = text.chars().skip(count - after);
    Cow::Owned(start.chain(['…']).chain(end).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_shortened_in_the_middle() {
        assert_eq!(shorten_middle("/a/long/name", 12), "/a/long/name");
        assert_eq!(shorten_middle("/a/long/name", 7), "/a/…ame");
        assert_eq!(shorten_middle("ääääää", 3), "ä…ä");
    }

    #[test]
    fn numbers_have_three_digits_and_are_rounded() {
        assert_eq!(Count(1_234_567).to_string(), "1,234,567");
        assert_eq!(Count(123).to_string(), "123");
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(1_234).to_string(), "1.23 kB");
        assert_eq!(Bytes(999_999).to_string(), "1.00 MB");
        assert_eq!(Bytes(503_500_000).to_string(), "504 MB");
        assert_eq!(Bytes(u64::MAX).to_string(), "18.4 EB");
        assert_eq!(Span(197_100_000_000).to_string(), "3 min 17.1 s");
        assert_eq!(Span(59_990_000_000).to_string(), "1 min 0.0 s");
        assert_eq!(Span(7_384_000_000_000).to_string(), "2 h 3 min 4 s");
        assert_eq!(Span(1_190_000_000).to_string(), "1.190 s");
        assert_eq!(Span(2_000).to_string(), "0.002 ms");
        assert_eq!(Span(0).to_string(), "0 s");
        assert_eq!(Rate(249.97).to_string(), "250");
        assert_eq!(Rate(49.83).to_string(), "49.8");
        assert_eq!(count_of(1, "topic"), "1 topic");
    }
}
