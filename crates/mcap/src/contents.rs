//! Iterates over the records in a chunk, or in a range of a file without chunks.

use std::ops::Range;

use crate::{resync, wire};

/// An item in a range of records.
pub(crate) enum ContentItem<'b> {
    /// A record: its opcode, its content, and the position of the content in the range.
    Record(u8, &'b [u8], Range<usize>),
    /// Bytes that are not a record.
    Damaged(Range<usize>),
}

/// Calls `visit` for all records in `bytes`, and for damaged ranges between them.
pub(crate) fn for_each_record(bytes: &[u8], mut visit: impl FnMut(ContentItem<'_>)) {
    let mut offset = 0;
    while offset < bytes.len() {
        let remaining = bytes.get(offset..).unwrap_or_default();
        // 0x00 is not a valid opcode (MCAP specification, "Opcodes").
        offset = match wire::record(remaining).filter(|(op, _)| *op != 0) {
            Some((op, content)) => {
                let start = offset + wire::RECORD_HEADER_LEN;
                let end = start + content.len();
                visit(ContentItem::Record(op, content, start..end));
                end
            }
            None => {
                let following = remaining.get(1..).unwrap_or_default();
                let next_record = resync::find_in_bytes(following, true);
                let end =
                    next_record.map_or(bytes.len(), |position| offset + 1 + position);
                visit(ContentItem::Damaged(offset..end));
                end
            }
        };
    }
}
