//! How errors are printed, and the exit status that they lead to.

use std::{
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use logtool::{Error, ErrorKind, Result};
use serde_json::json;

use crate::{
    color,
    terminal::{self, say},
};

/// Prints the error and returns the exit status of the program.
///
/// A closed output (`logtool cat x.ulg | head`) is not a failure.
pub(crate) fn tell(err: &Error) -> ExitCode {
    if is_broken_pipe(err) {
        return ExitCode::SUCCESS;
    }
    print(err);
    match err.kind() {
        ErrorKind::InvalidRequest => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

/// Tells why something failed: one line, and one for the hint if there is one.
pub(crate) fn print(err: &Error) {
    let paint = color::for_stderr();
    say!("{} {err}", paint.red("error:"));
    let hint = err.hint().or_else(|| remedy(err.kind()));
    if let Some(hint) = hint {
        say!("{} {hint}", paint.bold("hint:"));
    }
}

/// Prints on standard output why nothing else can be printed of `file`, as a JSON object:
/// who reads one for each file finds one. Of what was typed wrong, and where nobody reads
/// any more, it prints none.
pub(crate) fn print_json(file: &Path, err: &Error) -> Result<()> {
    if is_broken_pipe(err) || err.kind() == ErrorKind::InvalidRequest {
        return Ok(());
    }
    let (file, why) = (file.display().to_string(), format!("{err}"));
    let mut out = terminal::stdout();
    serde_json::to_writer(&mut out, &json!({ "file": file, "error": why }))
        .map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Returns what may help against errors of this kind.
fn remedy(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::NeedsKey => {
            Some("--key names a file with the key, or LOGTOOL_KEY_FILE does")
        }
        ErrorKind::UnsuitableEncoding => {
            Some("`logtool convert` makes a bag of it, with messages of ROS 1")
        }
        ErrorKind::AlreadyExists => Some("--force replaces what is there"),
        _ => None,
    }
}

/// Returns whether the reader of the output has closed it.
pub(crate) fn is_broken_pipe(err: &Error) -> bool {
    err.io_error().is_some_and(|err| err.kind() == io::ErrorKind::BrokenPipe)
}
