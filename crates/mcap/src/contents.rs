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
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let record = wire::record(rest).filter(|(op, _)| *op != 0);
        let end = match record {
            Some((op, content)) => {
                let start = at + wire::RECORD_HEADER_LEN;
                let position = start..start + content.len();
                let end = position.end;
                visit(ContentItem::Record(op, content, position));
                end
            }
            None => {
                let skip = resync::next(rest.get(1..).unwrap_or_default(), true);
                let end = skip.map_or(bytes.len(), |skip| at + 1 + skip);
                visit(ContentItem::Damaged(at..end));
                end
            }
        };
        at = end;
    }
}
