//! Texts of files, of which nobody says in which encoding they are.

use std::borrow::Cow;

/// `bytes` as UTF-8; where they are none, as Latin-1, in which every byte is a character.
///
/// That is what such bytes nearly always are, and nothing is lost: the bytes can be had
/// back from the characters.
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
