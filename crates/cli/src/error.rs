//! How errors are printed, and the exit status that they lead to.

use std::{
    io::{self, Write as _},
    path::Path,
};

use logtool::{Error, ErrorKind, Result};
use serde_json::json;

use crate::{
    exit_status::Outcome,
    remedies,
    terminal::{self, color, say},
};

/// Prints the error and returns the exit status of the program.
///
/// A closed output (`logtool cat x.ulg | head`) is not a failure, and a selection without records
/// is a warning, which is not printed if `is_quiet`.
pub(crate) fn exit_status(err: &Error, is_quiet: bool) -> i32 {
    match err.kind() {
        _ if is_broken_pipe(err) => return 0,
        ErrorKind::EmptySelection if is_quiet => return 0,
        _ => print(err),
    }
    match err.kind() {
        ErrorKind::EmptySelection => 0,
        ErrorKind::InvalidRequest => 2,
        _ => 1,
    }
}

/// Prints the error with one of several inputs, and returns the outcome of the command.
pub(crate) fn print_one_of_several(err: &Error) -> Outcome {
    print(err);
    match err.kind() {
        ErrorKind::EmptySelection => Outcome::Done,
        _ => Outcome::Failed,
    }
}

/// Prints the error, the expression with carets below the place of the error if it has one, and
/// its hint on the last line.
pub(crate) fn print(err: &Error) {
    let paint = color::for_stderr();
    let label = match err.kind() {
        ErrorKind::EmptySelection => paint.yellow("warning:"),
        _ => paint.red("error:"),
    };
    say!("{label} {err}");
    err.excerpt().into_iter().flat_map(str::lines).for_each(|line| say!("{line}"));
    let hint = err.hint().map(str::to_owned);
    let hint = hint.or_else(|| err.remedy().and_then(remedies::text));
    let hint = hint.or_else(|| remedies::for_kind(err.kind()).map(str::to_owned));
    if let Some(hint) = hint {
        say!("{} {hint}", paint.bold("hint:"));
    }
}

/// Prints the error about `file` as a JSON object on standard output, so that readers get one
/// object for each file. Nothing is printed for wrong usage, or if the output is closed.
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

/// Returns whether the reader of the output has closed it.
pub(crate) fn is_broken_pipe(err: &Error) -> bool {
    err.io_error().is_some_and(|err| err.kind() == io::ErrorKind::BrokenPipe)
}
