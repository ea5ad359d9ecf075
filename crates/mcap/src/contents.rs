//! The records in a chunk, or in a stretch of a file without chunks.

use std::ops::Range;

use crate::{resync, wire};

/// What is met in a stretch of records.
pub(crate) enum Met<'b> {
    /// A record: its opcode, its content, and where in the stretch that is.
    Record(u8, &'b [u8], Range<usize>),
    /// Bytes that are no record.
    Gap(Range<usize>),
}

/// Goes through `bytes`, which are records to their end; what is broken is stepped over.
pub(crate) fn walk(bytes: &[u8], mut met: impl FnMut(Met<'_>)) {
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let record = wire::record(rest).filter(|(op, _)| *op != 0);
        let end = match record {
            Some((op, content)) => {
                let start = at + wire::HEAD_LEN;
                let place = start..start + content.len();
                let end = place.end;
                met(Met::Record(op, content, place));
                end
            }
            None => {
                let skip = resync::next(rest.get(1..).unwrap_or_default(), true);
                let end = skip.map_or(bytes.len(), |skip| at + 1 + skip);
                met(Met::Gap(at..end));
                end
            }
        };
        at = end;
    }
}
