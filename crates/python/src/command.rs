//! The command.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `logtool` with `arguments`, which start with the name of the program, and
/// returns its exit status.
///
/// The process must do nothing else: the command handles signals, and may end the process.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> i32 {
    py.detach(|| logtool_cli::run(arguments))
}
