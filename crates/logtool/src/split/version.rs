//! The version of a file: a split can only be read from the file that was planned.

use std::{fs, path::Path, time::UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    source::{input::url, remote, session::Session},
};

/// The length and the time of the last change of a file or an object of a store, and the entity
/// tag of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileVersion {
    bytes: u64,
    /// In nanoseconds of Unix time, if it is known.
    modified_ns: Option<i64>,
    /// The entity tag or the version of an object, if the server states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

impl FileVersion {
    /// Returns the version of the file, or of the object of a store, at `path`.
    pub(super) fn read(path: &str, session: &Session) -> Result<Self> {
        if let Some(url) = url::from_path(Path::new(path)) {
            let object = remote::stat(url, session)?;
            let remote::ListedObject { bytes, modified, tag, .. } = object;
            return Ok(Self { bytes, modified_ns: modified, tag });
        }
        let metadata = fs::metadata(path)?;
        let modified = metadata.modified().ok().and_then(|time| {
            let since_epoch = time.duration_since(UNIX_EPOCH).ok()?;
            i64::try_from(since_epoch.as_nanos()).ok()
        });
        Ok(Self { bytes: metadata.len(), modified_ns: modified, tag: None })
    }

    /// Sets the length to that of the opened file, which some servers do not state before.
    pub(super) fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// Fails if the file at `path` has another version. An entity tag decides where there is
    /// one: two changes may have the same time, and copies may have other times.
    pub(super) fn check(&self, path: &str, session: &Session) -> Result<()> {
        let current = Self::read(path, session)?;
        if self.may_be(&current) { Ok(()) } else { Err(changed_error()) }
    }

    /// Returns whether the file `current` may be the file of this version.
    fn may_be(&self, current: &Self) -> bool {
        match (&current.tag, &self.tag) {
            (Some(current), Some(planned)) => current == planned,
            _ => current.modified_ns == self.modified_ns,
        }
    }

    /// Fails if the file does not have `bytes` bytes.
    pub(super) fn check_bytes(&self, bytes: u64) -> Result<()> {
        if bytes == self.bytes { Ok(()) } else { Err(changed_error()) }
    }
}

fn changed_error() -> Error {
    let message = "the file has changed since the split was planned";
    Error::new(ErrorKind::InvalidRequest, message).with_hint("plan again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_of_an_object_decides_before_its_time() {
        let version = |modified_ns, tag: Option<&str>| FileVersion {
            bytes: 7,
            modified_ns,
            tag: tag.map(str::to_owned),
        };
        let planned = version(Some(1), Some("a"));
        assert!(planned.may_be(&version(Some(2), Some("a"))));
        assert!(!planned.may_be(&version(Some(1), Some("b"))));
        assert!(planned.may_be(&version(Some(1), None)));
        assert!(!planned.may_be(&version(Some(2), None)));
        assert!(!version(None, None).may_be(&version(Some(1), None)));
    }
}
