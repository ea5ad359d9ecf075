//! The records of a file and their positions.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use logtool_core::{Finding, Findings, Result, WindowReader};

use crate::{
    check::{CheckInput, codes as code},
    chunk::Compression,
    declaration::Declaration,
    resync,
    wire::{self, Chunk, ChunkIndex, MAGIC, RECORD_HEADER_LEN, Statistics, op},
};

/// The maximum length of summary records and declarations that are checked.
const MAX_CONTENT: usize = 64 << 20;

/// The records of a file and their positions.
#[derive(Default)]
pub(super) struct FileLayout {
    pub(super) chunks: Vec<ChunkEntry>,
    /// The messages outside chunks.
    pub(super) outside: UnchunkedMessages,
    /// The declarations outside chunks, with their offsets.
    pub(super) declared: Vec<(u64, Declaration)>,
    /// The ids of the channels among these.
    channels: BTreeSet<u16>,
    pub(super) attachments: Vec<Range<u64>>,
    pub(super) metadata: Vec<Range<u64>>,
    /// The offset and the checksum of the data end record.
    pub(super) data_end: Option<(u64, u32)>,
    pub(super) summary: SummarySection,
    /// The footer and its offset.
    pub(super) footer: Option<(u64, Footer)>,
    /// Whether the whole file consists of valid records.
    pub(super) is_complete: bool,
    /// Whether the header of the last chunk is unusable.
    is_last_header_unusable: bool,
}

/// A chunk that is not checked yet.
#[derive(Clone, Debug)]
pub(super) struct ChunkEntry {
    /// The byte range of its record.
    pub(super) bytes: Range<u64>,
    /// The declared start time, end time and size, and the name of the compression.
    pub(super) header: (u64, u64, u64, String),
    pub(super) compressed_len: u64,
    /// Its message indexes: the channel id and the byte range of the record.
    pub(super) indexes: Vec<(u16, Range<u64>)>,
}

/// Messages outside chunks.
#[derive(Default)]
pub(super) struct UnchunkedMessages {
    pub(super) counts: BTreeMap<u16, u64>,
    /// The first and the last log time.
    pub(super) times: Option<(u64, u64)>,
    /// Messages of channels that were not declared before: the offset and the channel
    /// id.
    pub(super) undeclared: Vec<(u64, u16)>,
}

/// The records after the data section.
#[derive(Default)]
pub(super) struct SummarySection {
    /// The offset of the first of these records.
    pub(super) start: Option<u64>,
    pub(super) declared: Vec<Declaration>,
    pub(super) chunks: Vec<(u64, ChunkIndex)>,
    pub(super) statistics: Option<(u64, Statistics)>,
    /// The declared positions of attachments, metadata and summary groups: the offset
    /// of the declaration, the opcode of the record, and its byte range.
    pub(super) declared_ranges: Vec<(u64, u8, Range<u64>)>,
    /// The offset of the first summary offset record.
    pub(super) offsets: Option<u64>,
}

/// The fields of a footer.
#[derive(Clone, Copy)]
pub(super) struct Footer {
    pub(super) summary: u64,
    pub(super) offsets: u64,
    pub(super) crc: u32,
}

impl FileLayout {
    /// Reads the file of `log` record by record.
    pub(super) fn read(log: &CheckInput, findings: &mut Findings) -> Result<Self> {
        let (len, mut window) = (log.source.len(), WindowReader::new(&log.source));
        let (mut layout, mut at) = (Self::default(), MAGIC.len() as u64);
        layout.is_complete = true;
        while at < len {
            let first_bytes = window.read_at(at, resync::INSPECTED_LEN)?;
            let is_magic = first_bytes.starts_with(&MAGIC);
            if is_magic && layout.footer.is_some() {
                let end = at + MAGIC.len() as u64;
                if end < len {
                    let message = format!("{} bytes", len - end);
                    findings.add(
                        Finding::new(&code::TRAILING, message).with_bytes(end..len),
                    );
                }
                return Ok(layout);
            }
            let chunks = &log.chunks;
            let chunk = chunks.binary_search_by_key(&at, |chunk| chunk.start);
            if let Some(bytes) = chunk.ok().and_then(|at| chunks.get(at)) {
                at = bytes.end;
                layout.chunk(&mut window, bytes.clone())?;
                continue;
            }
            let record_header = wire::record_header(&first_bytes);
            let frame = record_header.and_then(|(op, content)| {
                let end =
                    at.checked_add(RECORD_HEADER_LEN as u64)?.checked_add(content)?;
                (op != 0 && end <= len).then_some((op, at..end))
            });
            let gap =
                log.damaged_ranges.binary_search_by_key(&at, |gap| gap.bytes.start);
            let gap = gap.ok().and_then(|index| log.damaged_ranges.get(index));
            match (frame, gap) {
                (Some((op, bytes)), None) => {
                    at = bytes.end;
                    layout.record(&mut window, op, bytes, findings)?;
                }
                (_, Some(gap)) => {
                    layout.is_complete = false;
                    at = gap.bytes.end.max(at + 1);
                }
                (None, None) => {
                    layout.is_complete = false;
                    at = resync::search(&mut window, at + 1, len)?.unwrap_or(len);
                }
            }
        }
        let end = len.saturating_sub(MAGIC.len() as u64);
        if layout.footer.is_none() && window.peek(end, MAGIC.len())?[..] == MAGIC {
            return Ok(layout);
        }
        let message = "the file ends prematurely";
        findings.add(Finding::new(&code::MAGIC_END, message).with_bytes(len..len));
        Ok(layout)
    }

    fn record(
        &mut self,
        window: &mut WindowReader<'_>,
        op: u8,
        bytes: Range<u64>,
        findings: &mut Findings,
    ) -> Result<()> {
        let len = (bytes.end - bytes.start) as usize;
        let is_after_data = self.data_end.is_some();
        let (is_short, len) = (len <= MAX_CONTENT, len.min(MAX_CONTENT));
        let mut content = || -> Result<Bytes> {
            let record = window.read_at(bytes.start, len)?;
            Ok(record.slice(RECORD_HEADER_LEN.min(record.len())..len.min(record.len())))
        };
        if is_after_data && op != op::FOOTER {
            self.summary.start.get_or_insert(bytes.start);
        }
        match op {
            op::CHUNK => self.chunk(window, bytes)?,
            op::MESSAGE_INDEX if self.is_last_header_unusable => {}
            op::MESSAGE => {
                let record = window.read_at(
                    bytes.start,
                    RECORD_HEADER_LEN + wire::MESSAGE_HEADER_LEN,
                )?;
                self.message(
                    bytes.start,
                    record.get(RECORD_HEADER_LEN..).unwrap_or_default(),
                );
            }
            op::MESSAGE_INDEX => {
                let record = window.read_at(bytes.start, RECORD_HEADER_LEN + 2)?;
                let channel = record.get(RECORD_HEADER_LEN..RECORD_HEADER_LEN + 2);
                let channel = channel.and_then(|id| id.try_into().ok());
                if let (Some(chunk), Some(id)) = (self.chunks.last_mut(), channel) {
                    chunk.indexes.push((u16::from_le_bytes(id), bytes));
                }
            }
            op::ATTACHMENT => self.attachments.push(bytes),
            op::METADATA => self.metadata.push(bytes),
            op::FOOTER => {
                let footer = wire::footer_with_offsets(&content()?);
                self.footer = footer
                    .map(|(summary, offsets, crc)| Footer { summary, offsets, crc })
                    .map(|footer| (bytes.start, footer));
            }
            op::DATA_END => {
                let crc = content()?.get(..4).and_then(|crc| crc.try_into().ok());
                let crc = u32::from_le_bytes(crc.unwrap_or_default());
                self.data_end = Some((bytes.start, crc));
            }
            op::SCHEMA | op::CHANNEL if is_short => {
                let declared = Declaration::parse(op, &content()?);
                if is_after_data {
                    self.summary.declared.extend(declared);
                } else {
                    let channel = declared.as_ref().and_then(Declaration::channel);
                    self.channels.extend(channel);
                    self.declared
                        .extend(declared.map(|declared| (bytes.start, declared)));
                }
            }
            op::CHUNK_INDEX if is_short => {
                let index = ChunkIndex::parse(&content()?);
                self.summary.chunks.extend(index.map(|index| (bytes.start, index)));
            }
            op::STATISTICS if is_short => {
                let declared = Statistics::parse(&content()?);
                self.summary.statistics =
                    declared.map(|declared| (bytes.start, declared));
            }
            op::ATTACHMENT_INDEX | op::METADATA_INDEX | op::SUMMARY_OFFSET
                if is_short =>
            {
                let position = wire::declared_range(op, &content()?);
                if op == op::SUMMARY_OFFSET {
                    self.summary.offsets.get_or_insert(bytes.start);
                }
                let declared =
                    position.map(|(kind, position)| (bytes.start, kind, position));
                self.summary.declared_ranges.extend(declared);
            }
            0x10..=0x7f => {
                let message = format!("the opcode is {op:#04x}");
                findings.add(
                    Finding::new(&code::RECORD_UNKNOWN, message).with_bytes(bytes),
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        bytes: Range<u64>,
    ) -> Result<()> {
        let len = resync::INSPECTED_LEN.min((bytes.end - bytes.start) as usize);
        let first_bytes = window.read_at(bytes.start, len)?;
        let is_valid_header =
            wire::record_header(&first_bytes).is_some_and(|(op, content)| {
                op == op::CHUNK
                    && content == bytes.end - bytes.start - RECORD_HEADER_LEN as u64
            });
        let chunk =
            Chunk::parse(first_bytes.get(RECORD_HEADER_LEN..len).unwrap_or_default());
        let is_known = |chunk: &Chunk<'_>| {
            is_valid_header || Compression::from_name(chunk.compression).is_some()
        };
        let chunk = chunk.filter(is_known);
        self.is_complete &= is_valid_header && chunk.is_some();
        self.is_last_header_unusable = chunk.is_none();
        if let Some(chunk) = chunk {
            let name = logtool_core::decode_text(chunk.compression).into_owned();
            let header = (chunk.start, chunk.end, chunk.size, name);
            let (compressed_len, indexes) = (chunk.compressed_len, Vec::new());
            self.chunks.push(ChunkEntry { bytes, header, compressed_len, indexes });
        }
        Ok(())
    }

    fn message(&mut self, at: u64, content: &[u8]) {
        let Some((channel, time)) = wire::message(content) else { return };
        let is_new = !self.outside.counts.contains_key(&channel);
        *self.outside.counts.entry(channel).or_default() += 1;
        let (first, last) = self.outside.times.unwrap_or((time, time));
        self.outside.times = Some((first.min(time), last.max(time)));
        if is_new && !self.channels.contains(&channel) {
            self.outside.undeclared.push((at, channel));
        }
    }
}
