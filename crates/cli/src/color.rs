//! Colour: `--color`, `NO_COLOR`, `CLICOLOR_FORCE`, or else terminals only.

use std::{
    borrow::Cow,
    env,
    sync::atomic::{AtomicUsize, Ordering},
};

use clap::ValueEnum;

use crate::terminal;

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorMode {
    /// On terminals, unless variables decide otherwise
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The mode of the command line, as a number of [`MODES`].
static MODE: AtomicUsize = AtomicUsize::new(0);

const MODES: [ColorMode; 3] = [ColorMode::Auto, ColorMode::Always, ColorMode::Never];

/// Sets when output has colours.
pub(crate) fn set_mode(mode: ColorMode) {
    let index = MODES.iter().position(|other| *other == mode);
    MODE.store(index.unwrap_or_default(), Ordering::Relaxed);
}

fn mode() -> ColorMode {
    MODES.get(MODE.load(Ordering::Relaxed)).copied().unwrap_or_default()
}

/// Returns when clap colours its errors.
pub(crate) fn of_clap() -> clap::ColorChoice {
    if for_stderr().is_on {
        clap::ColorChoice::Always
    } else {
        clap::ColorChoice::Never
    }
}

/// Writes text with colours, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

/// Returns the paint for standard output.
pub(crate) fn for_stdout() -> Paint {
    Paint { is_on: is_wanted(terminal::stdout_is_seen()) }
}

/// Returns the paint for standard error.
pub(crate) fn for_stderr() -> Paint {
    Paint { is_on: is_wanted(terminal::stderr_is_seen()) }
}

/// Ends a colour.
const RESET: &str = "\x1b[0m";

/// The sequences that start a colour.
const STARTS: [&str; 4] = ["\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[33m"];

/// Returns the length of the colour sequence at the start of `text`, if [`Paint`] writes such
/// sequences.
pub(crate) fn command_len(text: &str) -> Option<usize> {
    let commands = STARTS.iter().chain([&RESET]);
    commands
        .filter(|command| text.starts_with(**command))
        .map(|command| command.len())
        .next()
}

/// Splits off the coloured label at the start of `line` (`warning:`), if it has one.
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

/// Returns the paint that adds no colours.
pub(crate) const fn none() -> Paint {
    Paint { is_on: false }
}

/// Returns whether a stream has colours: <https://no-color.org>,
/// <https://bixense.com/clicolors>.
fn is_wanted(is_terminal: bool) -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_forced = env::var_os("CLICOLOR_FORCE")
        .is_some_and(|value| !value.is_empty() && value != "0");
    match mode() {
        ColorMode::Always => true,
        ColorMode::Never => false,
        ColorMode::Auto if is_set("NO_COLOR") => false,
        ColorMode::Auto if is_forced => true,
        ColorMode::Auto => {
            is_terminal && env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

impl Paint {
    /// Returns whether it adds colours.
    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    /// Makes `text` bold.
    pub(crate) fn bold<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("1", text)
    }

    /// Dims secondary text.
    pub(crate) fn dim<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("2", text)
    }

    /// Colours errors.
    pub(crate) fn red<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("1;31", text)
    }

    /// Colours warnings.
    pub(crate) fn yellow<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with("33", text)
    }

    fn with<'t>(&self, code: &str, text: &'t str) -> Cow<'t, str> {
        if self.is_on && !text.is_empty() {
            Cow::Owned(format!("\x1b[{code}m{text}{RESET}"))
        } else {
            Cow::Borrowed(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_label_returns_a_coloured_label_only() {
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
