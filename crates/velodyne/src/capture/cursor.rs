//! Reads the packets of a part.

use std::{collections::VecDeque, iter, mem, sync::Arc};

use logtool_core::{
    Block, Cursor, Damage, DamagedRangeCursor, Manifest, RecordScanner, Result,
    ScanStep, Selection, Source, Timestamp, TopicId,
};

use crate::{
    capture::{
        container::Classification,
        format_state::{FormatState, PartStart},
        item::Section,
        packets::{defragment::Reassembler, duplicates::DuplicateFilter},
        reader::{ItemContent, ItemReader, LidarPacket, PacketBytes},
    },
    changed_file::changed_bytes,
};

/// Reads one part of a capture.
pub(crate) struct CaptureCursor {
    scanner: RecordScanner,
    state: CursorState,
}

struct CursorState {
    reader: ItemReader,
    manifest: Arc<Manifest>,
    format_state: Arc<FormatState>,
    selection: Selection,
    file_len: u64,
    damage_cursor: DamagedRangeCursor,
    /// The end of the last damaged range that was reached.
    damage_end: u64,
    /// The packets for the next blocks that are reassembled or completed. Their bytes are not
    /// contiguous in the file.
    owned: VecDeque<OwnedPacket>,
}

/// The topics for which a packet is selected: that of packets, and that of points.
type SelectedTopics = [Option<TopicId>; 2];

struct OwnedPacket {
    topics: SelectedTopics,
    time: Timestamp,
    bytes: Vec<u8>,
    /// The offset of its last frame.
    offset: u64,
    /// The damage that is reported if it is doubtful.
    damage: Option<Damage>,
}

impl CaptureCursor {
    /// Creates a cursor for the range of `scanner` in `source`. `start` is the state of the
    /// reader at its start.
    pub(crate) fn new(
        scanner: RecordScanner,
        source: &Arc<dyn Source>,
        manifest: Arc<Manifest>,
        format_state: Arc<FormatState>,
        start: PartStart,
        selection: Selection,
    ) -> Result<Self> {
        let position = scanner.position();
        let mut reader = ItemReader {
            container: format_state.container,
            section: Section::default(),
            reassembler: Reassembler::default(),
            duplicate_filter: DuplicateFilter::default(),
            hours: start.hours,
            verifies_checksums: format_state.verifies_checksums,
            corrections: format_state.corrections.clone(),
        };
        let file_len = source.len();
        let mut declarations = format_state.declarations.iter().peekable();
        for frame in start.fragments {
            while let Some((_, declaration)) =
                declarations.next_if(|(offset, _)| *offset < frame)
            {
                reader.section.declare(*declaration);
            }
            replay_fragment(&mut reader, source, frame, file_len)?;
        }
        for (_, declaration) in declarations.filter(|(offset, _)| *offset < position) {
            reader.section.declare(*declaration);
        }
        // Set after the replay: otherwise the frames that were read again would be
        // duplicates.
        reader.duplicate_filter = start.duplicate_filter;
        let damage_cursor = DamagedRangeCursor::new(&format_state.damage, position);
        let state = CursorState {
            reader,
            manifest,
            format_state,
            selection,
            file_len,
            damage_cursor,
            damage_end: 0,
            owned: VecDeque::new(),
        };
        Ok(Self { scanner, state })
    }
}

/// Reads the frame at `offset` again, which contains a fragment, so that `reader` stores
/// the fragment.
fn replay_fragment(
    reader: &mut ItemReader,
    source: &Arc<dyn Source>,
    offset: u64,
    file_len: u64,
) -> Result<()> {
    let classified_len = reader.container.classified_bytes() as u64;
    let first_bytes = source.read_at(offset..offset.saturating_add(classified_len))?;
    let is_big_endian = reader.section.is_big_endian;
    if let Classification::Item(len) =
        reader.container.classify(offset, &first_bytes, is_big_endian, file_len)
    {
        let item = source.read_at(offset..offset + len)?;
        reader.read(offset, &item);
    }
    Ok(())
}

impl Cursor for CaptureCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { scanner, state } = self;
        if let Some(owned) = state.owned.pop_front() {
            let len = owned.bytes.len();
            block.reset_decompressed(owned.bytes.into(), owned.offset);
            for topic in owned.topics.into_iter().flatten() {
                block.push(topic, owned.time, 0..len);
            }
            owned.damage.into_iter().for_each(|damage| block.report(damage));
            return Ok(true);
        }
        let start = scanner.position();
        scanner.fill(block, |block, bytes, scanned_len| {
            let unscanned = bytes.get(scanned_len..).unwrap_or_default();
            state.step(block, start + scanned_len as u64, unscanned, scanned_len)
        })
    }
}

impl CursorState {
    /// Reads the item at `offset` of the file, which is at `scanned_len` of the block.
    /// `bytes` contains the bytes of the block from there on.
    fn step(
        &mut self,
        block: &mut Block,
        offset: u64,
        bytes: &[u8],
        scanned_len: usize,
    ) -> ScanStep {
        let damage = self.damage_cursor.range_at(&self.format_state.damage, offset);
        let damage_end = damage.map_or(self.damage_end, |damage| damage.bytes.end);
        if offset < damage_end {
            return self.skip_damage(offset, bytes, damage_end);
        }
        let remaining = self.file_len.saturating_sub(offset);
        let classified_len =
            remaining.min(self.reader.container.classified_bytes() as u64);
        if (bytes.len() as u64) < classified_len {
            return ScanStep::Partial { len: classified_len as usize };
        }
        let container = self.reader.container;
        let is_big_endian = self.reader.section.is_big_endian;
        let len = match container.classify(offset, bytes, is_big_endian, self.file_len)
        {
            Classification::Item(len) => usize::try_from(len).unwrap_or(usize::MAX),
            // The index pass found an item here.
            _ => return changed_bytes(offset, bytes),
        };
        let Some(item) = bytes.get(..len) else { return ScanStep::Partial { len } };
        let content = self.reader.read(offset, item);
        // The index pass has reported these frames.
        self.reader.reassembler.lost.clear();
        if let ItemContent::Packet(mut packet) = content {
            let others = mem::take(&mut packet.others);
            for packet in iter::once(packet).chain(others) {
                self.add_packet(block, offset, packet, scanned_len, len);
            }
        }
        if self.owned.is_empty() {
            ScanStep::Whole { len }
        } else {
            ScanStep::Last { len }
        }
    }

    /// Skips an item of the damaged range that ends at `damage_end`, or the remaining range
    /// if there is no item. Fragments in lost frames are added like in the index pass, so
    /// that later datagrams are reassembled the same way.
    fn skip_damage(&mut self, offset: u64, bytes: &[u8], damage_end: u64) -> ScanStep {
        let remaining = damage_end - offset;
        let classified_len =
            remaining.min(self.reader.container.classified_bytes() as u64);
        if (bytes.len() as u64) < classified_len {
            return ScanStep::Partial { len: classified_len as usize };
        }
        let is_big_endian = self.reader.section.is_big_endian;
        let classification =
            self.reader.container.classify(offset, bytes, is_big_endian, damage_end);
        let len = match classification {
            Classification::Item(len) => {
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                let Some(item) = bytes.get(..len) else {
                    return ScanStep::Partial { len };
                };
                self.reader.read(offset, item);
                self.reader.reassembler.lost.clear();
                len
            }
            Classification::Truncated | Classification::Invalid => {
                usize::try_from(remaining).unwrap_or(usize::MAX)
            }
        };
        self.damage_end = damage_end;
        match self.damage_cursor.step(&self.format_state.damage, offset) {
            Some(ScanStep::Damaged { damage, .. }) => {
                ScanStep::Damaged { len: len as u64, damage }
            }
            _ => ScanStep::Whole { len },
        }
    }

    /// Adds a packet to `block`, if it is selected. It is in the item of `len` bytes at
    /// `offset`.
    fn add_packet(
        &mut self,
        block: &mut Block,
        offset: u64,
        packet: LidarPacket,
        scanned_len: usize,
        len: usize,
    ) {
        let Some(topic) = self.format_state.packets_topic(&packet.sender) else {
            return;
        };
        let time = packet.time;
        let is_selected =
            |topic: &TopicId| self.manifest.needs_record(&self.selection, *topic, time);
        let points = self.format_state.points_topic(topic);
        let topics = [Some(topic).filter(is_selected), points.filter(is_selected)];
        if topics == [None; 2] {
            return;
        }
        let item = offset..offset + len as u64;
        let damage = packet.doubt.map(|doubt| doubt.damage(item));
        match packet.bytes {
            PacketBytes::InItem(range) => {
                let payload_range = scanned_len + range.start..scanned_len + range.end;
                for topic in topics.into_iter().flatten() {
                    block.push(topic, time, payload_range.clone());
                }
                damage.into_iter().for_each(|damage| block.report(damage));
            }
            PacketBytes::Owned(bytes) => {
                let owned = OwnedPacket { topics, time, bytes, offset, damage };
                self.owned.push_back(owned);
            }
        }
    }
}
