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

/// Ends a colour.
const RESET: &str = "\x1b[0m";

/// Starts the colours that there are.
const STARTS: [&str; 4] = ["\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[33m"];

/// Returns the length of the colour command at the start of `text`, if [`Paint`] writes
/// such commands.
pub(crate) fn command_len(text: &str) -> Option<usize> {
    let commands = STARTS.iter().chain([&RESET]);
    commands
        .filter(|command| text.starts_with(**command))
        .map(|command| command.len())
        .next()
}

/// Splits off the painted label that `line` starts with (`warning:`), if it has one.
pub(crate) fn split_label(line: &str) -> (&str, &str) {
    let painted = || {
        let text = line.get(command_len(line)?..)?;
        let (label, rest) = text.split_once(RESET)?;
        let is_word = |label: &str| label.chars().all(|c| c.is_ascii_alphabetic());
        label.strip_suffix(':').filter(|label| is_word(label))?;
        line.split_at_checked(line.len() - rest.len())
    };
    painted().unwrap_or(("", line))
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
            true => Cow::Owned(format!("\x1b[{code}m{text}{RESET}")),
            false => Cow::Borrowed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_painted_label_at_the_start_is_split_off() {
        let paint = Paint { is_on: true };
        let line = format!("{} a {}", paint.yellow("warning:"), paint.red("b:"));
        let (label, rest) = split_label(&line);
        assert_eq!(label, "\x1b[33mwarning:\x1b[0m");
        assert_eq!(rest, " a \x1b[1;31mb:\x1b[0m");
        for line in
            ["warning: a", "\x1b[33mx\x1b[2Jy:\x1b[0m", "\x1b[31mwarning:\x1b[0m"]
        {
            assert_eq!(split_label(line), ("", line));
        }
    }
}
