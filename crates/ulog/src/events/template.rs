//! Fills arguments into the text of a definition, and removes its markup.
//!
//! ```text
//! \x                                   x, any character
//! <profile name="[!]NAME">text</profile>   text, if NAME is [not] the reader's profile
//! <a href="url">text</a>, <a>url</a>   text
//! <param>NAME</param>                  NAME
//! <other>text</other>                  (removed)
//! {2}  {2:.1}  {2m}  {2:.1m/s}         argument 2, with a number of decimals, with a unit
//! ```
//!
//! Units are `m`, `m_v` (a height, shown as `m`), `m^2`, `m/s` and `C`. Any other text
//! is unchanged.

use std::borrow::Cow;

use logtool_core::Value;

use crate::events::{Argument, truncate};

/// The profile of the reader. `dev` shows the hints for developers, like pyulog.
const PROFILE: &str = "dev";

/// The maximum length of a text. Long arguments could make it huge.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// The maximum number of bytes searched for the ends of tags; later tags are unchanged.
/// PX4's longest text, of 372 bytes, needs a few KiB.
const MAX_SEARCH_BYTES: usize = 64 << 10;

/// The maximum length of a placeholder.
const MAX_PLACEHOLDER_BYTES: usize = 24;

/// The maximum number of decimals.
const MAX_DECIMALS: usize = 64;

/// Converts a template to plain text, without leading or trailing white space.
pub(super) fn render(template: &str, arguments: &[Argument<'_>]) -> String {
    let mut text = String::new();
    let mut source = Cow::Borrowed(template);
    let (mut position, mut searched) = (0, 0);
    while let Some(remaining) =
        source.get(position..).filter(|remaining| !remaining.is_empty())
    {
        let (plain, special) = remaining
            .split_at(remaining.find(['\\', '<', '{']).unwrap_or(remaining.len()));
        text.push_str(plain);
        position += plain.len();
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
        match special.chars().next() {
            Some('\\') => {
                let escaped = special.chars().nth(1);
                text.extend(escaped);
                position += 1 + escaped.map_or(0, char::len_utf8);
            }
            Some('<') => {
                searched += special.len();
                let is_within_limit = |_: &&str| searched <= MAX_SEARCH_BYTES;
                match Some(special).filter(is_within_limit).and_then(Tag::parse) {
                    Some(tag) if tag.name == "profile" => {
                        // The content may contain markup, so continue at its start.
                        let content =
                            if tag.matches_profile() { tag.content } else { "" };
                        source = Cow::Owned([content, tag.remaining].concat());
                        position = 0;
                    }
                    Some(tag) => {
                        if matches!(tag.name, "a" | "param") {
                            text.push_str(tag.content);
                        }
                        position += special.len() - tag.remaining.len();
                    }
                    None => {
                        text.push('<');
                        position += 1;
                    }
                }
            }
            Some(brace) => match Placeholder::parse(special) {
                Some((placeholder, len)) if placeholder.fill(arguments, &mut text) => {
                    position += len;
                }
                _ => {
                    text.push(brace);
                    position += 1;
                }
            },
            None => break,
        }
    }
    truncate(&mut text, MAX_TEXT_BYTES);
    text.trim().to_owned()
}

/// A tag with its content.
struct Tag<'t> {
    name: &'t str,
    /// The value of its only attribute; the name of the attribute is ignored.
    attribute: Option<&'t str>,
    content: &'t str,
    /// The text after the closing tag.
    remaining: &'t str,
}

impl<'t> Tag<'t> {
    /// Parses the tag at the start of `text`. Returns `None` if it is not closed.
    fn parse(text: &'t str) -> Option<Self> {
        let (name, after) = split_word(text.strip_prefix('<')?)?;
        let (attribute, content) = match after.strip_prefix('>') {
            Some(content) => (None, content),
            None => {
                let (_, after) = split_word(after.strip_prefix(' ')?)?;
                let (value, after) = after.strip_prefix("=\"")?.split_once('"')?;
                (Some(value), after.strip_prefix('>')?)
            }
        };
        let (content, remaining) = content.split_once(&format!("</{name}>"))?;
        Some(Self { name, attribute, content, remaining })
    }

    /// Returns true if the content is meant for [`PROFILE`].
    fn matches_profile(&self) -> bool {
        let attribute = self.attribute.unwrap_or_default();
        match attribute.strip_prefix('!') {
            Some(excluded) => excluded != PROFILE,
            None => attribute == PROFILE,
        }
    }
}

/// Splits off at least one leading lower-case letter.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_lowercase).count();
    (len > 0).then(|| text.split_at(len))
}

/// A placeholder for an argument.
struct Placeholder<'t> {
    /// The position of the argument, counted from 1.
    number: usize,
    decimals: Option<usize>,
    /// The unit as it is displayed.
    unit: Option<&'t str>,
}

impl<'t> Placeholder<'t> {
    /// Parses the placeholder at the start of `text`. Returns it with its length in
    /// bytes.
    fn parse(text: &'t str) -> Option<(Self, usize)> {
        let content = text.strip_prefix('{')?;
        let end = content
            .bytes()
            .take(MAX_PLACEHOLDER_BYTES)
            .position(|byte| byte == b'}')?;
        let content = content.get(..end)?;
        let (number, mut remaining) = split_number(content)?;
        let mut decimals = None;
        if let Some(after) = remaining.strip_prefix(':') {
            remaining = after;
            if let Some(after) = remaining.strip_prefix('.') {
                let (count, after) = split_number(after)?;
                decimals = Some(count);
                remaining = after;
            }
        }
        let unit = match remaining {
            "" => None,
            "m_v" => Some("m"),
            "m" | "m/s" | "m^2" | "C" => Some(remaining),
            _ => return None,
        };
        Some((Self { number, decimals, unit }, content.len() + 2))
    }

    /// Appends the argument to `text`. Returns false if there is no such argument.
    fn fill(&self, arguments: &[Argument<'_>], text: &mut String) -> bool {
        let argument =
            self.number.checked_sub(1).and_then(|index| arguments.get(index));
        let Some(argument) = argument else { return false };
        match (self.decimals, argument.number()) {
            (Some(decimals), Some(number)) => {
                text.push_str(&format_fixed(number, decimals))
            }
            _ => text.push_str(&argument.text),
        }
        if let Some(unit) = self.unit {
            text.push(' ');
            text.push_str(unit);
        }
        true
    }
}

/// Splits off at least one leading digit.
fn split_number(text: &str) -> Option<(usize, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(len);
    Some((digits.parse().ok()?, rest))
}

impl Argument<'_> {
    /// Returns the value if it is displayed as a number and not as a label.
    fn number(&self) -> Option<f64> {
        match self.value {
            _ if self.is_label => None,
            Some(Value::Int(value)) => Some(value as f64),
            Some(Value::UInt(value)) => Some(value as f64),
            Some(Value::Float(value)) => Some(value.into()),
            _ => None,
        }
    }
}

fn format_fixed(number: f64, decimals: usize) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    let decimals = decimals.min(MAX_DECIMALS);
    format!("{number:.decimals$}")
}
