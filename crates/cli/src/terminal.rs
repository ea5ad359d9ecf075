//! Standard output for data, and standard error for messages.

pub(crate) mod color;
pub(crate) mod pager;
pub(crate) mod wrap;

use std::io::{self, BufWriter, IsTerminal as _, Write};

use logtool::{text_style::TextStyle, units::escape_unprintable};
use logtool_core::{TextEscaper, describe_io_error};

/// Writes a line to standard error. Unprintable characters are escaped. Errors of
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
    let line = format!("{label}{}\n", escape_unprintable(text));
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

/// Returns standard output. On a terminal, unprintable characters are escaped, except
/// line ends, tabs and our own colours.
pub(crate) fn stdout() -> Stdout {
    let escaper = stdout_is_seen().then(|| TextEscaper::new(color::sequence_len));
    BufWriter::with_capacity(1 << 16, EscapingWriter { out: TerminalOutput, escaper })
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

/// A writer that escapes text, if it has an escaper.
#[derive(Debug)]
pub(crate) struct EscapingWriter<W> {
    out: W,
    escaper: Option<TextEscaper>,
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(escaper) = &mut self.escaper else { return self.out.write(bytes) };
        self.out.write_all(escaper.push(bytes).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(escaper) = &mut self.escaper {
            self.out.write_all(escaper.finish().as_bytes())?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_output_keeps_lines_tabs_and_colours_and_escapes_other_controls() {
        let written = |is_terminal: bool| {
            let escaper = is_terminal.then(|| TextEscaper::new(color::sequence_len));
            let mut out = EscapingWriter { out: Vec::new(), escaper };
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
