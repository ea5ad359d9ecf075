//! Reads the messages of a part.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Cursor, Damage, DamageKind, DamagedRangeCursor, OpenOptions, RecordScanner,
    Result, ScanStep, Selection, Source,
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

/// The unread rest of the part.
enum RemainingContent {
    /// A chunk at this byte range.
    Chunk(Arc<dyn Source>, Range<u64>),
    /// Records outside chunks.
    Records {
        scanner: RecordScanner,
        damaged_ranges: Arc<[Damage]>,
        gap: DamagedRangeCursor,
    },
    Done,
}

/// Selects messages, and adds them to blocks.
struct MessageReader {
    channels: Arc<Channels>,
    selection: Selection,
    /// Whether topics are selected that are derived from messages.
    has_derived: bool,
    options: OpenOptions,
    /// Checks chunks while they are read.
    inspection: Option<Arc<ChunkInspection>>,
}

impl McapCursor {
    /// Creates a cursor for the chunk at `position` of `source`.
    pub(crate) fn chunk(
        source: &Arc<dyn Source>,
        position: Range<u64>,
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let reader = MessageReader::new(channels, selection, options);
        Self { reader, remaining: RemainingContent::Chunk(source.clone(), position) }
    }

    /// Lets `inspection` check the chunks that this cursor reads.
    pub(crate) fn with_inspection(mut self, inspection: Arc<ChunkInspection>) -> Self {
        self.reader.inspection = Some(inspection);
        self
    }

    /// Creates a cursor for the records at `position`, which are outside chunks and may
    /// contain some of the damaged ranges `damaged_ranges`.
    pub(crate) fn records(
        source: &Arc<dyn Source>,
        position: Range<u64>,
        damaged_ranges: Arc<[Damage]>,
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let reader = MessageReader::new(channels, selection, options);
        let gap = DamagedRangeCursor::new(&damaged_ranges, position.start);
        let scanner = RecordScanner::new(source.clone(), position, options);
        Self {
            reader,
            remaining: RemainingContent::Records { scanner, damaged_ranges, gap },
        }
    }
}

impl Cursor for McapCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { reader, remaining } = self;
        match remaining {
            RemainingContent::Done => Ok(false),
            RemainingContent::Chunk(_, position)
                if position.end - position.start > reader.max_chunk_len() =>
            {
                block.reset(Bytes::new(), position.start);
                block.report(Damage::new(DamageKind::OverLimit, position.clone()));
                *remaining = RemainingContent::Done;
                Ok(true)
            }
            RemainingContent::Chunk(source, position) => {
                let bytes = source.read_at(position.clone())?;
                reader.chunk(block, position.clone(), &bytes);
                *remaining = RemainingContent::Done;
                Ok(true)
            }
            RemainingContent::Records { scanner, damaged_ranges, gap } => {
                let start = scanner.position();
                scanner.fill(block, |block, bytes, used| {
                    let at = start + used as u64;
                    let gap = gap.step(damaged_ranges, at);
                    gap.unwrap_or_else(|| reader.step(block, at, bytes, used))
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
        let has_derived = channels.derived.is_any_selected(&selection.topics);
        Self { channels, selection, has_derived, options, inspection: None }
    }

    /// Reads the record at `used` of `bytes`, which is at offset `at` of the file.
    fn step(
        &self,
        block: &mut Block,
        at: u64,
        bytes: &[u8],
        scanned_len: usize,
    ) -> ScanStep {
        let rest = bytes.get(scanned_len..).unwrap_or_default();
        let Some((op, len)) = wire::record_header(rest) else {
            return ScanStep::Partial { len: RECORD_HEADER_LEN };
        };
        let len = usize::try_from(len)
            .unwrap_or(usize::MAX)
            .saturating_add(RECORD_HEADER_LEN);
        if op != op::MESSAGE {
            // An attachment may be longer than the limit for records in memory.
            return ScanStep::Whole { len };
        }
        let Some(content) = rest.get(RECORD_HEADER_LEN..len) else {
            return ScanStep::Partial { len };
        };
        let file = at..at + len as u64;
        self.message(
            block,
            content,
            scanned_len + RECORD_HEADER_LEN..scanned_len + len,
            file,
        );
        ScanStep::Whole { len }
    }

    /// Returns the maximum length of the record of a chunk.
    fn max_chunk_len(&self) -> u64 {
        chunk::max_record_len(self.options)
    }

    /// Reads the chunk at `position`, as far as possible.
    fn chunk(&self, block: &mut Block, position: Range<u64>, bytes: &Bytes) {
        let Some(decompressed) =
            DecompressedChunk::new(bytes, self.options.record_bytes as usize)
        else {
            block.reset(Bytes::new(), position.start);
            block.report(Damage::new(DamageKind::Garbled, position));
            return;
        };
        if let Some(inspection) = &self.inspection {
            inspection.check(&position, &decompressed);
        }
        let records = decompressed.records.clone();
        match decompressed.records_start {
            Some(at) => block.reset(records.clone(), position.start + at as u64),
            None => block.reset_decompressed(records.clone(), position.start),
        }
        let file =
            |range: &Range<usize>| decompressed.file_range(position.clone(), range);
        contents::for_each_record(&records, |item| match item {
            ContentItem::Record(op::MESSAGE, content, range) => {
                let file = file(&range);
                self.message(block, content, range, file);
            }
            ContentItem::Record(..) => {}
            ContentItem::Damaged(range) if decompressed.is_reported(&range) => {}
            ContentItem::Damaged(range) => {
                block.report(Damage::new(DamageKind::Garbled, file(&range)));
            }
        });
        if decompressed.is_unverified() {
            let reason = "the checksum covers damaged data";
            let doubtful = Damage::new(DamageKind::Doubtful, position.clone());
            block.report(doubtful.with_reason(reason));
        }
        if let Some(damage) = decompressed.damage(&position) {
            block.report(damage);
        }
    }

    /// Adds the message whose `content` is at `range` of the block and at `file` of the
    /// file, if it is selected.
    fn message(
        &self,
        block: &mut Block,
        content: &[u8],
        range: Range<usize>,
        file: Range<u64>,
    ) {
        let Some((channel, time)) = wire::message(content) else {
            let lost = Damage::new(DamageKind::Undecodable, file);
            return block.report(lost.with_records(1, None));
        };
        let Some((stream, topic)) = self.channels.get(channel) else {
            if self.channels.known().contains(channel.into()) {
                return;
            }
            let lost = Damage::new(DamageKind::UnknownTopic, file);
            return block.report(lost.with_records(1, None));
        };
        let time = timestamp(time);
        if self.has_derived {
            // After the channel id and the header bytes.
            let payload = range.start + 2 + PAYLOAD_HEADER_LEN as usize..range.end;
            let (derived, topic_and_stream) = (&self.channels.derived, (topic, stream));
            derived.derive(block, &self.selection, topic_and_stream, time, payload);
        }
        if self.selection.contains(topic, time) {
            // Everything after the channel id.
            block.push_from_stream(topic, stream, time, range.start + 2..range.end);
        }
    }
}
