//! Replaces characters above U+FFFF (supplementary characters). In the length of an array, MATLAB
//! counts them as two units of UTF-16, and SciPy as one character, so no array that contains them
//! can be read by both.

use std::borrow::Cow;

/// Replaces each character above U+FFFF by `\U` and eight hexadecimal digits. Also returns the
/// number of these characters.
pub(super) fn escape(text: &str) -> (Cow<'_, str>, u64) {
    replace_supplementary(text, |c| format!("\\U{:08x}", u32::from(c)))
}

/// Replaces each character above U+FFFF by its escape in JSON, e.g. `\ud83d\udc4d`.
pub(super) fn escape_json(json: &str) -> Cow<'_, str> {
    let escape = |c: char| {
        let units = c.encode_utf16(&mut [0; 2]).to_vec();
        units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    replace_supplementary(json, escape).0
}

/// Replaces each character above U+FFFF by the result of `escape`. Also returns the number of these
/// characters.
fn replace_supplementary(
    text: &str,
    escape: impl Fn(char) -> String,
) -> (Cow<'_, str>, u64) {
    let is_supplementary = |c: char| c > '\u{ffff}';
    if !text.contains(is_supplementary) {
        return (Cow::Borrowed(text), 0);
    }
    let (mut output, mut count) = (String::with_capacity(text.len() + 10), 0);
    for c in text.chars() {
        if is_supplementary(c) {
            output.push_str(&escape(c));
            count += 1;
        } else {
            output.push(c)
        }
    }
    (Cow::Owned(output), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_above_u_ffff_are_escaped() {
        // Unicode 16, U+1F44D THUMBS UP SIGN: D83D DC4D in UTF-16.
        let expected = ("\u{fffd} \\U0001f44d!".into(), 1);
        assert_eq!(escape("\u{fffd} \u{1f44d}!"), expected);
        assert_eq!(
            escape_json("{\"\u{1f44d}\":\"\u{e9}\"}"),
            "{\"\\ud83d\\udc4d\":\"\u{e9}\"}"
        );
        assert_eq!(escape("\u{ffff}"), ("\u{ffff}".into(), 0));
    }
}
