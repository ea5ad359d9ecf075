//! Splits the text of an expression into tokens.

use std::ops::Range;

use crate::error::{ExpressionError, Result};

/// The maximum length of an expression in bytes.
const MAX_BYTES: usize = 1 << 14;

/// A token, and its position in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Number(f64),
    /// The name of a field, a function, a parameter or a constant.
    Name(String),
    /// The name of a field between quotes.
    Quoted(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

/// The symbols. Those of two characters come first, because the first match is used.
const SYMBOLS: [&str; 20] = [
    "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "^", "%", "(", ")", ",", "=",
    ".", "[", "]", ";",
];

/// Operators of other languages, with hints.
const FOREIGN_OPERATORS: [(&str, &str); 4] = [
    ("**", "`^` is the operator of powers"),
    ("&&", "`and` combines conditions"),
    ("||", "`or` combines conditions"),
    ("!", "`not(x)` negates a condition"),
];

/// Returns the tokens of `text`; the last one is the end.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>> {
    if text.len() > MAX_BYTES {
        let message = format!("an expression has at most {MAX_BYTES} bytes");
        return Err(ExpressionError::new(message, MAX_BYTES..MAX_BYTES));
    }
    let mut tokens: Vec<Token> = Vec::new();
    let mut position = 0;
    loop {
        let remaining = text.get(position..).unwrap_or_default();
        let blank_len = remaining.len() - remaining.trim_start().len();
        position += blank_len;
        let remaining = remaining.trim_start();
        let Some(first) = remaining.chars().next() else { break };
        // In `a / b` the slash divides; in `-/imu.x` it starts the name of a topic.
        let needs_operand = tokens.last().is_none_or(|last| match &last.kind {
            TokenKind::Symbol(symbol) => !matches!(*symbol, ")" | "]"),
            TokenKind::Name(name) => is_word_operator(name),
            _ => false,
        });
        let (kind, len) = token(remaining, first, needs_operand, position)?;
        tokens.push(Token { kind, span: position..position + len });
        position += len;
    }
    tokens.push(Token { kind: TokenKind::End, span: position..position });
    Ok(tokens)
}

/// Returns whether `name` is an operator that consists of letters.
pub(crate) fn is_word_operator(name: &str) -> bool {
    matches!(name, "and" | "or")
}

/// Returns the token at the start of `text`, and its length in bytes. `first` is the first
/// character of `text`, and `position` is the byte offset of `text` in the expression.
fn token(
    text: &str,
    first: char,
    needs_operand: bool,
    position: usize,
) -> Result<(TokenKind, usize)> {
    let second = text.chars().nth(1);
    if let Some((operator, hint)) =
        FOREIGN_OPERATORS.iter().find(|(operator, _)| text.starts_with(operator))
        && !text.starts_with("!=")
    {
        let message = format!("there is no operator `{operator}`");
        let span = position..position + operator.len();
        return Err(ExpressionError::new(message, span).with_hint(*hint));
    }
    if matches!(first, '`' | '"') {
        return lex_quoted_name(text, first, position);
    }
    let is_fraction = first == '.' && second.is_some_and(|c| c.is_ascii_digit());
    if first.is_ascii_digit() || is_fraction && needs_operand {
        return number(text, position);
    }
    if is_name_start(first)
        || first == '/' && needs_operand && second.is_some_and(is_name_start)
    {
        let len = name_len(text);
        let name = text.get(..len).unwrap_or_default();
        return Ok((TokenKind::Name(name.to_owned()), len));
    }
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
        return Ok((TokenKind::Symbol(symbol), symbol.len()));
    }
    let message = format!("unexpected character `{}`", first.escape_debug());
    let error = ExpressionError::new(message, position..position + first.len_utf8());
    Err(error.with_hint(
        "put names with special characters between backticks: `topic.field`",
    ))
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the name at the start of `text`, e.g. `sensor_gps.1.lat`,
/// `/imu/data.orientation.x` or `esc_status.esc[0].esc_rpm`. Slashes are allowed only in a topic
/// that starts with a slash.
fn name_len(text: &str) -> usize {
    let mut has_slashes = text.starts_with('/');
    let mut position = 0;
    loop {
        let remaining = text.get(position..).unwrap_or_default();
        let mut chars = remaining.chars();
        let (first, second) = (chars.next(), chars.next());
        let Some(first) = first else { return position };
        if is_name_char(first) {
            position += first.len_utf8();
        } else if first == '/' && has_slashes && second.is_some_and(is_name_char) {
            position += 1;
        } else if first == '.' && second.is_some_and(is_name_char) {
            has_slashes = false;
            position += 1;
        } else if first == '[' {
            let index = remaining.get(1..).unwrap_or_default();
            let digits = index.len()
                - index.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let is_index =
                digits > 0 && index.get(digits..).is_some_and(|t| t.starts_with(']'));
            if !is_index {
                return position;
            }
            position += digits + 2;
        } else {
            return position;
        }
    }
}

fn number(input: &str, position: usize) -> Result<(TokenKind, usize)> {
    let bytes = input.as_bytes();
    let byte = |position: usize| bytes.get(position).copied().unwrap_or_default();
    let mut len = 0;
    while byte(len).is_ascii_digit() || byte(len) == b'.' {
        len += 1;
    }
    if matches!(byte(len), b'e' | b'E') {
        let sign = usize::from(matches!(byte(len + 1), b'+' | b'-'));
        if byte(len + 1 + sign).is_ascii_digit() {
            len += 1 + sign;
            while byte(len).is_ascii_digit() {
                len += 1;
            }
        }
    }
    let text = input.get(..len).unwrap_or_default();
    let next_char = input.get(len..).unwrap_or_default().chars().next();
    if let Some(next_char) = next_char.filter(|c| is_name_char(*c)) {
        let message = format!("unexpected `{next_char}` after the number {text}");
        let error = ExpressionError::new(
            message,
            position + len..position + len + next_char.len_utf8(),
        );
        return Err(error.with_hint(
            "numbers have no units; put names that start with a digit between backticks",
        ));
    }
    match text.parse() {
        Ok(number) => Ok((TokenKind::Number(number), len)),
        Err(_) => {
            let message = format!("`{text}` is not a number");
            Err(ExpressionError::new(message, position..position + len))
        }
    }
}

fn lex_quoted_name(
    text: &str,
    quote: char,
    position: usize,
) -> Result<(TokenKind, usize)> {
    let content = text.get(1..).unwrap_or_default();
    match content.find(quote) {
        Some(0) => Err(ExpressionError::new(
            "a name between quotes is empty",
            position..position + 2,
        )),
        Some(len) => {
            let name = content.get(..len).unwrap_or_default().to_owned();
            Ok((TokenKind::Quoted(name), len + 2))
        }
        None => {
            let message = format!("the quote `{quote}` is not closed");
            Err(ExpressionError::new(message, position..position + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    fn name(name: &str) -> TokenKind {
        TokenKind::Name(name.to_owned())
    }

    #[test]
    fn slash_starts_a_topic_only_where_an_operand_is_expected() {
        use TokenKind::{End, Number, Symbol};
        assert_eq!(
            kinds("/imu/data.x/2"),
            [name("/imu/data.x"), Symbol("/"), Number(2.0), End]
        );
        assert_eq!(kinds("a.b/c.d"), [name("a.b"), Symbol("/"), name("c.d"), End]);
        assert_eq!(
            kinds("-/a/b.c and /d.e"),
            [Symbol("-"), name("/a/b.c"), name("and"), name("/d.e"), End]
        );
        assert_eq!(kinds("2//a.b"), [Number(2.0), Symbol("/"), name("/a.b"), End]);
    }

    #[test]
    fn names_have_instances_and_indices() {
        use TokenKind::{End, Symbol};
        assert_eq!(kinds("sensor_gps.1.lat"), [name("sensor_gps.1.lat"), End]);
        assert_eq!(kinds("esc.esc[0].rpm"), [name("esc.esc[0].rpm"), End]);
        assert_eq!(
            kinds("f(x).yaw"),
            [
                name("f"),
                Symbol("("),
                name("x"),
                Symbol(")"),
                Symbol("."),
                name("yaw"),
                End
            ]
        );
        assert_eq!(kinds("`a b-c.x`"), [TokenKind::Quoted("a b-c.x".to_owned()), End]);
    }

    #[test]
    fn numbers_have_fractions_and_exponents() {
        for (text, number) in [("1e-7", 1e-7), (".5", 0.5), ("2.", 2.0), ("3E2", 300.0)]
        {
            assert_eq!(kinds(text), [TokenKind::Number(number), TokenKind::End]);
        }
        assert_eq!(tokens("1.2.3").unwrap_err().span(), 0..5);
        assert_eq!(tokens("10hz").unwrap_err().span(), 2..3);
    }

    #[test]
    fn other_characters_are_errors_at_their_place() {
        assert_eq!(tokens("a.b ** 2").unwrap_err().span(), 4..6);
        assert_eq!(tokens("a.b + €").unwrap_err().span(), 6..9);
        assert_eq!(tokens("`a").unwrap_err().span(), 0..1);
        assert_eq!(
            tokens("a && b").unwrap_err().hint(),
            Some("`and` combines conditions")
        );
        assert!(tokens(&"a".repeat(MAX_BYTES + 1)).is_err());
    }
}
