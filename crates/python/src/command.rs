//! The command.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `logtool` with `arguments`, the first of which is the name of the program,
/// and returns its exit status.
///
/// It is for a process that does nothing else: it handles signals, and may end the process.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> i32 {
    py.detach(|| logtool_cli::run(arguments))
}
