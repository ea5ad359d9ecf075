//! The one error type of the library.

mod remedy;

use std::{
    error,
    fmt::{self, Display},
    io,
    ops::Range,
};

use logtool_core::{ErrorKind as LogErrorKind, describe_io_error};

pub use self::remedy::Remedy;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a request failed: a [kind](ErrorKind), a message, the causes and perhaps a hint.
///
/// [`Display`] writes one line: the context, then the message, then the causes,
/// separated by colons.
///
/// ```
/// use logtool::{Error, ErrorKind};
///
/// let error = Error::invalid_request("the range of times is empty").context("flight.ulg");
/// assert_eq!(error.kind(), ErrorKind::InvalidRequest);
/// assert_eq!(error.to_string(), "flight.ulg: the range of times is empty");
/// ```
pub struct Error(Box<ErrorDetails>);

struct ErrorDetails {
    kind: ErrorKind,
    /// The operations that failed, the innermost first.
    contexts: Vec<Operation>,
    message: Option<String>,
    hint: Option<String>,
    remedy: Option<Remedy>,
    excerpt: Option<String>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// An operation that failed.
enum Operation {
    /// Opening the input with this name.
    Opening(String),
    /// An operation with this description.
    Other(String),
}

/// The kind of an [`Error`], which callers may act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading or writing failed.
    Io,
    /// There is no such file.
    NoSuchFile,
    /// The system does not allow to read or write the file.
    PermissionDenied,
    /// The bytes are not of a known format.
    Unrecognized,
    /// The log is broken in a place that everything else depends on.
    Malformed,
    /// The log or the request uses something that is not supported.
    Unsupported,
    /// The log is encrypted, and the session has no key.
    NeedsKey,
    /// The log states that readers without a certain feature cannot read it.
    IncompatibleFlag,
    /// The messages have an encoding that the output format cannot hold.
    UnsuitableEncoding,
    /// A limit of memory or length was exceeded.
    Limit,
    /// The log does not contain the requested data.
    NotFound,
    /// The log has no records at the selected times, so that there is nothing to draw.
    EmptySelection,
    /// The request contradicts itself, or makes no sense.
    InvalidRequest,
    /// The output exists, and the request does not allow to replace it.
    AlreadyExists,
    /// The log is damaged, and the request does not allow that.
    Damaged,
    /// Anything else.
    Other,
}

impl Error {
    /// Creates an error of `kind` with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails {
            kind,
            contexts: Vec::new(),
            message: Some(message.into()),
            hint: None,
            remedy: None,
            excerpt: None,
            source: None,
        }))
    }

    /// Creates an error of the kind [`Other`](ErrorKind::Other).
    pub fn other(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Other, message)
    }

    /// Creates an error of the kind [`InvalidRequest`](ErrorKind::InvalidRequest).
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Creates an error of the kind [`NotFound`](ErrorKind::NotFound).
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Creates an error with the message and the causes of `source`.
    pub fn from_source(
        kind: ErrorKind,
        source: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> Self {
        Self(Box::new(ErrorDetails {
            kind,
            contexts: Vec::new(),
            message: None,
            hint: None,
            remedy: None,
            excerpt: None,
            source: Some(source.into()),
        }))
    }

    /// Sets the hint: what may help, as a sentence.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the setting that helps.
    #[must_use]
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.0.remedy = Some(remedy);
        self
    }

    /// Sets the text of an expression, and the bytes in it that the error is about.
    #[must_use]
    pub(crate) fn with_excerpt(mut self, text: &str, span: Range<usize>) -> Self {
        self.0.excerpt = Some(logtool_series::excerpt(text, span));
        self
    }

    /// Adds a description of the operation, or the name of the log, to the start of the message,
    /// unless it starts with the same already.
    #[must_use]
    pub fn context(mut self, context: impl Display) -> Self {
        let context = context.to_string();
        if self.0.contexts.last().is_none_or(|last| last.subject() != context) {
            self.0.contexts.push(Operation::Other(context));
        }
        self
    }

    /// Adds to the start of the message that `name`, a log or another input, cannot be opened.
    #[must_use]
    pub fn cannot_open(mut self, name: impl Display) -> Self {
        self.0.contexts.push(Operation::Opening(name.to_string()));
        self
    }

    /// Adds the name of the log to the start of the message, unless a message of this
    /// library already explains the error.
    #[must_use]
    pub fn with_log_name(self, name: &str) -> Self {
        if self.0.message.is_some() { self } else { self.context(name) }
    }

    /// Returns the message without its outermost context, if that is the log or the input
    /// `name`: for lists that name it already.
    ///
    /// ```
    /// use logtool::Error;
    ///
    /// let error = Error::other("it is empty").cannot_open("x.bag");
    /// assert_eq!(error.to_string(), "cannot open x.bag: it is empty");
    /// assert_eq!(error.message_without_context("x.bag"), "it is empty");
    /// assert_eq!(error.message_without_context("y.bag"), error.to_string());
    /// ```
    pub fn message_without_context(&self, name: &str) -> String {
        let last = self.0.contexts.last();
        let skipped = usize::from(last.is_some_and(|last| last.subject() == name));
        let parts: Vec<String> = self.message_parts().skip(skipped).collect();
        parts.join(": ")
    }

    /// Returns the contexts, the message and the causes.
    fn message_parts(&self) -> impl Iterator<Item = String> {
        let contexts = self.0.contexts.iter().rev().map(Operation::to_string);
        let causes = self.causes().filter_map(describe_cause);
        contexts.chain(self.0.message.clone()).chain(causes)
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns what may help against the error, if that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the setting that helps against the error, if one is known.
    pub fn remedy(&self) -> Option<&Remedy> {
        self.0.remedy.as_ref()
    }

    /// Returns the expression that the error is about, with carets below its wrong part. Each
    /// line starts with a bar.
    pub fn excerpt(&self) -> Option<&str> {
        self.0.excerpt.as_deref()
    }

    /// Returns the byte offset in the log at which the error occurred, if it is known.
    pub fn offset(&self) -> Option<u64> {
        self.log_error()?.offset()
    }

    /// Returns the error of the format that caused this one, if there is one.
    pub fn log_error(&self) -> Option<&logtool_core::Error> {
        self.causes().find_map(|cause| cause.downcast_ref())
    }

    /// Returns the error of the operating system that caused this one, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.causes().find_map(|cause| cause.downcast_ref())
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn error::Error + 'static)> {
        let source = self.0.source.as_deref();
        let source = source.map(|source| source as &(dyn error::Error + 'static));
        std::iter::successors(source, |cause| cause.source())
    }
}

/// Describes one of the causes of an error; returns `None` if its own cause says all of it.
fn describe_cause(cause: &(dyn error::Error + 'static)) -> Option<String> {
    if let Some(cause) = cause.downcast_ref::<io::Error>() {
        return Some(describe_io_error(cause));
    }
    match cause.downcast_ref::<logtool_core::Error>() {
        // The name of the kind would only repeat that something failed.
        Some(cause) if cause.kind() == LogErrorKind::Io => {
            match (cause.message(), cause.offset()) {
                ("", None) if error::Error::source(cause).is_some() => None,
                ("", _) => Some(cause.to_string()),
                (what, None) => Some(what.to_owned()),
                (what, Some(offset)) => Some(format!("{what}, at byte {offset}")),
            }
        }
        _ => Some(cause.to_string()),
    }
}

impl Operation {
    /// Returns the name or the description.
    fn subject(&self) -> &str {
        match self {
            Self::Opening(subject) | Self::Other(subject) => subject,
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opening(name) => write!(f, "cannot open {name}"),
            Self::Other(description) => f.write_str(description),
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.message_parts().enumerate() {
            let separator = if index == 0 { "" } else { ": " };
            write!(f, "{separator}{part}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

// Without `source`: the causes are part of the message.
impl error::Error for Error {}

impl From<logtool_core::Error> for Error {
    fn from(error: logtool_core::Error) -> Self {
        let kind = match error.kind() {
            LogErrorKind::Io => ErrorKind::Io,
            LogErrorKind::Unrecognized => ErrorKind::Unrecognized,
            LogErrorKind::Malformed => ErrorKind::Malformed,
            LogErrorKind::Unsupported => ErrorKind::Unsupported,
            LogErrorKind::NeedsKey => ErrorKind::NeedsKey,
            LogErrorKind::IncompatibleFlag => ErrorKind::IncompatibleFlag,
            LogErrorKind::UnsuitableEncoding => ErrorKind::UnsuitableEncoding,
            LogErrorKind::AlreadyExists => {
                // The kind contains this already.
                return Self::new(ErrorKind::AlreadyExists, error.message());
            }
            LogErrorKind::Limit => ErrorKind::Limit,
            LogErrorKind::NoSuch => ErrorKind::NotFound,
            _ => ErrorKind::Other,
        };
        Self::from_source(kind, error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::from_source(ErrorKind::Io, error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() {
            // The error of the output, such as that its reader has closed it.
            return io::Error::from(error).into();
        }
        Self::from_source(ErrorKind::Malformed, error)
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::from_source(ErrorKind::Other, error)
    }
}

impl From<std::path::StripPrefixError> for Error {
    fn from(error: std::path::StripPrefixError) -> Self {
        Self::from_source(ErrorKind::Other, error)
    }
}

/// Adds context to the error of a result, or turns `None` into an error.
pub trait Context<T> {
    /// Adds a description of the operation.
    ///
    /// # Errors
    /// The error of the result with that context, or an error for `None`.
    fn context(self, context: impl Display) -> Result<T>;

    /// Adds a description of the operation, which is only computed for an error.
    ///
    /// # Errors
    /// As [`context`](Self::context).
    fn with_context<C: Display>(self, context: impl FnOnce() -> C) -> Result<T>;

    /// Adds that `name`, a log or another input, cannot be opened.
    ///
    /// # Errors
    /// The error of the result with that context, or an error for `None`.
    fn cannot_open(self, name: impl Display) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, context: impl Display) -> Result<T> {
        self.map_err(|error| error.into().context(context))
    }

    fn with_context<C: Display>(self, context: impl FnOnce() -> C) -> Result<T> {
        self.map_err(|error| error.into().context(context()))
    }

    fn cannot_open(self, name: impl Display) -> Result<T> {
        self.map_err(|error| error.into().cannot_open(name))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, context: impl Display) -> Result<T> {
        self.ok_or_else(|| Error::other(context.to_string()))
    }

    fn with_context<C: Display>(self, context: impl FnOnce() -> C) -> Result<T> {
        self.ok_or_else(|| Error::other(context().to_string()))
    }

    fn cannot_open(self, name: impl Display) -> Result<T> {
        self.ok_or_else(|| {
            Error::other(Operation::Opening(name.to_string()).to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_writes_context_message_and_causes_in_this_order() {
        let cause = io::Error::from(io::ErrorKind::UnexpectedEof);
        let log = logtool_core::Error::new(LogErrorKind::Io, "a block").with_offset(7);
        let error = Error::from(log.with_source(cause)).context("x.bag");
        let text = "x.bag: a block, at byte 7: unexpected end of file";
        assert_eq!(error.to_string(), text);
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Io, Some(7)));
        assert_eq!(
            error.io_error().map(io::Error::kind),
            Some(io::ErrorKind::UnexpectedEof)
        );
    }

    #[test]
    fn context_is_not_repeated() {
        let error = Error::other("a").context("x.bag").context("x.bag");
        assert_eq!(error.to_string(), "x.bag: a");
        let error = Error::other("a").cannot_open("x.bag").context("x.bag");
        assert_eq!(error.to_string(), "cannot open x.bag: a");
    }

    #[cfg(unix)]
    #[test]
    fn causes_of_the_system_are_described_once_and_without_numbers() {
        // ENOSPC of Linux and macOS (errno.h).
        let full = || io::Error::from_raw_os_error(28);
        let error = Error::from(logtool_core::Error::from(full()));
        assert_eq!(error.to_string(), "no space left on the disk");
        let named = logtool_core::Error::new(LogErrorKind::Io, "cannot write a.bag");
        let error = Error::from(named.with_source(full()));
        assert_eq!(error.to_string(), "cannot write a.bag: no space left on the disk");
    }

    #[test]
    fn about_names_the_log_unless_a_message_explains_the_error() {
        let explained = Error::other("a").with_hint("b").with_log_name("x.bag");
        assert_eq!(
            (explained.to_string().as_str(), explained.hint()),
            ("a", Some("b"))
        );
        let bare = Error::from(io::Error::from(io::ErrorKind::NotFound))
            .with_log_name("x.bag");
        assert_eq!(bare.to_string(), "x.bag: there is no such file");
    }
}
