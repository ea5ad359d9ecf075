//! Escaping of text for display.

use std::mem;

/// The length in bytes of an unfinished line from which on its start is returned.
const MAX_LINE_BYTES: usize = 1 << 16;

/// Escapes `text` for display: each [unprintable](is_unprintable) character is replaced by its
/// escape (`\\u{1b}`, `\\n`). The result is one line, and all its characters are visible.
///
/// All text from a log, a file name or an option must be escaped before it is shown, on a terminal,
/// in a page or in a plot. Escaping it again changes nothing. Data in files are not escaped.
///
/// ```
/// use logtool_core::escape_unprintable;
///
/// assert_eq!(escape_unprintable("Größe\n\u{202e}gpj.exe"), "Größe\\n\\u{202e}gpj.exe");
/// ```
pub fn escape_unprintable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Returns whether `c` acts instead of being seen: it moves the cursor, starts a control sequence
/// of a terminal, ends the line, changes the direction of the text around it (Unicode's
/// bidirectional controls, UAX #9, 2), or is invisible (format characters, general category `Cf`,
/// fillers, and the noncharacters that XML forbids).
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' // soft hyphen
                | '\u{34f}' // joiner of graphemes
                | '\u{61c}' // Arabic letter mark
                | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // fillers
                | '\u{17b4}' | '\u{17b5}' // vowels that are not shown
                | '\u{180b}'..='\u{180f}' // Mongolian selectors and separator
                | '\u{200b}'..='\u{200f}' // without width, joiners, marks of direction
                | '\u{2028}'..='\u{202e}' // ends of lines, embeddings and overrides
                | '\u{2060}'..='\u{206f}' // joiner, invisible operators, isolates
                | '\u{feff}' // byte order mark
                | '\u{fff0}'..='\u{fffb}' // annotations
                | '\u{fffe}' | '\u{ffff}' // noncharacters
                | '\u{1bca0}'..='\u{1bca3}' // shorthand
                | '\u{1d173}'..='\u{1d17a}' // music
                | '\u{e0000}'..='\u{e0fff}' // tags and selectors
        )
}

/// Escapes text that arrives in pieces. Line ends and tabs stay, and so do the sequences that
/// `kept_len` knows: it returns the length of the sequence at the start of a text.
#[derive(Debug)]
pub struct TextEscaper {
    kept_len: fn(&str) -> Option<usize>,
    /// The start of a line whose end is not known yet.
    unfinished_line: Vec<u8>,
}

impl Default for TextEscaper {
    /// Creates an escaper that keeps no sequence.
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl TextEscaper {
    /// Creates an escaper that keeps the sequences of `kept_len`.
    pub fn new(kept_len: fn(&str) -> Option<usize>) -> Self {
        Self { kept_len, unfinished_line: Vec::new() }
    }

    /// Adds `bytes` to the text. Returns the lines that are complete now, and the start of a very
    /// long one.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let old_len = self.unfinished_line.len();
        self.unfinished_line.extend_from_slice(bytes);
        let end = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => old_len + end + 1,
            None if self.unfinished_line.len() > MAX_LINE_BYTES => {
                complete_characters(&self.unfinished_line)
            }
            None => return String::new(),
        };
        let next = self.unfinished_line.split_off(end);
        let lines = mem::replace(&mut self.unfinished_line, next);
        self.escape(&lines)
    }

    /// Returns the line whose end did not arrive.
    pub fn finish(&mut self) -> String {
        let line = mem::take(&mut self.unfinished_line);
        self.escape(&line)
    }

    fn escape(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        let mut escaped = String::with_capacity(text.len());
        let mut remaining = &*text;
        while let Some(c) = remaining.chars().next() {
            let kept = match c {
                '\n' | '\t' => Some(1),
                c if is_unprintable(c) => (self.kept_len)(remaining),
                c => Some(c.len_utf8()),
            };
            let (piece, next) = remaining.split_at(kept.unwrap_or(c.len_utf8()));
            match kept {
                Some(_) => escaped.push_str(piece),
                None => escaped.extend(c.escape_default()),
            }
            remaining = next;
        }
        escaped
    }
}

/// Returns the length of `text` without a character at its end that is cut.
fn complete_characters(text: &[u8]) -> usize {
    // A character has at most four bytes.
    let last = text.iter().rev().take(4).position(|byte| *byte & 0xc0 != 0x80);
    let start = text.len() - last.map_or(0, |last| last + 1);
    let is_cut = text
        .get(start..)
        .and_then(|last| std::str::from_utf8(last).err())
        .is_some_and(|err| err.error_len().is_none());
    if is_cut { start } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_act_or_are_invisible_are_escaped() {
        for (text, want) in [
            ("MPC_\u{1b}[2J", "MPC_\\u{1b}[2J"),
            ("a\nb\r\t", "a\\nb\\r\\t"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("x\u{202e}gpj.exe\u{2066}", "x\\u{202e}gpj.exe\\u{2066}"),
            ("\u{2028}\u{feff}", "\\u{2028}\\u{feff}"),
            ("a\u{200b}b\u{2060}c\u{ad}", "a\\u{200b}b\\u{2060}c\\u{ad}"),
            ("\u{e0041}\u{3164}\u{ffff}", "\\u{e0041}\\u{3164}\\u{ffff}"),
            ("Größe → 5 µm 日本 👍 עברית", "Größe → 5 µm 日本 👍 עברית"),
        ] {
            assert_eq!(escape_unprintable(text), want);
            assert_eq!(escape_unprintable(want), want);
        }
    }

    #[test]
    fn pieces_of_text_are_escaped_as_the_whole_text() {
        let text = "\u{1b}[1mname\u{1b}[0m\tGröße \u{9b}2J\n\u{202e}\u{1b}]0;x\u{7}";
        let kept_len = |text: &str| {
            let kept = ["\u{1b}[1m", "\u{1b}[0m"].into_iter();
            kept.filter(|kept| text.starts_with(kept)).map(str::len).next()
        };
        let want =
            "\u{1b}[1mname\u{1b}[0m\tGröße \\u{9b}2J\n\\u{202e}\\u{1b}]0;x\\u{7}";
        for len in 1..text.len() {
            let mut escaper = TextEscaper::new(kept_len);
            let pieces = text.as_bytes().chunks(len);
            let mut escaped: String = pieces.map(|piece| escaper.push(piece)).collect();
            escaped += &escaper.finish();
            assert_eq!(escaped, want, "pieces of {len} bytes");
        }
    }

    #[test]
    fn long_lines_are_not_collected_and_no_character_is_cut() {
        let mut escaper = TextEscaper::default();
        let text = "\u{202e}日本".repeat(50_000);
        let mut escaped = String::new();
        for piece in text.as_bytes().chunks(1000) {
            escaped += &escaper.push(piece);
            assert!(escaper.unfinished_line.len() <= MAX_LINE_BYTES);
        }
        escaped += &escaper.finish();
        assert_eq!(escaped, "\\u{202e}日本".repeat(50_000));
        // Bytes that are not UTF-8 are not waited for.
        assert_eq!(complete_characters(b"a\xff\x80\x80\x80\x80"), 6);
        assert_eq!(complete_characters(b"a\xe6\x97"), 1);
    }
}
