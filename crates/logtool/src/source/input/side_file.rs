//! Files that a request names in addition to its logs, such as calibrations, keys and lists.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use logtool_core::open_regular_file;

use crate::error::{Context as _, Error, ErrorKind, Result};

/// Opens the regular file at `path`, or one that is open already, such as `/dev/stdin`. `what` describes it, such as "the calibration".
///
/// # Errors
/// As [`read`], except `Limit`.
pub fn open(path: &Path, what: &str) -> Result<File> {
    let file = open_regular_file(path).map_err(cannot_open);
    file.with_context(|| cannot_read(path, what))
}

/// Reads the file at `path`, which may have up to `max_bytes`. `what` describes it, such as "the
/// calibration".
///
/// # Errors
/// `NoSuchFile` and `PermissionDenied` if the system reports these, `Limit` if the file is
/// longer, and `Io` if it cannot be read. All messages name the file, and what it is:
/// "cannot read the calibration db.xml: there is no such file". A pipe is not waited for.
pub fn read(path: &Path, what: &str, max_bytes: u64) -> Result<Vec<u8>> {
    let file = open(path, what)?;
    let mut bytes = Vec::new();
    let read = file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
    read.with_context(|| cannot_read(path, what))?;
    if bytes.len() as u64 > max_bytes {
        let error = Error::new(ErrorKind::Limit, "the file is too long");
        return Err(error.context(cannot_read(path, what)));
    }
    Ok(bytes)
}

/// Returns the error of a file that cannot be opened.
pub(super) fn cannot_open(err: io::Error) -> Error {
    match err.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NoSuchFile, "there is no such file")
        }
        io::ErrorKind::PermissionDenied => {
            Error::new(ErrorKind::PermissionDenied, "permission denied")
                .with_hint("check its permissions")
        }
        _ => err.into(),
    }
}

fn cannot_read(path: &Path, what: &str) -> String {
    format!("cannot read {what} {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_file_and_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("x.yaml");
        let error = read(&missing, "the calibration", 9).unwrap_err();
        let text = format!(
            "cannot read the calibration {}: there is no such file",
            missing.display()
        );
        assert_eq!((error.to_string(), error.kind()), (text, ErrorKind::NoSuchFile));
    }

    #[test]
    fn files_are_read_up_to_their_maximum_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, b"123").unwrap();
        assert_eq!(read(&path, "the key", 3).unwrap(), b"123");
        assert_eq!(read(&path, "the key", 2).unwrap_err().kind(), ErrorKind::Limit);
    }
}
