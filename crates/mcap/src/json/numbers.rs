//! Numbers that JSON has no place for and programs write all the same: NaN and infinities, as
//! Python's `json` writes them, and what is too large for a float, as `1e999`.

use serde_json::Value;

/// What they are called: by Python bare, by the JSON of protocol buffers as texts.
const NAMES: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// `value` as a number, if it is one.
pub(super) fn number(value: &Value) -> Option<f64> {
    let named = |text: &str| NAMES.iter().find(|(name, _)| *name == text);
    match value {
        Value::String(text) => named(text).map(|(_, number)| *number),
        value => value.as_f64(),
    }
}

/// `json` with each of them as the text that it is called; nothing if it has none.
pub(super) fn as_texts(json: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(json.len() + 16);
    let (mut rest, mut found) = (json, false);
    while let Some((&first, after)) = rest.split_first() {
        let len = match first {
            b'"' => text_len(rest),
            _ if is_of_word(first) => {
                rest.iter().take_while(|byte| is_of_word(**byte)).count()
            }
            _ => rest.len() - after.len(),
        };
        let (piece, after) = rest.split_at(len.min(rest.len()));
        match name(piece) {
            Some(name) => {
                all.extend([b"\"", name.as_bytes(), b"\""].concat());
                found = true;
            }
            None => all.extend(piece),
        }
        rest = after;
    }
    found.then_some(all)
}

/// What `word` is called, if JSON has no place for it.
fn name(word: &[u8]) -> Option<&'static str> {
    let word = str::from_utf8(word).ok()?;
    if let Some((name, _)) = NAMES.iter().find(|(name, _)| *name == word) {
        return Some(name);
    }
    let is_number =
        word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && word.len() > 1;
    let number = word.parse::<f64>().ok().filter(|_| is_number)?;
    NAMES.iter().find(|(_, known)| *known == number).map(|(name, _)| *name)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

/// How long the text is with which `json` begins, with its quotation marks.
fn text_len(json: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = json.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}
