//! Decoding strings of unknown encoding.

use std::borrow::Cow;

/// Decodes `bytes` as UTF-8, or as Latin-1 if they are not valid UTF-8.
///
/// Strings in logs that are not UTF-8 are nearly always Latin-1. No information is lost:
/// the bytes can be recovered from the characters.
///
/// ```
/// assert_eq!(logtool_core::decode_text("Süd".as_bytes()), "Süd");
/// assert_eq!(logtool_core::decode_text(b"S\xfcd"), "Süd");
/// ```
pub fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}
