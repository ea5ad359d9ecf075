//! Standard output and standard error: data on the one, talk on the other.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock};

/// Writes a line to standard error; that nobody listens there is no failure.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

pub(crate) use say;

/// Whether people look at standard output.
pub(crate) fn stdout_is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Whether people look at standard error.
pub(crate) fn stderr_is_seen() -> bool {
    io::stderr().is_terminal()
}

/// Standard output, buffered: it has to be flushed.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}
