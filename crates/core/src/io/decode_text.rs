//! Decoding strings of unknown encoding.

use std::borrow::Cow;

use crate::model::damage::DamageKind;

/// How the bytes of a string are decoded. A later variant is the larger defect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextEncoding {
    /// Valid UTF-8.
    #[default]
    Utf8,
    /// UTF-8 that ends inside a character: writers cut strings to a number of bytes.
    IncompleteUtf8,
    /// Other bytes, which are decoded as Latin-1.
    Latin1,
}

impl TextEncoding {
    /// Returns how `bytes` are decoded.
    pub fn detect(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(_) => Self::Utf8,
            Err(err) if err.error_len().is_none() && err.valid_up_to() > 0 => {
                Self::IncompleteUtf8
            }
            Err(_) => Self::Latin1,
        }
    }

    /// Returns the kind of damage to report for a record with such a string, if it is not
    /// UTF-8.
    pub fn damage_kind(self) -> Option<DamageKind> {
        match self {
            Self::Utf8 => None,
            Self::IncompleteUtf8 => Some(DamageKind::IncompleteText),
            Self::Latin1 => Some(DamageKind::Latin1),
        }
    }
}

/// Decodes `bytes` as UTF-8, or as Latin-1 if they are not valid UTF-8. If they end inside
/// a character of UTF-8, that character becomes U+FFFD.
///
/// Strings in logs that are not UTF-8 are nearly always Latin-1. No information is lost:
/// the bytes can be recovered from the characters. The result has at most twice as many
/// bytes.
///
/// ```
/// assert_eq!(logtool_core::decode_text("Süd".as_bytes()), "Süd");
/// assert_eq!(logtool_core::decode_text(b"S\xfcd"), "Süd");
/// assert_eq!(logtool_core::decode_text(b"S\xc3\xbcd \xe2\x82"), "Süd \u{fffd}");
/// ```
pub fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(err) if TextEncoding::detect(bytes) == TextEncoding::IncompleteUtf8 => {
            let prefix = bytes.get(..err.valid_up_to()).unwrap_or_default();
            Cow::Owned(format!("{}\u{fffd}", String::from_utf8_lossy(prefix)))
        }
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts a text with characters of 1 to 4 bytes after each byte.
    #[test]
    fn every_cut_text_keeps_its_complete_characters() {
        let text = "aü€\u{1f600}b";
        for (start, character) in text.char_indices() {
            for cut in 1..character.len_utf8() {
                let bytes = &text.as_bytes()[..start + cut];
                let expected = format!("{}\u{fffd}", &text[..start]);
                assert_eq!(decode_text(bytes), expected);
                let kind = TextEncoding::detect(bytes).damage_kind();
                assert_eq!(kind, Some(DamageKind::IncompleteText), "{bytes:?}");
                assert!(expected.len() <= 2 * bytes.len());
            }
            assert_eq!(decode_text(&text.as_bytes()[..start]), text[..start]);
        }
    }

    #[test]
    fn other_bytes_are_latin1() {
        // An invalid byte before the end; a first byte without any text before it.
        for bytes in [b"S\xfcd \xc3".as_slice(), b"\xe9", b"a\xff", b"a\xc3b"] {
            let expected: String = bytes.iter().copied().map(char::from).collect();
            assert_eq!(decode_text(bytes), expected);
            assert_eq!(TextEncoding::detect(bytes), TextEncoding::Latin1, "{bytes:?}");
        }
    }
}
