//! The error type of all crates.
//!
//! This module depends on no other module, so that all others can use it without cycles.

use std::{borrow::Cow, error, fmt, io};

/// A result with the error type [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a log could not be opened, read or written at all.
///
/// Corrupt bytes are not an error: they are reported as [`Damage`](crate::Damage).
///
/// ```
/// use logtool_core::{Error, ErrorKind};
///
/// let err = Error::new(ErrorKind::Limit, "a record of 9 GiB").with_offset(1_024);
/// assert_eq!(err.to_string(), "limit exceeded at byte 1024: a record of 9 GiB");
/// assert_eq!(err.offset(), Some(1_024));
/// ```
pub struct Error(Box<ErrorDetails>);

#[derive(Debug)]
struct ErrorDetails {
    kind: ErrorKind,
    message: Cow<'static, str>,
    offset: Option<u64>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The kind of an [`Error`], on which a caller can act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system reported an error.
    #[error("input or output failed")]
    Io,
    /// The file does not have a known format.
    #[error("not a known log")]
    Unrecognized,
    /// An essential part of the file is damaged.
    #[error("malformed log")]
    Malformed,
    /// The file is sound, but uses an unsupported feature.
    #[error("not supported")]
    Unsupported,
    /// The log is encrypted, and the caller provided no key.
    #[error("not supported")]
    NeedsKey,
    /// The log declares that readers without a certain feature cannot read it.
    /// [`OpenOptions::force`](crate::OpenOptions::force) reads it as far as possible.
    #[error("not supported")]
    IncompatibleFlag,
    /// The messages have an encoding that the output format cannot store.
    #[error("not supported")]
    UnsuitableEncoding,
    /// The output exists, and the caller did not allow replacing it.
    #[error("the output exists")]
    AlreadyExists,
    /// The operation would exceed a limit, e.g. of memory.
    #[error("limit exceeded")]
    Limit,
    /// The log does not contain the requested item.
    #[error("not found")]
    NoSuch,
}

impl ErrorKind {
    /// Returns whether messages of this kind are complete without the name of the kind: they state
    /// what does not exist or is not possible.
    fn is_stated_by_message(self) -> bool {
        matches!(
            self,
            Self::Unsupported
                | Self::NeedsKey
                | Self::IncompatibleFlag
                | Self::UnsuitableEncoding
                | Self::NoSuch
        )
    }
}

impl Error {
    /// Creates an error of `kind`. `message` describes the failed operation or the problem.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ErrorDetails {
            kind,
            message: message.into(),
            offset: None,
            source: None,
        }))
    }

    /// Sets the `offset` in the file, unless it is already set.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Sets the underlying error.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message without the kind and the offset. It is empty if the
    /// [source](error::Error::source) describes the problem completely.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the offset in the file, if the error has one.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

impl From<io::Error> for Error {
    fn from(err: io::Error) -> Self {
        // The source describes the problem completely.
        Self::new(ErrorKind::Io, "").with_source(err)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorDetails { kind, message, offset, .. } = &*self.0;
        if kind.is_stated_by_message() && !message.is_empty() {
            f.write_str(message)?;
            return match offset {
                Some(offset) => write!(f, " (at byte {offset})"),
                None => Ok(()),
            };
        }
        write!(f, "{kind}")?;
        if let Some(offset) = offset {
            write!(f, " at byte {offset}")?;
        }
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_deref().map(|err| err as _)
    }
}

/// Describes an error of the operating system in plain words, without its number, as the end of a
/// sentence. Other errors are described by their own message.
///
/// ```
/// use std::fs::File;
///
/// let missing = File::open("missing.yaml").unwrap_err();
/// assert_eq!(logtool_core::describe_io_error(&missing), "there is no such file");
/// ```
pub fn describe_io_error(err: &io::Error) -> String {
    use io::ErrorKind as Kind;

    let message = err.to_string();
    if err.get_ref().is_some() {
        return message;
    }
    let description = match err.kind() {
        Kind::NotFound => "there is no such file",
        Kind::PermissionDenied => "permission denied",
        Kind::IsADirectory => "it is a folder",
        Kind::NotADirectory => "a part of its path is not a folder",
        Kind::StorageFull => "no space left on the disk",
        Kind::QuotaExceeded => "the disk quota is exceeded",
        Kind::FileTooLarge => {
            "the file would be larger than `ulimit -f` or the file system allows"
        }
        Kind::ReadOnlyFilesystem => "the file system is read-only",
        Kind::InvalidFilename => "the name is too long, or is not allowed",
        _ => {
            let Some(errno) = err.raw_os_error() else { return message };
            let suffix = format!(" (os error {errno})");
            let message = message.strip_suffix(&suffix).unwrap_or(&message);
            let mut chars = message.chars();
            return match chars.next() {
                Some(first) => first.to_lowercase().chain(chars).collect(),
                None => String::new(),
            };
        }
    };
    description.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn io_errors_are_described_without_numbers() {
        // The numbers of Linux and macOS (errno.h).
        for (errno, description) in [
            (2, "there is no such file"),
            (5, "input/output error"),
            (13, "permission denied"),
            (21, "it is a folder"),
            (24, "too many open files"),
            (27, "the file would be larger than `ulimit -f` or the file system allows"),
            (28, "no space left on the disk"),
            (30, "the file system is read-only"),
        ] {
            let err = io::Error::from_raw_os_error(errno);
            assert_eq!(describe_io_error(&err), description);
        }
        assert_eq!(describe_io_error(&io::Error::other("As It Is")), "As It Is");
    }

    #[test]
    fn display_omits_a_kind_that_the_message_states() {
        let err = Error::new(ErrorKind::NoSuch, "unknown lidar model \"x\"");
        assert_eq!(err.to_string(), "unknown lidar model \"x\"");
        let err = Error::new(ErrorKind::Unsupported, "the version is 3").with_offset(7);
        assert_eq!(err.to_string(), "the version is 3 (at byte 7)");
        let err = Error::new(ErrorKind::Malformed, "the version is 3").with_offset(7);
        assert_eq!(err.to_string(), "malformed log at byte 7: the version is 3");
    }

    #[test]
    fn display_omits_an_empty_message() {
        let err = Error::from(io::Error::other("x")).with_offset(7);
        assert_eq!(err.to_string(), "input or output failed at byte 7");
        let source = error::Error::source(&err).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("x"));
    }
}
