//! Errors of the library as exceptions of Python, which `logtool/_errors.py` defines.

use std::io;

use logtool::{Error, ErrorKind};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

/// Returns the exception for `err`, which occurred with the log at `path`.
pub(crate) fn to_python(py: Python<'_>, err: &Error, path: Option<&str>) -> PyErr {
    exception(py, err, path).unwrap_or_else(|err| err)
}

/// Returns the error for an argument that is not valid.
pub(crate) fn invalid(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

fn exception(py: Python<'_>, err: &Error, path: Option<&str>) -> PyResult<PyErr> {
    let details = PyDict::new(py);
    details.set_item("kind", kind(err))?;
    details.set_item("path", path)?;
    details.set_item("offset", err.offset())?;
    details.set_item("hint", err.hint())?;
    let create = py.import("logtool._errors")?.getattr("create")?;
    let message = match err.excerpt() {
        Some(excerpt) => format!("{err}\n{excerpt}"),
        None => err.to_string(),
    };
    Ok(PyErr::from_value(create.call((message,), Some(&details))?))
}

/// Returns the name of the kind of `err`.
fn kind(err: &Error) -> &'static str {
    match err.kind() {
        ErrorKind::NoSuchFile => "no_such_file",
        ErrorKind::PermissionDenied => "permission_denied",
        ErrorKind::Io => match err.io_error().map(io::Error::kind) {
            Some(io::ErrorKind::NotFound) => "no_such_file",
            Some(io::ErrorKind::PermissionDenied) => "permission_denied",
            _ => "io",
        },
        ErrorKind::Unrecognized => "unrecognized",
        ErrorKind::Malformed => "malformed",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::NeedsKey => "needs_key",
        ErrorKind::IncompatibleFlag => "incompatible_flag",
        ErrorKind::UnsuitableEncoding => "unsuitable_encoding",
        ErrorKind::Limit => "limit",
        ErrorKind::NotFound | ErrorKind::EmptySelection => "not_found",
        ErrorKind::InvalidRequest => "invalid_request",
        ErrorKind::AlreadyExists => "already_exists",
        ErrorKind::Damaged => "damaged",
        _ => "other",
    }
}
