//! Errors of the crates below, as errors of ours that say which file.

use std::path::Path;

use arrow_schema::ArrowError;
use logtool_core::{Error, ErrorKind};
use parquet::errors::ParquetError;

/// The error of having failed to `do_what` with the file at `path`.
pub(crate) fn at_path(do_what: &str, path: &Path, err: std::io::Error) -> Error {
    let what = format!("cannot {do_what} {}", path.display());
    Error::new(ErrorKind::Io, what).from_source(err)
}

/// The error of a table that Arrow's own code cannot write.
pub(crate) fn from_arrow(err: ArrowError) -> Error {
    match err {
        ArrowError::IoError(_, err) => Error::from(err),
        err => Error::new(ErrorKind::Unsupported, "a table that cannot be written")
            .from_source(err),
    }
}

/// The error of a table that the Parquet code cannot write.
pub(crate) fn from_parquet(err: ParquetError) -> Error {
    match err {
        ParquetError::External(err) => match err.downcast::<std::io::Error>() {
            Ok(err) => Error::from(*err),
            Err(err) => {
                Error::new(ErrorKind::Io, "Parquet cannot be written").from_source(err)
            }
        },
        err => Error::new(ErrorKind::Unsupported, "a table that cannot be written")
            .from_source(err),
    }
}
