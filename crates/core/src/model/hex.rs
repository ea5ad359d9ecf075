//! Hexadecimal strings of bytes, for `#[serde(with = "logtool_core::hex")]`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Formats bytes as hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'b>(pub &'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // In groups, because formatting each byte separately takes ten times as long.
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

/// Serialises `bytes` as a hexadecimal string.
///
/// # Errors
/// Returns the errors of the serialiser.
pub fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&Hex(bytes))
}

/// Deserialises a hexadecimal string.
///
/// # Errors
/// Fails if the string does not consist of two hexadecimal digits per byte.
pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(input)?;
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<_> = text.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| D::Error::custom("not a hexadecimal string"))
}
