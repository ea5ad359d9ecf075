//! Colour: `--color`, `NO_COLOR`, `CLICOLOR_FORCE`, or else terminals only.

use std::{
    env,
    io::{self, IsTerminal as _},
    sync::atomic::{AtomicUsize, Ordering},
};

use clap::ValueEnum;
use logtool::text_style::TextStyle;

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
pub(crate) fn clap_choice() -> clap::ColorChoice {
    if for_stderr() == TextStyle::Terminal {
        clap::ColorChoice::Always
    } else {
        clap::ColorChoice::Never
    }
}

/// Returns the style of standard output.
pub(crate) fn for_stdout() -> TextStyle {
    style(is_wanted(io::stdout().is_terminal()))
}

/// Returns the style of standard error.
pub(crate) fn for_stderr() -> TextStyle {
    style(is_wanted(io::stderr().is_terminal()))
}

fn style(is_colored: bool) -> TextStyle {
    if is_colored { TextStyle::Terminal } else { TextStyle::Plain }
}

/// Returns the length of the escape sequence at the start of `text`, if it is one that
/// [`TextStyle`] writes.
pub(crate) fn sequence_len(text: &str) -> Option<usize> {
    let mut sequences = TextStyle::SEQUENCES.iter();
    sequences.find(|sequence| text.starts_with(**sequence)).map(|found| found.len())
}

/// Splits off the coloured label at the start of `line` (`warning:`), if it has one.
pub(crate) fn split_label(line: &str) -> (&str, &str) {
    let painted = || {
        let text = line.get(sequence_len(line)?..)?;
        let (label, rest) = text.split_once(TextStyle::RESET)?;
        let is_word = |label: &str| label.chars().all(|c| c.is_ascii_alphabetic());
        label.strip_suffix(':').filter(|label| is_word(label))?;
        line.split_at_checked(line.len() - rest.len())
    };
    painted().unwrap_or(("", line))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_label_returns_a_coloured_label_only() {
        let paint = TextStyle::Terminal;
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
