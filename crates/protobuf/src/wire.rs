//! The wire format of protocol buffers.
//!
//! ```text
//! message  field*
//! field    key varint: number << 3 | wire type; then
//!          0 varint | 1 eight bytes | 2 varint length, bytes | 3 … 4 group | 5 four bytes
//! varint   7 bits per byte, the lowest first; the top bit is set if more bytes follow (at most 10)
//! ```
//! (Protocol Buffers documentation, "Encoding".)

use logtool_core::ByteReader;

/// The maximum number of a field.
pub(crate) const MAX_NUMBER: u32 = (1 << 29) - 1;

/// The wire types.
pub(crate) const VARINT: u32 = 0;
pub(crate) const FIXED64: u32 = 1;
pub(crate) const SIZED: u32 = 2;
pub(crate) const FIXED32: u32 = 5;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire<'b> {
    Varint(u64),
    Fixed64(u64),
    Sized(&'b [u8]),
    Fixed32(u32),
    /// A group, which is obsolete; it is skipped.
    Group,
}

/// Reads a varint.
#[inline]
pub(crate) fn varint(reader: &mut ByteReader<'_>) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let byte = reader.u8()?;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has one significant bit; readers ignore the others.
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// Reads a field: its number, and its value.
#[inline]
pub(crate) fn field<'b>(reader: &mut ByteReader<'b>) -> Option<(u32, Wire<'b>)> {
    let (number, wire) = key(reader)?;
    let value = match wire {
        3 => {
            skip_group(reader, number)?;
            Wire::Group
        }
        wire => value(reader, wire)?,
    };
    Some((number, value))
}

/// Returns the number of the field at the start of `bytes`, even if its value is incomplete.
pub(crate) fn field_number(bytes: &[u8]) -> Option<u32> {
    let (number, wire) = key(&mut ByteReader::new(bytes))?;
    matches!(wire, VARINT | FIXED64 | SIZED | FIXED32).then_some(number)
}

fn key(reader: &mut ByteReader<'_>) -> Option<(u32, u32)> {
    let key = u32::try_from(varint(reader)?).ok()?;
    (key >> 3 > 0).then_some((key >> 3, key & 7))
}

fn value<'b>(reader: &mut ByteReader<'b>, wire: u32) -> Option<Wire<'b>> {
    Some(match wire {
        VARINT => Wire::Varint(varint(reader)?),
        FIXED64 => Wire::Fixed64(reader.u64()?),
        SIZED => Wire::Sized(length_prefixed(reader)?),
        FIXED32 => Wire::Fixed32(reader.u32()?),
        _ => return None,
    })
}

/// Reads a length and that number of bytes.
fn length_prefixed<'b>(reader: &mut ByteReader<'b>) -> Option<&'b [u8]> {
    let len = varint(reader)?;
    reader.bytes(usize::try_from(len).ok()?)
}

/// Skips to the end of the group with the number `number`.
fn skip_group(reader: &mut ByteReader<'_>, number: u32) -> Option<()> {
    let mut open_groups = vec![number];
    while let Some(innermost) = open_groups.last() {
        match key(reader)? {
            (number, 3) => open_groups.push(number),
            (number, 4) if number == *innermost => drop(open_groups.pop()),
            (_, wire) => drop(value(reader, wire)?),
        }
    }
    Some(())
}

/// Calls `visit` with the number and the value of each field of `message`. Returns `None` if the
/// message is malformed, or `visit` rejects a field by returning `None`.
pub(crate) fn for_each_field<'b>(
    message: &'b [u8],
    mut visit: impl FnMut(u32, Wire<'b>) -> Option<()>,
) -> Option<()> {
    let mut reader = ByteReader::new(message);
    while !reader.remaining().is_empty() {
        let (number, value) = field(&mut reader)?;
        visit(number, value)?;
    }
    Some(())
}

/// Appends a varint to `out`.
#[inline]
pub(crate) fn append_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns the key of a field with this number and wire type.
pub(crate) fn field_key(number: u32, wire: u32) -> u64 {
    u64::from(number) << 3 | u64::from(wire)
}

/// Appends a varint field.
pub(crate) fn append_number(out: &mut Vec<u8>, number: u32, value: u64) {
    append_varint(out, field_key(number, VARINT));
    append_varint(out, value);
}

/// Appends a string or bytes field.
pub(crate) fn append_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    append_varint(out, field_key(number, SIZED));
    append_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a string or bytes field, unless it is empty.
pub(crate) fn append_unless_empty(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    if !bytes.is_empty() {
        append_bytes(out, number, bytes);
    }
}

/// Appends a field with the contents that `fill` writes, preceded by their length.
pub(crate) fn append_sized(
    out: &mut Vec<u8>,
    number: u32,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    append_varint(out, field_key(number, SIZED));
    let start = out.len();
    out.push(0);
    fill(out);
    end_sized(out, start);
}

/// Inserts the length of the contents after `start`, where a byte was reserved for it.
#[inline]
pub(crate) fn end_sized(out: &mut Vec<u8>, start: usize) {
    let len = out.len() - start - 1;
    if len < 0x80 {
        if let Some(len_bytes) = out.get_mut(start) {
            *len_bytes = len as u8;
        }
        return;
    }
    let mut prefix = Vec::with_capacity(10);
    append_varint(&mut prefix, len as u64);
    out.splice(start..=start, prefix);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the documentation.
    #[test]
    fn numbers_and_strings_have_the_documented_encoding() {
        let mut reader = ByteReader::new(b"\x08\x96\x01\x12\x07testing");
        assert_eq!(field(&mut reader), Some((1, Wire::Varint(150))));
        assert_eq!(field(&mut reader), Some((2, Wire::Sized(b"testing"))));
        let mut out = Vec::new();
        append_number(&mut out, 1, 150);
        append_bytes(&mut out, 2, b"testing");
        assert_eq!(out, b"\x08\x96\x01\x12\x07testing");
    }

    #[test]
    fn length_of_several_bytes_moves_the_contents() {
        let mut out = Vec::new();
        append_sized(&mut out, 1, |out| out.extend_from_slice(&[7; 300]));
        assert_eq!(out[..4], [0x0a, 0xac, 0x02, 7]);
        assert_eq!(out.len(), 303);
    }

    #[test]
    fn groups_are_skipped_with_nested_ones() {
        let bytes = [0x0b, 0x13, 0x08, 5, 0x14, 0x0c, 0x10, 1];
        let mut reader = ByteReader::new(&bytes);
        assert_eq!(field(&mut reader), Some((1, Wire::Group)));
        assert_eq!(field(&mut reader), Some((2, Wire::Varint(1))));
        assert_eq!(field(&mut ByteReader::new(&bytes[..5])), None);
    }

    #[test]
    fn lengths_are_not_trusted() {
        let long = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0];
        assert_eq!(field(&mut ByteReader::new(&long)), None);
        assert_eq!(varint(&mut ByteReader::new(&[0x80; 11])), None);
        assert_eq!(varint(&mut ByteReader::new(&[0x80, 0x80])), None);
    }
}
