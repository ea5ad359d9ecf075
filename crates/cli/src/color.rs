//! Colour: on a terminal only, and not where `NO_COLOR` is set.

use std::env;

use logtool::text_style::TextStyle;

use crate::terminal;

/// Returns the style of standard output.
pub(crate) fn for_stdout() -> TextStyle {
    style(terminal::stdout_is_seen())
}

/// Returns the style of standard error.
pub(crate) fn for_stderr() -> TextStyle {
    style(terminal::stderr_is_seen())
}

fn style(is_terminal: bool) -> TextStyle {
    if is_terminal && is_wanted() { TextStyle::Terminal } else { TextStyle::Plain }
}

/// Returns the length of the escape sequence at the start of `text`, if it is one that
/// [`TextStyle`] writes.
pub(crate) fn sequence_len(text: &str) -> Option<usize> {
    let mut sequences = TextStyle::SEQUENCES.iter();
    sequences.find(|sequence| text.starts_with(**sequence)).map(|found| found.len())
}

/// Splits off the painted label that `line` starts with (`warning:`), if it has one.
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

/// See <https://no-color.org>.
fn is_wanted() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_painted_label_at_the_start_is_split_off() {
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
