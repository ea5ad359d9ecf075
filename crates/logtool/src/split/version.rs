//! The version of a file: a split can only be read from the file that was planned.

use std::{fs, path::Path, time::UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    input::url,
    remote,
    session::Session,
};

/// The length and the time of the last change of a file or an object of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileVersion {
    bytes: u64,
    /// In nanoseconds of Unix time, if it is known.
    modified_ns: Option<i64>,
}

impl FileVersion {
    /// Returns the version of the file, or of the object of a store, at `path`.
    pub(super) fn read(path: &str, session: &Session) -> Result<Self> {
        if let Some(url) = url::from_path(Path::new(path)) {
            let object = remote::stat(url, session)?;
            return Ok(Self { bytes: object.bytes, modified_ns: object.modified });
        }
        let metadata = fs::metadata(path)?;
        let modified = metadata.modified().ok().and_then(|time| {
            let since_epoch = time.duration_since(UNIX_EPOCH).ok()?;
            i64::try_from(since_epoch.as_nanos()).ok()
        });
        Ok(Self { bytes: metadata.len(), modified_ns: modified })
    }

    /// Sets the length to that of the opened file, which some servers do not state before.
    pub(super) fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// Fails if the file at `path` has another version.
    pub(super) fn check(self, path: &str, session: &Session) -> Result<()> {
        let now = Self::read(path, session)?;
        if now.modified_ns == self.modified_ns { Ok(()) } else { Err(changed_error()) }
    }

    /// Fails if the file does not have `bytes` bytes.
    pub(super) fn check_bytes(self, bytes: u64) -> Result<()> {
        if bytes == self.bytes { Ok(()) } else { Err(changed_error()) }
    }
}

fn changed_error() -> Error {
    let what = "the file has changed since the split was planned";
    Error::new(ErrorKind::InvalidRequest, what).with_hint("plan again")
}
