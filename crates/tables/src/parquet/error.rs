//! Converts errors and panics of the crate `parquet`.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

use logtool_core::{Error, ErrorKind, Result};
use parquet::errors::ParquetError;

thread_local! {
    /// Whether this thread is in a call whose panic is caught.
    static CATCHES_PANICS: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread is currently caught and converted to an error. A panic
/// hook can then omit its message.
pub fn catches_panics() -> bool {
    CATCHES_PANICS.get()
}

/// Calls `read`, which reads a part of a file with the crate `parquet`. That crate may panic on a
/// damaged file; the panic is converted to an error with the text `message`.
pub(super) fn read<T>(
    message: &'static str,
    read: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> Result<T> {
    let previous = CATCHES_PANICS.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CATCHES_PANICS.set(previous);
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(err)) => Err(from_parquet(message, err)),
        Err(_) => Err(Error::new(ErrorKind::Malformed, message)),
    }
}

fn from_parquet(message: &'static str, err: ParquetError) -> Error {
    let kind = match &err {
        ParquetError::NYI(_) => ErrorKind::Unsupported,
        ParquetError::External(source) if source.is::<std::io::Error>() => {
            ErrorKind::Io
        }
        _ => ErrorKind::Malformed,
    };
    Error::new(kind, message).with_source(err)
}
