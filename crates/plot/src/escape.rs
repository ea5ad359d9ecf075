//! Escaping of untrusted strings.

use std::fmt::Write as _;

use logtool_core::{escape_unprintable, is_unprintable};

/// Escapes `text` for HTML: between tags, or in quotes. Unprintable characters are escaped too,
/// except line ends and tabs.
pub(crate) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            c if is_unprintable(c) => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes the JSON `text` for an element of HTML or SVG, so that it cannot contain a tag, a comment
/// or an unprintable character. The escaped characters occur only in strings, whose values do not
/// change.
pub(crate) fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        let is_escaped = matches!(c, '<' | '>' | '&') || is_unprintable(c);
        if is_escaped && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Returns the JSON of a `text` that is shown.
pub(crate) fn shown_json(text: &str) -> String {
    serde_json::Value::from(escape_unprintable(text)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_for_display_has_no_unprintable_characters() {
        let text = "a\u{202e}gpj.exe\u{1b}\u{200b}<b>\n";
        assert_eq!(html(text), "a\\u{202e}gpj.exe\\u{1b}\\u{200b}&lt;b&gt;\n");
        assert_eq!(shown_json("\u{2067}\"\n"), "\"\\\\u{2067}\\\"\\\\n\"");
    }

    #[test]
    fn values_of_json_do_not_change() {
        let value =
            serde_json::json!({"name": "</script>&\u{202e}\u{e0041}\u{1b}\u{fffe}日"});
        let escaped = json(&format!("{value}\n"));
        assert!(escaped.contains("\\udb40\\udc41") && escaped.ends_with("}\n"));
        assert!(!escaped.trim_end().contains(is_unprintable) && !escaped.contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
