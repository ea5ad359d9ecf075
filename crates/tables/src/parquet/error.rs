//! Errors of the crate `parquet` as those of this one.

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

/// Returns whether a panic of this thread now is caught, and becomes an error. Programs with a panic
/// hook can leave out its message.
pub fn catches_panics() -> bool {
    CATCHES_PANICS.get()
}

/// Calls `read`, which reads a part of a file with the crate `parquet`. That crate may panic on a
/// damaged file, which is an error like others.
pub(super) fn read<T>(
    what: &'static str,
    read: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> Result<T> {
    let outer = CATCHES_PANICS.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CATCHES_PANICS.set(outer);
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(err)) => Err(from_parquet(what, err)),
        Err(_) => Err(Error::new(ErrorKind::Malformed, what)),
    }
}

fn from_parquet(what: &'static str, err: ParquetError) -> Error {
    let kind = match &err {
        ParquetError::NYI(_) => ErrorKind::Unsupported,
        ParquetError::External(source) if source.is::<std::io::Error>() => {
            ErrorKind::Io
        }
        _ => ErrorKind::Malformed,
    };
    Error::new(kind, what).with_source(err)
}
