//! Errors of requests, and whether a retry may succeed.
//!
//! `object_store` 0.13 has variants for the statuses 304, 401, 403, 404, 409 and 412. For all
//! others it returns `Error::Generic`, whose source is the private type `RetryError`: the module
//! `client::retry` is not public, so other crates cannot downcast to the type or call its method
//! `status`. Errors of token requests are wrapped in private types, too. Therefore this module
//! parses the texts of errors; no other module does. Errors without a response contain the public
//! type [`HttpError`], so their texts are not needed.

use std::io;

use object_store::client::{HttpError, HttpErrorKind};

/// The error of a request, with the possible effect of a retry.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A retry would fail, too.
    Permanent(io::Error),
    /// A retry may succeed.
    Transient(io::Error),
}

/// Returns the error of an invalid request of the caller.
pub(crate) fn invalid_request(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

impl Failure {
    /// Returns the error without its classification.
    pub(crate) fn into_error(self) -> io::Error {
        match self {
            Self::Permanent(err) | Self::Transient(err) => err,
        }
    }

    /// Returns the error for an object that was replaced after it was opened.
    pub(crate) fn object_changed() -> Self {
        let message = "the object was changed while it was being read";
        Self::Permanent(io::Error::other(message))
    }

    /// Returns the error if there are no credentials, neither in the environment nor from the
    /// metadata service of the machine.
    fn no_credentials(err: &object_store::Error) -> Self {
        let response = status(err).map(|(code, name)| format!("{code} {name}"));
        let message = format!(
            "no credentials in the environment, and none from the metadata service of this \
             machine: {}",
            response.unwrap_or_else(|| root_cause(err))
        );
        Self::Transient(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }

    /// Returns the error for a response with the HTTP status `code`, which is called `name`.
    pub(crate) fn from_status(code: u16, name: &str) -> Self {
        let permanent = |kind, message: &str| {
            Self::Permanent(io::Error::new(kind, message.to_owned()))
        };
        let answer = format!("the server answers {code} {name}");
        match code {
            401 => permanent(
                io::ErrorKind::PermissionDenied,
                "the server requires valid credentials (401)",
            ),
            403 => permanent(
                io::ErrorKind::PermissionDenied,
                "the server denies access to it (403)",
            ),
            404 => permanent(io::ErrorKind::NotFound, "there is no such object"),
            416 => permanent(
                io::ErrorKind::UnexpectedEof,
                "the range is not in the object",
            ),
            // Some servers answer this to requests that they do not implement.
            500 | 501 => Self::Transient(io::Error::other(answer)),
            // Timeouts, rate limits and server errors are temporary.
            408 | 429 | 502.. => {
                Self::Transient(io::Error::new(io::ErrorKind::ResourceBusy, answer))
            }
            _ => permanent(io::ErrorKind::Other, &answer),
        }
    }

    /// Returns the error for a timeout.
    pub(crate) fn timeout(message: &str) -> Self {
        Self::Transient(io::Error::new(io::ErrorKind::TimedOut, message.to_owned()))
    }
}

impl From<object_store::Error> for Failure {
    fn from(err: object_store::Error) -> Self {
        use object_store::Error as E;
        if is_token_failure(&err) {
            return Self::no_credentials(&err);
        }
        let permanent = |kind, message: &str| {
            Self::Permanent(io::Error::new(kind, message.to_owned()))
        };
        match &err {
            // The store of web servers returns this also for a refused method, e.g. HEAD.
            E::NotFound { .. } => match status(&err) {
                Some((405, name)) => Self::from_status(405, &name),
                _ => Self::from_status(404, ""),
            },
            E::PermissionDenied { .. } => Self::from_status(403, ""),
            E::Unauthenticated { .. } => Self::from_status(401, ""),
            E::Precondition { .. } => Self::object_changed(),
            E::AlreadyExists { .. } => {
                permanent(io::ErrorKind::AlreadyExists, "it exists already")
            }
            E::NotSupported { .. } | E::NotImplemented { .. } => {
                permanent(io::ErrorKind::Unsupported, &root_cause(&err))
            }
            E::InvalidPath { .. } | E::UnknownConfigurationKey { .. } => {
                permanent(io::ErrorKind::InvalidInput, &root_cause(&err))
            }
            _ => match status(&err) {
                // For objects, the store returns `NotFound` instead.
                Some((404, _)) => {
                    permanent(io::ErrorKind::NotFound, "there is no such bucket")
                }
                Some((code, name)) => Self::from_status(code, &name),
                None => {
                    let kind = if is_network_failure(&err) {
                        io::ErrorKind::NotConnected
                    } else {
                        io::ErrorKind::Other
                    };
                    Self::Transient(io::Error::new(kind, root_cause(&err)))
                }
            },
        }
    }
}

impl From<HttpError> for Failure {
    fn from(err: HttpError) -> Self {
        let kind = match is_network_failure(&err) {
            true => io::ErrorKind::NotConnected,
            false => io::ErrorKind::Other,
        };
        Self::Transient(io::Error::new(kind, root_cause(&err)))
    }
}

/// Returns the code and the name of the HTTP status of an error. They are parsed from its text (see
/// the module).
fn status(err: &object_store::Error) -> Option<(u16, String)> {
    let text = err.to_string();
    let (_, remaining) = text.split_once("status code: ")?;
    let (code, remaining) = remaining.split_at_checked(3)?;
    let name = remaining.split([':', '<', '\n']).next().unwrap_or_default();
    Some((code.parse().ok()?, name.trim().chars().take(60).collect()))
}

/// Returns whether the request for credentials failed, and not the request for the object. Machines
/// in a cloud get credentials from a metadata service.
fn is_token_failure(err: &object_store::Error) -> bool {
    const PATTERNS: [&str; 3] =
        ["performing token request", "/latest/api/token", "/latest/meta-data/iam/"];
    let text = err.to_string();
    matches!(err, object_store::Error::Generic { .. })
        && PATTERNS.iter().any(|pattern| text.contains(pattern))
}

/// Returns whether the server sent no response at all.
fn is_network_failure(err: &(dyn std::error::Error + 'static)) -> bool {
    use HttpErrorKind::{Connect, Interrupted, Request, Timeout};
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(err);
    while let Some(err) = cause {
        if let Some(err) = err.downcast_ref::<HttpError>() {
            return matches!(err.kind(), Connect | Interrupted | Request | Timeout);
        }
        cause = err.source();
    }
    false
}

/// Returns the root cause in one line, without URLs, which may contain secrets.
fn root_cause(err: &dyn std::error::Error) -> String {
    let mut cause = err;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    let words = text.split_whitespace().filter(|word| !word.contains("://"));
    let text = words.collect::<Vec<_>>().join(" ");
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_text(text: &str) -> Failure {
        let source = text.to_owned().into();
        object_store::Error::Generic { store: "S3", source }.into()
    }

    #[test]
    fn server_errors_are_retried_and_refusals_are_not() {
        let of = |status: &str| {
            let before = "Error performing GET http://h/x?sig=1 in 2ms";
            from_text(&format!(
                "{before} - Server returned non-2xx status code: {status}"
            ))
        };
        let Failure::Transient(err) = of("503 Service Unavailable: <Error>x") else {
            panic!("503 is passing")
        };
        assert_eq!(err.to_string(), "the server answers 503 Service Unavailable");
        assert_eq!(err.kind(), io::ErrorKind::ResourceBusy, "not a refusal");
        assert!(matches!(of("429 Too Many Requests: "), Failure::Transient(_)));
        assert!(matches!(of("400 Bad Request: "), Failure::Permanent(_)));
        let Failure::Permanent(err) = of("416 Range Not Satisfiable: ") else {
            panic!()
        };
        assert_eq!(err.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn refused_method_is_not_a_missing_object() {
        let of = |status: &str| {
            let text = format!(
                "Error performing HEAD http://h/x in 2ms - Server returned non-2xx status \
                 code: {status}: "
            );
            let (path, source) = ("x".to_owned(), text.into());
            Failure::from(object_store::Error::NotFound { path, source }).into_error()
        };
        assert_eq!(of("404 Not Found").kind(), io::ErrorKind::NotFound);
        let refused = of("405 Method Not Allowed");
        assert_eq!(refused.kind(), io::ErrorKind::Other);
        let text = "the server answers 405 Method Not Allowed";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn failed_token_request_is_not_a_failure_of_the_store() {
        let Failure::Transient(err) = from_text(
            "Error performing token request: Error performing GET http://h/token in 2ms \
             - Server returned non-2xx status code: 404 Not Found: ",
        ) else {
            panic!("the service may recover")
        };
        assert_eq!(err.kind(), io::ErrorKind::PermissionDenied);
        let text = err.to_string();
        assert!(
            text.contains("no credentials") && text.ends_with("404 Not Found"),
            "{text}"
        );
    }

    #[test]
    fn network_errors_are_shown_without_urls() {
        let Failure::Transient(err) = from_text("reset by http://h/x?sig=1 (peer)")
        else {
            panic!("the network is passing")
        };
        assert_eq!(err.to_string(), "reset by (peer)");
        let of = |kind| {
            let source = Box::new(HttpError::new(kind, io::Error::other("so")));
            match Failure::from(object_store::Error::Generic { store: "S3", source }) {
                Failure::Transient(err) | Failure::Permanent(err) => err.kind(),
            }
        };
        assert_eq!(of(HttpErrorKind::Connect), io::ErrorKind::NotConnected);
        assert_eq!(
            of(HttpErrorKind::Decode),
            io::ErrorKind::Other,
            "there was an answer"
        );
    }
}
