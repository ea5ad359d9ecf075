//! The header of a bag that is being written. It is written twice: first without the position of
//! the index, and at the end with it.

use std::ops::Range;

use crate::{
    wire::{self, Fields, FrameMatch, Header},
    write::encode,
};

/// The fields of a bag header, and the positions of the values that change.
#[derive(Debug)]
pub(crate) struct EditableHeader {
    /// The position of the fields in the file.
    pub(crate) at: u64,
    pub(crate) fields: Vec<u8>,
    index_at: Range<usize>,
    connections: Range<usize>,
    chunks: Range<usize>,
}

impl EditableHeader {
    /// Parses the record at the start of `bytes`, which are at the position `at` of the file.
    /// Returns `None` if it lacks a field that must be set.
    pub(crate) fn parse(bytes: &[u8], at: u64) -> Option<Self> {
        let FrameMatch::Whole(frame) = wire::frame(bytes) else { return None };
        let Some(Header::Bag(_)) = wire::header(wire::fields(bytes, frame)) else {
            return None;
        };
        let fields = bytes.get(4..4 + frame.fields_len)?.to_vec();
        let value_range = |field_name: &[u8], len: usize| {
            let mut end = 0;
            // If a name occurs several times, readers use the last field.
            let ends = Fields::new(&fields).map(|(name, value)| {
                end += 5 + name.len() + value.len();
                (name, value, end)
            });
            let field = ends.filter(|(name, ..)| *name == field_name).last();
            let (_, value, end) = field?;
            (value.len() == len).then_some(end - len..end)
        };
        let index_at = value_range(b"index_pos", 8)?;
        let connections = value_range(b"conn_count", 4)?;
        let chunks = value_range(b"chunk_count", 4)?;
        Some(Self { at: at + 4, fields, index_at, connections, chunks })
    }

    /// Creates the header of a new bag, at the position `at` of the file, with its bytes.
    pub(crate) fn new(at: u64) -> (Option<Self>, Vec<u8>) {
        let bytes = encode::bag_header();
        (Self::parse(&bytes, at), bytes)
    }

    /// Sets the position of the index, and the numbers of connections and chunk infos in it.
    pub(crate) fn set(&mut self, index_at: u64, connections: u32, chunks: u32) {
        let mut set_value = |range: &Range<usize>, bytes: &[u8]| {
            if let Some(value) = self.fields.get_mut(range.clone()) {
                value.copy_from_slice(bytes);
            }
        };
        set_value(&self.index_at, &index_at.to_le_bytes());
        set_value(&self.connections, &connections.to_le_bytes());
        set_value(&self.chunks, &chunks.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_bag_header_is_padded_to_4096_bytes() {
        let (header, bytes) = EditableHeader::new(13);
        assert_eq!(bytes.len(), 4 + 4096 + 4);
        assert_eq!(bytes[..4], 69_u32.to_le_bytes());
        assert_eq!(bytes[4 + 69..][..4], 4027_u32.to_le_bytes());
        assert_eq!(bytes[4 + 69 + 4..], [b' '; 4027]);
        let mut header = header.unwrap();
        assert_eq!((header.at, &header.fields), (17, &bytes[4..4 + 69].to_vec()));
        header.set(0x1122_3344_5566_7788, 5, 6);
        let expected =
            b"\x10\0\0\0chunk_count=\x06\0\0\0\x0f\0\0\0conn_count=\x05\0\0\0\
                     \x12\0\0\0index_pos=\x88\x77\x66\x55\x44\x33\x22\x11\
                     \x04\0\0\0op=\x03";
        assert_eq!(header.fields, expected);
    }

    #[test]
    fn fields_in_another_order_are_changed_in_place() {
        let fields: [(&str, &[u8]); 5] = [
            ("op", b"\x03"),
            ("index_pos", &[9; 8]),
            ("x", b"conn_count=abcd"),
            ("conn_count", &[8; 4]),
            ("chunk_count", &[7; 4]),
        ];
        let mut bytes = Vec::new();
        encode::record(&mut bytes, &fields, b"");
        let mut header = EditableHeader::parse(&bytes, 13).unwrap();
        header.set(1, 2, 3);
        let mut expected = Vec::new();
        let fields: [(&str, &[u8]); 5] = [
            ("op", b"\x03"),
            ("index_pos", &[1, 0, 0, 0, 0, 0, 0, 0]),
            ("x", b"conn_count=abcd"),
            ("conn_count", &[2, 0, 0, 0]),
            ("chunk_count", &[3, 0, 0, 0]),
        ];
        encode::record(&mut expected, &fields, b"");
        assert_eq!(header.fields, expected[4..expected.len() - 4]);
    }
}
