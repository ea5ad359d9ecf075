//! Colour: on a terminal only, and not where `NO_COLOR` is set.

use std::{borrow::Cow, env};

use crate::terminal;

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

/// The paint for standard output.
pub(crate) fn for_stdout() -> Paint {
    Paint { is_on: terminal::stdout_is_seen() && is_wanted() }
}

/// The paint for standard error.
pub(crate) fn for_stderr() -> Paint {
    Paint { is_on: terminal::stderr_is_seen() && is_wanted() }
}

/// No paint.
pub(crate) const fn none() -> Paint {
    Paint { is_on: false }
}

/// See <https://no-color.org>.
fn is_wanted() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

impl Paint {
    /// For what is to stand out.
    pub(crate) fn bold<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("1", text)
    }

    /// For what is there if one looks for it.
    pub(crate) fn dim<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("2", text)
    }

    /// For failures.
    pub(crate) fn red<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("1;31", text)
    }

    /// For warnings.
    pub(crate) fn yellow<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("33", text)
    }

    fn with<'t>(&self, code: &str, text: &'t str) -> Cow<'t, str> {
        match self.is_on && !text.is_empty() {
            true => Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m")),
            false => Cow::Borrowed(text),
        }
    }
}
