//! Reads the messages of a part.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, ChunkLimits, Cursor, Damage, DamageKind, DamagedRangeCursor, OpenOptions,
    RecordScanner, Result, ScanStep, Selection, Source,
};

use crate::{
    channels::Channels,
    check::ChunkInspection,
    chunk::{self, DecompressedChunk},
    contents::{self, ContentItem},
    wire::{self, PAYLOAD_HEADER_LEN, RECORD_HEADER_LEN, op, timestamp},
};

/// Reads one part.
pub(crate) struct McapCursor {
    reader: MessageReader,
    remaining: RemainingContent,
}

/// The content of a part that is not read yet.
enum RemainingContent {
    /// A chunk at this byte range, and the limits of the file.
    Chunk(Arc<dyn Source>, Range<u64>, ChunkLimits),
    /// Records outside chunks.
    Records {
        scanner: RecordScanner,
        damaged_ranges: Arc<[Damage]>,
        next_damaged_range: DamagedRangeCursor,
    },
    Done,
}

/// Selects messages, and adds them to blocks.
struct MessageReader {
    channels: Arc<Channels>,
    selection: Selection,
    /// Whether topics are selected that are derived from messages.
    selects_derived: bool,
    options: OpenOptions,
    /// Checks chunks while they are read.
    inspection: Option<Arc<ChunkInspection>>,
}

impl McapCursor {
    /// Creates a cursor for the chunk at `position` of `source`.
    pub(crate) fn chunk(
        source: &Arc<dyn Source>,
        position: Range<u64>,
        limits: ChunkLimits,
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let reader = MessageReader::new(channels, selection, options);
        let remaining = RemainingContent::Chunk(source.clone(), position, limits);
        Self { reader, remaining }
    }

    /// Sets the inspection that checks the chunks while they are read.
    pub(crate) fn with_inspection(mut self, inspection: Arc<ChunkInspection>) -> Self {
        self.reader.inspection = Some(inspection);
        self
    }

    /// Creates a cursor for the records at `position`, which are outside chunks. The
    /// cursor skips and reports those of the `damaged_ranges` that are there.
    pub(crate) fn records(
        source: &Arc<dyn Source>,
        position: Range<u64>,
        damaged_ranges: Arc<[Damage]>,
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let reader = MessageReader::new(channels, selection, options);
        let next_damaged_range =
            DamagedRangeCursor::new(&damaged_ranges, position.start);
        let scanner = RecordScanner::new(source.clone(), position, options);
        let remaining =
            RemainingContent::Records { scanner, damaged_ranges, next_damaged_range };
        Self { reader, remaining }
    }
}

impl Cursor for McapCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { reader, remaining } = self;
        match remaining {
            RemainingContent::Done => Ok(false),
            RemainingContent::Chunk(_, position, _)
                if position.end - position.start > reader.max_chunk_len() =>
            {
                block.reset(Bytes::new(), position.start);
                block.report(Damage::new(DamageKind::OverLimit, position.clone()));
                *remaining = RemainingContent::Done;
                Ok(true)
            }
            RemainingContent::Chunk(source, position, limits) => {
                let bytes = source.read_at(position.clone())?;
                let decompressed = DecompressedChunk::new(&bytes, limits, &**source)?;
                let decompressed =
                    decompressed.map(|chunk| chunk.in_file(position.end, source.len()));
                reader.read_chunk(block, position.clone(), decompressed);
                *remaining = RemainingContent::Done;
                Ok(true)
            }
            RemainingContent::Records {
                scanner,
                damaged_ranges,
                next_damaged_range,
            } => {
                let start = scanner.position();
                scanner.fill(block, |block, bytes, scanned_len| {
                    let offset = start + scanned_len as u64;
                    let skipped = next_damaged_range.step(damaged_ranges, offset);
                    skipped.unwrap_or_else(|| {
                        reader.read_record(block, offset, bytes, scanned_len)
                    })
                })
            }
        }
    }
}

impl MessageReader {
    fn new(
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let selects_derived = channels.derived.is_any_selected(&selection.topics);
        Self { channels, selection, selects_derived, options, inspection: None }
    }

    /// Reads the record after the first `scanned_len` of `bytes`, which is at `offset` of
    /// the file.
    fn read_record(
        &self,
        block: &mut Block,
        offset: u64,
        bytes: &[u8],
        scanned_len: usize,
    ) -> ScanStep {
        let remaining = bytes.get(scanned_len..).unwrap_or_default();
        let Some((op, content_len)) = wire::record_header(remaining) else {
            return ScanStep::Partial { len: RECORD_HEADER_LEN };
        };
        let len = usize::try_from(content_len)
            .unwrap_or(usize::MAX)
            .saturating_add(RECORD_HEADER_LEN);
        if op != op::MESSAGE {
            // The content is not needed. An attachment may be longer than the limit for
            // records in memory.
            return ScanStep::Whole { len };
        }
        let Some(content) = remaining.get(RECORD_HEADER_LEN..len) else {
            return ScanStep::Partial { len };
        };
        let content_range = scanned_len + RECORD_HEADER_LEN..scanned_len + len;
        self.add_message(block, content, content_range, offset..offset + len as u64);
        ScanStep::Whole { len }
    }

    /// Returns the maximum length of the record of a chunk.
    fn max_chunk_len(&self) -> u64 {
        chunk::max_record_len(self.options)
    }

    /// Reads the chunk at `position`, as far as it could be decompressed. `decompressed` is
    /// `None` if it is not a chunk.
    fn read_chunk(
        &self,
        block: &mut Block,
        position: Range<u64>,
        decompressed: Option<DecompressedChunk>,
    ) {
        let Some(decompressed) = decompressed else {
            block.reset(Bytes::new(), position.start);
            block.report(Damage::new(DamageKind::Garbled, position));
            return;
        };
        if let Some(inspection) = &self.inspection {
            inspection.check(&position, &decompressed);
        }
        let records = decompressed.records.clone();
        match decompressed.records_start {
            Some(start) => block.reset(records.clone(), position.start + start as u64),
            None => block.reset_decompressed(records.clone(), position.start),
        }
        let file_range =
            |range: &Range<usize>| decompressed.file_range(position.clone(), range);
        contents::for_each_record(&records, |item| match item {
            ContentItem::Record(op::MESSAGE, content, range) => {
                let file_range = file_range(&range);
                self.add_message(block, content, range, file_range);
            }
            ContentItem::Record(..) => {}
            ContentItem::Damaged(range) if decompressed.covers_damage_at(&range) => {}
            ContentItem::Damaged(range) => {
                block.report(Damage::new(DamageKind::Garbled, file_range(&range)));
            }
        });
        if decompressed.is_unverified() {
            let reason = "the checksum also covers records that are lost";
            let doubtful = Damage::new(DamageKind::Doubtful, position.clone());
            block.report(doubtful.with_reason(reason));
        }
        if let Some(damage) = decompressed.damage(&position) {
            block.report(damage);
        }
    }

    /// Adds a message and the records that are derived from it to `block`, as far as they
    /// are selected. The `content` of the message is at `content_range` of the block; the
    /// damage of a message that cannot be read is reported at `file_range`.
    fn add_message(
        &self,
        block: &mut Block,
        content: &[u8],
        content_range: Range<usize>,
        file_range: Range<u64>,
    ) {
        let Some((channel, time)) = wire::message(content) else {
            let lost = Damage::new(DamageKind::Undecodable, file_range);
            return block.report(lost.with_records(1, None));
        };
        let Some((stream, topic)) = self.channels.get(channel) else {
            if self.channels.all_ids().contains(channel.into()) {
                return;
            }
            let lost = Damage::new(DamageKind::UnknownTopic, file_range);
            return block.report(lost.with_records(1, None));
        };
        let time = timestamp(time);
        // The payload of a record is the content after the channel id (`u16`).
        let payload = content_range.start + 2..content_range.end;
        if self.selects_derived {
            let data = payload.start + PAYLOAD_HEADER_LEN as usize..payload.end;
            let (derived, topic_and_stream) = (&self.channels.derived, (topic, stream));
            derived.derive(block, &self.selection, topic_and_stream, time, data);
        }
        if self.selection.contains(topic, time) {
            block.push_from_stream(topic, stream, time, payload);
        }
    }
}
