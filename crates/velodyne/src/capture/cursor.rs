//! Reads the packets of a part.

use std::{mem, sync::Arc};

use logtool_core::{
    Block, Cursor, DamagedRangeCursor, Manifest, RecordScanner, Result, ScanStep,
    Selection, Source, Timestamp, TopicId,
};

use crate::capture::{
    container::Classification,
    format_state::{FormatState, PartStart},
    item::Section,
    packets::{defragment::Reassembler, duplicates::DuplicateFilter},
    reader::{ItemContent, ItemReader, LidarPacket, PacketBytes},
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
    /// The end of the file.
    end: u64,
    /// The next damaged range.
    gap: DamagedRangeCursor,
    /// The end of the last damaged range that was reached.
    gap_end: u64,
    /// A reassembled packet, whose bytes are not contiguous in the file.
    reassembled: Option<ReassembledPacket>,
}

/// The topics for which a packet is selected: its own, and its points.
type SelectedTopics = [Option<TopicId>; 2];

struct ReassembledPacket {
    topics: SelectedTopics,
    time: Timestamp,
    bytes: Vec<u8>,
    /// The position of the frame that completed the packet.
    at: u64,
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
        let at = scanner.position();
        let (section, fragments) = (Section::default(), Reassembler::default());
        let hours = start.hours;
        let (container, duplicate_filter) =
            (format_state.container, DuplicateFilter::default());
        let verifies_checksums = format_state.verifies_checksums;
        let mut reader = ItemReader {
            container,
            section,
            fragments,
            duplicate_filter,
            hours,
            verifies_checksums,
        };
        let end = source.len();
        let mut declarations = format_state.declarations.iter().peekable();
        for frame in start.fragments {
            while let Some((_, declaration)) =
                declarations.next_if(|(declared, _)| *declared < frame)
            {
                reader.section.declare(*declaration);
            }
            replay(&mut reader, source, frame, end)?;
        }
        for (_, declaration) in declarations.filter(|(declared, _)| *declared < at) {
            reader.section.declare(*declaration);
        }
        // Set after the replay: otherwise the frames that were read again would be
        // duplicates.
        reader.duplicate_filter = start.duplicate_filter;
        let gap = DamagedRangeCursor::new(&format_state.gaps, at);
        let state = CursorState {
            reader,
            manifest,
            format_state,
            selection,
            end,
            gap,
            gap_end: 0,
            reassembled: None,
        };
        Ok(Self { scanner, state })
    }
}

/// Reads the frame at `at` again, which contains a fragment of an incomplete datagram.
fn replay(
    reader: &mut ItemReader,
    source: &Arc<dyn Source>,
    at: u64,
    end: u64,
) -> Result<()> {
    let first_bytes = source
        .read_at(at..at.saturating_add(reader.container.classified_bytes() as u64))?;
    let is_big_endian = reader.section.is_big_endian;
    if let Classification::Item(len) =
        reader.container.classify(at, &first_bytes, is_big_endian, end)
    {
        let item = source.read_at(at..at + len)?;
        reader.read(at, &item);
    }
    Ok(())
}

impl Cursor for CaptureCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { scanner, state } = self;
        if let Some(reassembled) = state.reassembled.take() {
            let len = reassembled.bytes.len();
            block.reset_decompressed(reassembled.bytes.into(), reassembled.at);
            for topic in reassembled.topics.into_iter().flatten() {
                block.push(topic, reassembled.time, 0..len);
            }
            return Ok(true);
        }
        let start = scanner.position();
        scanner.fill(block, |block, bytes, scanned_len| {
            let rest = bytes.get(scanned_len..).unwrap_or_default();
            state.step(block, start + scanned_len as u64, rest, scanned_len)
        })
    }
}

impl CursorState {
    /// Reads the item at `at` of the file, which is at `scanned_len` of the block. `rest`
    /// contains the bytes of the block from there on.
    fn step(
        &mut self,
        block: &mut Block,
        at: u64,
        rest: &[u8],
        scanned_len: usize,
    ) -> ScanStep {
        let gap_end = match self.gap.range_at(&self.format_state.gaps, at) {
            Some(gap) => gap.bytes.end,
            None => self.gap_end,
        };
        if at < gap_end {
            return self.pass(at, rest, gap_end);
        }
        let left = self.end.saturating_sub(at);
        let classified_len = left.min(self.reader.container.classified_bytes() as u64);
        if (rest.len() as u64) < classified_len {
            return ScanStep::Partial { len: classified_len as usize };
        }
        let (container, is_big_endian) =
            (self.reader.container, self.reader.section.is_big_endian);
        let len = match container.classify(at, rest, is_big_endian, self.end) {
            Classification::Item(len) => usize::try_from(len).unwrap_or(usize::MAX),
            // The index pass saw something else here: the file has changed since.
            _ => return ScanStep::Whole { len: rest.len().max(1) },
        };
        let Some(item) = rest.get(..len) else { return ScanStep::Partial { len } };
        let content = self.reader.read(at, item);
        // The index pass has reported these frames.
        self.reader.fragments.lost.clear();
        match content {
            ItemContent::Packet(packet) => {
                self.packet(block, at, packet, scanned_len, len)
            }
            _ => ScanStep::Whole { len },
        }
    }

    /// Skips an item of the damaged range that ends at `gap_end`, or the rest of the
    /// range if there is no item. Fragments in lost frames are added like in the index
    /// pass, so that later datagrams are reassembled the same way.
    fn pass(&mut self, at: u64, rest: &[u8], gap_end: u64) -> ScanStep {
        let left = gap_end - at;
        let classified_len = left.min(self.reader.container.classified_bytes() as u64);
        if (rest.len() as u64) < classified_len {
            return ScanStep::Partial { len: classified_len as usize };
        }
        let is_big_endian = self.reader.section.is_big_endian;
        let classification =
            self.reader.container.classify(at, rest, is_big_endian, gap_end);
        let len = match classification {
            Classification::Item(len) => {
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                let Some(item) = rest.get(..len) else {
                    return ScanStep::Partial { len };
                };
                self.reader.read(at, item);
                self.reader.fragments.lost.clear();
                len
            }
            Classification::Truncated | Classification::Invalid => {
                usize::try_from(left).unwrap_or(usize::MAX)
            }
        };
        self.gap_end = gap_end;
        match self.gap.step(&self.format_state.gaps, at) {
            Some(ScanStep::Damaged { damage, .. }) => {
                ScanStep::Damaged { len: len as u64, damage }
            }
            _ => ScanStep::Whole { len },
        }
    }

    fn packet(
        &mut self,
        block: &mut Block,
        at: u64,
        mut packet: LidarPacket,
        scanned_len: usize,
        len: usize,
    ) -> ScanStep {
        let whole_step = ScanStep::Whole { len };
        let Some(topic) = self.format_state.topic(&packet.sender) else {
            return whole_step;
        };
        let (manifest, selection) = (&self.manifest, &self.selection);
        let is_selected =
            |topic: &TopicId| manifest.needs_record(selection, *topic, packet.time);
        let points = self.format_state.points_of(topic);
        let topics = [Some(topic).filter(is_selected), points.filter(is_selected)];
        if topics == [None; 2] {
            return whole_step;
        }
        match &mut packet.bytes {
            PacketBytes::InItem(payload_range) => {
                for topic in topics.into_iter().flatten() {
                    let payload_range = scanned_len + payload_range.start
                        ..scanned_len + payload_range.end;
                    block.push(topic, packet.time, payload_range);
                }
                whole_step
            }
            PacketBytes::Reassembled(bytes) => {
                let (time, bytes) = (packet.time, mem::take(bytes));
                self.reassembled = Some(ReassembledPacket { topics, time, bytes, at });
                ScanStep::Last { len }
            }
        }
    }
}
