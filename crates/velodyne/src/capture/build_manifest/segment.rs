//! A segment of a capture that is scanned before the items before it are known.

use std::{io, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Source, WindowReader};

use crate::capture::{
    container::Classification,
    packets::defragment::Reassembler,
    reader::{ItemContent, ItemReader},
    resync::Resync,
};

/// The number of bytes after a segment that are read, so that its last items are
/// complete.
const OVERLAP_BYTES: u64 = 16 << 10;

/// The scanned items of a segment.
///
/// It starts where items seem to start. It ends at the start of the next segment, or
/// before the first declaration or damage. Whether its start is a real item boundary is
/// known only when the sequential pass reaches it.
pub(super) struct Segment {
    pub(super) start: u64,
    /// The bytes of the segment, and more.
    pub(super) bytes: Bytes,
    pub(super) items: Vec<ScannedItem>,
    /// The end of the scanned items.
    pub(super) end: u64,
}

/// A scanned item.
pub(super) struct ScannedItem {
    pub(super) at: u64,
    pub(super) len: usize,
    /// The classification of the item, without detecting duplicates. `None` if it depends
    /// on previous items, e.g. for a fragment.
    pub(super) content: Option<ItemContent>,
    /// The [`sum`](crate::capture::packets::duplicates::sum) of a packet.
    pub(super) sum: u64,
}

impl Segment {
    /// Scans the items that start in `range` of the capture in `source`, whose length is
    /// `end`. Returns `None` if no items are found. The `reader` contains no packets and
    /// no fragments.
    pub(super) fn scan(
        source: &Arc<dyn Source>,
        range: Range<u64>,
        end: u64,
        mut reader: ItemReader,
    ) -> io::Result<Option<Self>> {
        // Include the byte before, because a search starts after its position.
        let before = range.start.saturating_sub(1);
        let bytes =
            source.read_at(before..range.end.saturating_add(OVERLAP_BYTES).min(end))?;
        let container = reader.container;
        let is_big_endian = reader.section.is_big_endian;
        let source: Arc<dyn Source> = Arc::new(bytes.clone());
        let search = Resync { container, is_big_endian, end: end - before };
        let first = search.next(0, &mut WindowReader::new(&source));
        let Ok(Some(first)) = first else { return Ok(None) };
        let start = before + first;
        let bytes = bytes.slice(first as usize..);
        let (mut at, mut items) = (start, Vec::new());
        while at < range.end {
            let rest = bytes.get((at - start) as usize..).unwrap_or_default();
            let classification = container.classify(at, rest, is_big_endian, end);
            let Classification::Item(len) = classification else { break };
            let len = len as usize;
            let Some((item, after)) = rest.split_at_checked(len) else { break };
            let is_sufficient = after.len() >= container.classified_bytes();
            let next = at + len as u64;
            let next_is_item = || container.classify(next, after, is_big_endian, end);
            if next != end
                && !(is_sufficient && next_is_item() != Classification::Invalid)
            {
                break;
            }
            let content = reader.classify(at, item);
            let content = match content {
                ItemContent::Declaration(_) | ItemContent::Broken => break,
                // Previous items may contain other fragments of the datagram.
                _ if content == ItemContent::Fragment
                    || !reader.fragments.is_empty() =>
                {
                    reader.fragments = Reassembler::default();
                    None
                }
                content => Some(content),
            };
            let sum = match &content {
                Some(ItemContent::Packet(packet)) => packet.sum(item),
                _ => 0,
            };
            items.push(ScannedItem { at, len, content, sum });
            at = next;
        }
        Ok(Some(Self { start, bytes, items, end: at }))
    }
}
