//! Hexadecimal strings of bytes, for `#[serde(with = "logtool_core::hex")]`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Formats bytes as hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'b>(pub &'b [u8]);

impl Hex<'_> {
    /// Appends the digits to `text`.
    fn append_to(&self, text: &mut String) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        text.reserve(2 * self.0.len());
        for byte in self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In blocks, because formatting each byte separately takes ten times as long.
        let mut text = String::new();
        for block in self.0.chunks(32) {
            text.clear();
            Hex(block).append_to(&mut text);
            f.write_str(&text)?;
        }
        Ok(())
    }
}

/// Serialises `bytes` as a hexadecimal string.
///
/// # Errors
/// Returns the errors of the serialiser.
pub fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
    /// Longer values are written in blocks, so that their whole text is never in memory.
    const MAX_BYTES: usize = 1 << 12;

    if bytes.len() > MAX_BYTES {
        return out.collect_str(&Hex(bytes));
    }
    let mut text = String::new();
    Hex(bytes).append_to(&mut text);
    out.serialize_str(&text)
}

/// Deserialises a hexadecimal string.
///
/// # Errors
/// Fails if the string does not consist of two hexadecimal digits per byte.
pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(input)?;
    let parse_byte =
        |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
    let bytes: Option<_> = text.as_bytes().chunks(2).map(parse_byte).collect();
    bytes.ok_or_else(|| D::Error::custom("not a hexadecimal string"))
}
