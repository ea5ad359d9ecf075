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
    /// The bytes from `start` on, of all items and possibly more.
    pub(super) bytes: Bytes,
    pub(super) items: Vec<ScannedItem>,
    /// The end of the scanned items.
    pub(super) end: u64,
}

/// A scanned item.
pub(super) struct ScannedItem {
    pub(super) offset: u64,
    pub(super) len: usize,
    /// The classification of the item, without detecting duplicates. `None` if it depends
    /// on previous items, e.g. for a fragment.
    pub(super) content: Option<ItemContent>,
    /// The [`hash`](crate::capture::reader::LidarPacket::hash) of a packet.
    pub(super) hash: u64,
}

impl Segment {
    /// Scans the items that start in `range` of the capture in `source`, whose length is
    /// `file_len`. Returns `None` if no item is found. The `reader` must not contain packets
    /// or fragments.
    pub(super) fn scan(
        source: &Arc<dyn Source>,
        range: Range<u64>,
        file_len: u64,
        mut reader: ItemReader,
    ) -> io::Result<Option<Self>> {
        // The byte before the range is read too, because a search starts one byte after the
        // position of the damage.
        let read_start = range.start.saturating_sub(1);
        let read_end = range.end.saturating_add(OVERLAP_BYTES).min(file_len);
        let bytes = source.read_at(read_start..read_end)?;
        let container = reader.container;
        let is_big_endian = reader.section.is_big_endian;
        let source: Arc<dyn Source> = Arc::new(bytes.clone());
        let resync =
            Resync { container, is_big_endian, file_len: file_len - read_start };
        let mut window = WindowReader::new(&source);
        let first = resync.next_item(0, &mut window);
        let Ok(Some(first)) = first else { return Ok(None) };
        let start = read_start + first;
        let bytes = bytes.slice(first as usize..);
        let (mut offset, mut items) = (start, Vec::new());
        while offset < range.end {
            let remaining = bytes.get((offset - start) as usize..).unwrap_or_default();
            let classification =
                container.classify(offset, remaining, is_big_endian, file_len);
            let Classification::Item(len) = classification else { break };
            let len = len as usize;
            let Some(item) = remaining.get(..len) else { break };
            let next = offset + len as u64;
            let has_confirmed_end =
                resync.has_confirmed_end(offset - read_start, len as u64, &window);
            if !has_confirmed_end.unwrap_or(false) {
                break;
            }
            let content = reader.classify(offset, item);
            let content = match content {
                ItemContent::Declaration(_) | ItemContent::Broken => break,
                // Previous items may contain other fragments of the datagram.
                _ if content == ItemContent::Fragment
                    || !reader.reassembler.is_empty() =>
                {
                    reader.reassembler = Reassembler::default();
                    None
                }
                content => Some(content),
            };
            let hash = match &content {
                Some(ItemContent::Packet(packet)) => packet.hash(item),
                _ => 0,
            };
            items.push(ScannedItem { offset, len, content, hash });
            offset = next;
        }
        Ok(Some(Self { start, bytes, items, end: offset }))
    }
}
