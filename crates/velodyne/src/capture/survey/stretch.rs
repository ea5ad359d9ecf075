//! A stretch of a capture that is looked at before it is known what was before it.

use std::{io, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Source, Window};

use crate::capture::{
    container::Look,
    defragment::Pieces,
    reader::{Found, Reader},
    search::Search,
};

/// How much behind a stretch is looked at: what begins in it is to end there.
const BEHIND: u64 = 16 << 10;

/// What was seen in a stretch of a capture.
///
/// It begins where items seem to begin, and ends where the next is to begin, or before the
/// first that says how to read others, or that is damaged. Whether it began well, who comes
/// to its start knows.
pub(super) struct Stretch {
    pub(super) start: u64,
    /// What lies there, and some more.
    pub(super) bytes: Bytes,
    pub(super) seen: Vec<Seen>,
    /// Where it ends.
    pub(super) end: u64,
}

/// An item that was seen.
pub(super) struct Seen {
    pub(super) at: u64,
    pub(super) len: usize,
    /// What it is, if it has not come before; nothing where that hangs on items before it,
    /// as of a piece of a datagram.
    pub(super) found: Option<Found>,
    /// Of a packet, its [`sum`](crate::capture::duplicates::sum).
    pub(super) sum: u64,
}

impl Stretch {
    /// Looks at the items that begin in `range` of the capture in `source`, which ends at
    /// `end`; nothing if none seem to. The `reader` knows of no packets, and of no pieces.
    pub(super) fn look(
        source: &Arc<dyn Source>,
        range: Range<u64>,
        end: u64,
        mut reader: Reader,
    ) -> io::Result<Option<Self>> {
        // With the byte before: behind that, a search begins.
        let before = range.start.saturating_sub(1);
        let bytes =
            source.read_at(before..range.end.saturating_add(BEHIND).min(end))?;
        let container = reader.container;
        let is_big_endian = reader.section.is_big_endian;
        let here: Arc<dyn Source> = Arc::new(bytes.clone());
        let search = Search { container, is_big_endian, end: end - before };
        let first = search.next(0, &mut Window::new(&here));
        let Ok(Some(first)) = first else { return Ok(None) };
        let start = before + first;
        let bytes = bytes.slice(first as usize..);
        let (mut at, mut seen) = (start, Vec::new());
        while at < range.end {
            let rest = bytes.get((at - start) as usize..).unwrap_or_default();
            let look = container.look(at, rest, is_big_endian, end);
            let Look::Item(len) = look else { break };
            let len = len as usize;
            let Some((item, behind)) = rest.split_at_checked(len) else { break };
            let is_seen = behind.len() >= container.sight();
            let next = at + len as u64;
            let goes_on = || container.look(next, behind, is_big_endian, end);
            if next != end && !(is_seen && goes_on() != Look::Nothing) {
                break;
            }
            let found = reader.see(at, item);
            let found = match found {
                Found::Declaration(_) | Found::Broken => break,
                // Others of its datagram may have come before.
                _ if found == Found::Piece || !reader.pieces.is_empty() => {
                    reader.pieces = Pieces::default();
                    None
                }
                found => Some(found),
            };
            let sum = match &found {
                Some(Found::Packet(packet)) => packet.sum(item),
                _ => 0,
            };
            seen.push(Seen { at, len, found, sum });
            at = next;
        }
        Ok(Some(Self { start, bytes, seen, end: at }))
    }
}
