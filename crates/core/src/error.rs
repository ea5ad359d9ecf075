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

    /// Returns the description without the kind and the offset.
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
        Self::new(ErrorKind::Io, err.kind().to_string()).with_source(err)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        if let Some(offset) = self.0.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.0.message)
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
