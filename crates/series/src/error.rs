//! Errors in expressions.

use std::ops::Range;

/// An error in an expression, with its position.
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
    /// Creates an error about the byte range `span` of the expression.
    pub fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span, hint: None }
    }

    /// Sets the hint, which describes a possible solution.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the byte range of the expression that the error is about. It may lie after the end
    /// of the expression.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the hint, which describes a possible solution, if there is one.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Returns the line of `text` in which the byte range `span` starts, and a second line with a caret
/// below each character of the range. Both lines start with a bar.
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
    let (preceding, following) = text.split_at(start);
    let line_start = preceding.rfind('\n').map_or(0, |index| index + 1);
    let line_end = following.find('\n').map_or(text.len(), |index| start + index);
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    // A tab or an escape sequence would shift the carets.
    let line: String = part(line_start..line_end)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let indent = " ".repeat(part(line_start..start).chars().count());
    let carets = part(start..end.min(line_end)).chars().count().max(1);
    format!("  |\n  | {line}\n  | {indent}{}", "^".repeat(carets))
}

/// Returns the last character boundary of `text` that is not after the byte offset `offset`.
fn char_boundary(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|offset| text.is_char_boundary(*offset)).unwrap_or(0)
}

/// Returns `did you mean ...?` with the names that are similar to the name `unknown`, or `None` if
/// no name is similar.
pub(crate) fn suggestion<'n>(
    unknown: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<String> {
    // The similarity of short names is low even if only two letters are swapped.
    let score = |name: &str| match strsim::damerau_levenshtein(name, unknown) {
        0 | 1 => 1.0,
        _ => strsim::jaro_winkler(name, unknown),
    };
    let mut similar: Vec<(f64, &str)> =
        names.into_iter().map(|name| (score(name), name)).collect();
    similar.retain(|(score, _)| *score > 0.8);
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let similar: Vec<String> =
        similar.into_iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
    let similar = match similar.as_slice() {
        [first @ .., last] if !first.is_empty() => {
            format!("{} or {last}", first.join(", "))
        }
        similar => similar.join(", "),
    };
    (!similar.is_empty()).then(|| format!("did you mean {similar}?"))
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
