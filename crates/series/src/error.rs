//! Errors in expressions.

use std::ops::Range;

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    message: String,
    span: Range<usize>,
    hint: Option<String>,
}

/// A result whose error is [`ExpressionError`].
pub type Result<T> = std::result::Result<T, ExpressionError>;

impl ExpressionError {
    /// Creates an error about the bytes `span` of the expression.
    pub fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span, hint: None }
    }

    /// Sets the hint: what may help, as a sentence.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the bytes of the expression that the error is about. They may be behind its end.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns what may help, if that is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Returns the line of `text` in which the bytes `span` start, between bars, with a caret below
/// each character of the span.
///
/// ```
/// assert_eq!(
///     logtool_series::excerpt("deg(yaw(foo))", 8..11),
///     "  |\n  | deg(yaw(foo))\n  |         ^^^",
/// );
/// ```
pub fn excerpt(text: &str, span: Range<usize>) -> String {
    let start = char_boundary(text, span.start);
    let end = char_boundary(text, span.end).max(start);
    let (before, rest) = text.split_at(start);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = rest.find('\n').map_or(text.len(), |at| start + at);
    let shown = |range: Range<usize>| text.get(range).unwrap_or_default();
    // A tab or an escape sequence would move the carets.
    let line: String = shown(line_start..line_end)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let indent = " ".repeat(shown(line_start..start).chars().count());
    let carets = shown(start..end.min(line_end)).chars().count().max(1);
    format!("  |\n  | {line}\n  | {indent}{}", "^".repeat(carets))
}

/// Returns the last byte offset at or before `at` that starts a character of `text` or ends it.
fn char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns `did you mean ...?` with those of `names` that are similar to `wanted`, or `None`.
pub(crate) fn suggestion<'n>(
    wanted: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<String> {
    // The similarity of short names is low even if only two letters are swapped.
    let score = |name: &str| match strsim::damerau_levenshtein(name, wanted) {
        0 | 1 => 1.0,
        _ => strsim::jaro_winkler(name, wanted),
    };
    let mut near: Vec<(f64, &str)> =
        names.into_iter().map(|name| (score(name), name)).collect();
    near.retain(|(score, _)| *score > 0.8);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let near: Vec<String> =
        near.into_iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
    let near = match near.as_slice() {
        [first @ .., last] if !first.is_empty() => {
            format!("{} or {last}", first.join(", "))
        }
        near => near.join(", "),
    };
    (!near.is_empty()).then(|| format!("did you mean {near}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_are_below_characters_and_not_bytes() {
        assert_eq!(excerpt("`µ.x` +", 8..8), "  |\n  | `µ.x` +\n  |        ^");
        assert_eq!(excerpt("a\tb", 2..3), "  |\n  | a b\n  |   ^");
        assert_eq!(excerpt("a +\nfoo", 4..7), "  |\n  | foo\n  | ^^^");
        // A span that is no part of the text.
        assert_eq!(excerpt("a", 7..9), "  |\n  | a\n  |  ^");
    }
}
