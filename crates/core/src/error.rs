//! The one error of the workspace.
//!
//! This module stands on the ground: it knows no format, no topic and no sink, so that
//! every other module may use it and none of them is drawn into a circle.

use std::{borrow::Cow, error, fmt, io};

/// A result whose error is [`Error`], unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a log could not be opened, read or written at all.
///
/// Bytes that are merely corrupt are not an error: see [`Damage`](crate::Damage).
///
/// ```
/// use logtool_core::{Error, ErrorKind};
///
/// let err = Error::new(ErrorKind::Limit, "a record of 9 GiB").at(1_024);
/// assert_eq!(err.to_string(), "limit exceeded at byte 1024: a record of 9 GiB");
/// assert_eq!(err.offset(), Some(1_024));
/// ```
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    what: Cow<'static, str>,
    at: Option<u64>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The sort of an [`Error`]: what a caller might act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    #[error("input or output failed")]
    Io,
    /// The bytes are not of a known format.
    #[error("not a known log")]
    Unrecognized,
    /// The part of the file that everything else hangs on is broken.
    #[error("malformed log")]
    Malformed,
    /// The file is sound, and uses something that is not implemented.
    #[error("not supported")]
    Unsupported,
    /// The log is encrypted, and the caller gave no key.
    #[error("not supported")]
    NeedsKey,
    /// The log states that readers without a certain feature cannot read it;
    /// [`OpenOptions::force`](crate::OpenOptions::force) reads it as far as possible.
    #[error("not supported")]
    IncompatibleFlag,
    /// The messages have an encoding that the output format cannot hold.
    #[error("not supported")]
    UnsuitableEncoding,
    /// The output exists, and the caller did not allow to replace it.
    #[error("the output exists")]
    AlreadyExists,
    /// Going on would take more memory than the caller allowed.
    #[error("limit exceeded")]
    Limit,
    /// The caller asked for something that this log does not have.
    #[error("no such thing")]
    NoSuch,
}

impl Error {
    /// An error of `kind`; `what` says what was being attempted or met.
    pub fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { kind, what: what.into(), at: None, source: None }))
    }

    /// The same error, said to have been met at `offset` of the file.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.at.get_or_insert(offset);
        self
    }

    /// The same error, caused by `source`.
    #[must_use]
    pub fn from_source(
        mut self,
        source: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The sort of this error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What happened, without the sort and the place.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// Where in the file it was met, if it was met in a file.
    pub fn offset(&self) -> Option<u64> {
        self.0.at
    }
}

impl From<io::Error> for Error {
    fn from(err: io::Error) -> Self {
        Self::new(ErrorKind::Io, err.kind().to_string()).from_source(err)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        if let Some(at) = self.0.at {
            write!(f, " at byte {at}")?;
        }
        write!(f, ": {}", self.0.what)
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
