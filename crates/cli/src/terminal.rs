//! Standard output and standard error: data on the one, talk on the other.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};

use logtool::units::{acts_on_terminal, plain};

use crate::color;

/// Writes a line to standard error. Characters that act on a terminal are escaped. Errors of
/// writing are ignored.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::terminal::print_line(&format!($($text)*))
    };
}

pub(crate) use say;

/// Writes `line` to standard error. Only the painted label at its start stays painted.
pub(crate) fn print_line(line: &str) {
    let (label, text) = match stderr_is_seen() {
        true => color::split_label(line),
        false => ("", line),
    };
    let _ = writeln!(io::stderr(), "{label}{}", plain(text));
}

/// Whether people look at standard output.
pub(crate) fn stdout_is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Whether people look at standard error.
pub(crate) fn stderr_is_seen() -> bool {
    io::stderr().is_terminal()
}

/// Standard output, buffered: it has to be flushed.
pub(crate) type Stdout = BufWriter<Escaped<StdoutLock<'static>>>;

/// Returns standard output. On a terminal, characters that act on it are escaped, except
/// line ends, tabs and our own colours.
pub(crate) fn stdout() -> Stdout {
    let (is_on, out) = (stdout_is_seen(), io::stdout().lock());
    BufWriter::with_capacity(1 << 16, Escaped { out, is_on, rest: Vec::new() })
}

/// A writer that escapes the characters that act on a terminal, if `is_on`.
#[derive(Debug)]
pub(crate) struct Escaped<W> {
    out: W,
    is_on: bool,
    /// The start of a line whose end has not come yet.
    rest: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    fn write_escaped(&mut self, text: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(text);
        let mut escaped = String::with_capacity(text.len());
        let mut left = &*text;
        while let Some(c) = left.chars().next() {
            let colour = color::sequence_len(left);
            let is_text = colour.is_some() || matches!(c, '\n' | '\t');
            let (piece, more) = left.split_at(colour.unwrap_or(c.len_utf8()));
            match acts_on_terminal(c) && !is_text {
                true => escaped.push_str(&plain(piece)),
                false => escaped.push_str(piece),
            }
            left = more;
        }
        self.out.write_all(escaped.as_bytes())
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_on {
            return self.out.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        if let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') {
            let next = self.rest.split_off(end + 1);
            let lines = std::mem::replace(&mut self.rest, next);
            self.write_escaped(&lines)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        self.write_escaped(&rest)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_lines_tabs_and_our_colours_and_nothing_else_that_acts_on_it() {
        let written = |is_on| {
            let mut out = Escaped { out: Vec::new(), is_on, rest: Vec::new() };
            for piece in ["\x1b[1mname", "\x1b[0m\t\u{9b}2", "J\n\x1b]0;", "x\x07"] {
                out.write_all(piece.as_bytes()).unwrap();
            }
            out.flush().unwrap();
            String::from_utf8(out.out).unwrap()
        };
        let want = "\x1b[1mname\x1b[0m\t\\u{9b}2J\n\\u{1b}]0;x\\u{7}";
        assert_eq!(written(true), want);
        assert_eq!(written(false), "\x1b[1mname\x1b[0m\t\u{9b}2J\n\x1b]0;x\x07");
    }
}
