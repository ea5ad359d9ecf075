//! Conversions of the errors of other crates into ours, with the path of the file.

use std::{io, path::Path};

use arrow_schema::ArrowError;
use logtool_core::{Error, ErrorKind, describe_io_error};
use parquet::errors::ParquetError;

/// Returns the error of the failed `action` on the file at `path`.
pub(crate) fn at_path(action: &str, path: &Path, err: io::Error) -> Error {
    let message = format!("cannot {action} {}", path.display());
    Error::new(ErrorKind::Io, message).with_source(err)
}

/// Returns `err` of a write to the output at `path`, with a message that names the output.
pub(crate) fn cannot_write(path: &Path, err: &io::Error) -> io::Error {
    let message =
        format!("cannot write {}: {}", path.display(), describe_io_error(err));
    io::Error::new(err.kind(), message)
}

/// Converts an error of Arrow that occurred while a table was written.
pub(crate) fn from_arrow(err: ArrowError) -> Error {
    match err {
        ArrowError::IoError(_, err) => Error::from(err),
        err => {
            Error::new(ErrorKind::Unsupported, "cannot write a table").with_source(err)
        }
    }
}

/// Converts an error of the Parquet crate that occurred while a table was written.
pub(crate) fn from_parquet(err: ParquetError) -> Error {
    match err {
        ParquetError::External(err) => match err.downcast::<io::Error>() {
            Ok(err) => Error::from(*err),
            Err(err) => {
                Error::new(ErrorKind::Io, "cannot write Parquet").with_source(err)
            }
        },
        err => {
            Error::new(ErrorKind::Unsupported, "cannot write a table").with_source(err)
        }
    }
}
