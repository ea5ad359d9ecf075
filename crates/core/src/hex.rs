//! Bytes as hexadecimal text, for `#[serde(with = "logtool_core::hex")]`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Shows bytes as hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'b>(pub &'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // A few at a time: formatting each byte on its own is ten times the work.
        for bytes in self.0.chunks(32) {
            let mut text = String::with_capacity(64);
            for byte in bytes {
                text.push(char::from(DIGITS[usize::from(byte >> 4)]));
                text.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
            f.write_str(&text)?;
        }
        Ok(())
    }
}

/// Writes `bytes` as text.
///
/// # Errors
/// Where the serialiser has some.
pub fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&Hex(bytes))
}

/// Reads bytes from such a text.
///
/// # Errors
/// Where the text is not of hexadecimal digits, two a byte.
pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(input)?;
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<_> = text.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| D::Error::custom("no hexadecimal text"))
}
