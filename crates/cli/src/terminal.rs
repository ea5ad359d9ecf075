//! Standard output for data, and standard error for messages.

pub(crate) mod color;
pub(crate) mod pager;
pub(crate) mod wrap;

use std::io::{self, BufWriter, IsTerminal as _, Write};

use logtool::{
    text_style::TextStyle,
    units::{acts_on_terminal, escape_terminal},
};
use logtool_core::describe_io_error;

/// Writes a line to standard error. Characters that act on a terminal are escaped. Errors of
/// writing are ignored.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::terminal::print_line(&format!($($text)*))
    };
}

pub(crate) use say;

/// Writes `line` to standard error. Only the coloured label at its start stays coloured.
pub(crate) fn print_line(line: &str) {
    let is_colored = color::for_stderr() == TextStyle::Terminal;
    let (label, text) = if is_colored { color::split_label(line) } else { ("", line) };
    let line = format!("{label}{}\n", escape_terminal(text));
    let paged = if stderr_is_seen() { pager::write(line.as_bytes()) } else { None };
    if paged.is_none() {
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// Returns whether standard output is a terminal.
pub(crate) fn stdout_is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Returns whether standard error is a terminal.
pub(crate) fn stderr_is_seen() -> bool {
    io::stderr().is_terminal()
}

/// Buffered standard output. It must be flushed.
pub(crate) type Stdout = BufWriter<EscapingWriter<TerminalOutput>>;

/// Returns standard output. On a terminal, characters that act on it are escaped, except
/// line ends, tabs and our own colours.
pub(crate) fn stdout() -> Stdout {
    let is_on = stdout_is_seen();
    BufWriter::with_capacity(
        1 << 16,
        EscapingWriter { out: TerminalOutput, is_on, unfinished_line: Vec::new() },
    )
}

/// Returns standard output for text that has nothing of a log, such as help.
pub(crate) fn unescaped_stdout() -> BufWriter<TerminalOutput> {
    BufWriter::new(TerminalOutput)
}

/// Standard output, or the pager in front of it.
#[derive(Debug)]
pub(crate) struct TerminalOutput;

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match pager::write(bytes) {
            Some(written) => written.map(|()| bytes.len()),
            None => io::stdout().write(bytes).map_err(cannot_write),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().map_err(cannot_write)
    }
}

/// Returns `err` of a write to standard output, with a message that names it.
fn cannot_write(err: io::Error) -> io::Error {
    let text = describe_io_error(&err);
    io::Error::new(err.kind(), format!("cannot write standard output: {text}"))
}

/// A writer that escapes the characters that act on a terminal, if `is_on`.
#[derive(Debug)]
pub(crate) struct EscapingWriter<W> {
    out: W,
    is_on: bool,
    /// The start of a line whose end is not written yet.
    unfinished_line: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    fn write_escaped(&mut self, text: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(text);
        let mut escaped = String::with_capacity(text.len());
        let mut remaining = &*text;
        while let Some(c) = remaining.chars().next() {
            let colour = color::sequence_len(remaining);
            let is_text = colour.is_some() || matches!(c, '\n' | '\t');
            let (piece, next) = remaining.split_at(colour.unwrap_or(c.len_utf8()));
            if acts_on_terminal(c) && !is_text {
                escaped.push_str(&escape_terminal(piece));
            } else {
                escaped.push_str(piece);
            }
            remaining = next;
        }
        self.out.write_all(escaped.as_bytes())
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_on {
            return self.out.write(bytes);
        }
        self.unfinished_line.extend_from_slice(bytes);
        if let Some(end) = self.unfinished_line.iter().rposition(|byte| *byte == b'\n')
        {
            let next = self.unfinished_line.split_off(end + 1);
            let lines = std::mem::replace(&mut self.unfinished_line, next);
            self.write_escaped(&lines)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.unfinished_line);
        self.write_escaped(&line)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_output_keeps_lines_tabs_and_colours_and_escapes_other_controls() {
        let written = |is_on| {
            let mut out =
                EscapingWriter { out: Vec::new(), is_on, unfinished_line: Vec::new() };
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
