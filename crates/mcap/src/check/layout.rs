//! The records of a file and their positions.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use logtool_core::{ByteReader, Finding, Findings, Result, WindowReader};

use crate::{
    check::{CheckInput, codes as code},
    chunk::Compression,
    declaration::Declaration,
    resync,
    wire::{self, Chunk, ChunkIndex, Footer, MAGIC, RECORD_HEADER_LEN, Statistics, op},
};

/// The maximum length of summary records and declarations that are checked.
const MAX_RECORD_LEN: usize = 64 << 20;

/// The records of a file and their positions.
#[derive(Default)]
pub(super) struct FileLayout {
    pub(super) chunks: Vec<ChunkEntry>,
    /// The messages outside chunks.
    pub(super) outside: UnchunkedMessages,
    /// The declarations in the data section outside chunks, with their offsets.
    pub(super) declared: Vec<(u64, Declaration)>,
    /// The ids of the channels among these.
    channels: BTreeSet<u16>,
    pub(super) attachments: Vec<Range<u64>>,
    pub(super) metadata: Vec<Range<u64>>,
    /// The data end record: its offset, and the checksum that it declares.
    pub(super) data_end: Option<(u64, u32)>,
    pub(super) summary: SummarySection,
    /// The footer and its offset.
    pub(super) footer: Option<(u64, Footer)>,
    /// Whether the whole file consists of valid records.
    pub(super) is_complete: bool,
    /// Whether the header of the last chunk is unusable. Such a chunk is not in `chunks`.
    is_last_chunk_header_unusable: bool,
}

/// The header of a chunk and the positions of its records.
#[derive(Clone, Debug)]
pub(super) struct ChunkEntry {
    /// The byte range of its record.
    pub(super) bytes: Range<u64>,
    /// The declared first and last log time.
    pub(super) start_time: u64,
    pub(super) end_time: u64,
    /// The declared lengths of the records.
    pub(super) uncompressed_len: u64,
    pub(super) compressed_len: u64,
    /// The name of the compression.
    pub(super) compression: String,
    /// Its message indexes: the channel id and the byte range of the record.
    pub(super) message_indexes: Vec<(u16, Range<u64>)>,
}

/// Messages outside chunks.
#[derive(Default)]
pub(super) struct UnchunkedMessages {
    /// The offset of the first of them.
    pub(super) start: Option<u64>,
    pub(super) counts: BTreeMap<u16, u64>,
    /// The first and the last log time.
    pub(super) times: Option<(u64, u64)>,
    /// The first message of each channel that no record outside chunks declares before it:
    /// the offset and the channel id.
    pub(super) undeclared: Vec<(u64, u16)>,
}

/// The records after the data section.
#[derive(Default)]
pub(super) struct SummarySection {
    /// The offset of the first of these records.
    pub(super) start: Option<u64>,
    pub(super) declared: Vec<Declaration>,
    /// The chunk indexes, with their offsets.
    pub(super) chunk_indexes: Vec<(u64, ChunkIndex)>,
    /// The statistics, with their offset.
    pub(super) statistics: Option<(u64, Statistics)>,
    /// The declared positions of attachments, metadata and summary groups: the offset
    /// of the declaration, the opcode of the record, and its byte range.
    pub(super) declared_ranges: Vec<(u64, u8, Range<u64>)>,
    /// The offset of the first summary offset record.
    pub(super) summary_offsets_start: Option<u64>,
}

impl FileLayout {
    /// Reads the file of `input` record by record.
    pub(super) fn read(input: &CheckInput, findings: &mut Findings) -> Result<Self> {
        let (len, mut window) = (input.source.len(), WindowReader::new(&input.source));
        let mut layout = Self { is_complete: true, ..Self::default() };
        let mut offset = MAGIC.len() as u64;
        while offset < len {
            let first_bytes = window.read_at(offset, resync::INSPECTED_LEN)?;
            if first_bytes.starts_with(&MAGIC) && layout.footer.is_some() {
                let end = offset + MAGIC.len() as u64;
                if end < len {
                    let message = format!("{} bytes", len - end);
                    findings.add(
                        Finding::new(&code::TRAILING, message).with_bytes(end..len),
                    );
                }
                return Ok(layout);
            }
            let chunks = &input.chunks;
            let index = chunks.binary_search_by_key(&offset, |chunk| chunk.start);
            if let Some(bytes) = index.ok().and_then(|index| chunks.get(index)) {
                offset = bytes.end;
                layout.add_chunk(&mut window, bytes.clone())?;
                continue;
            }
            let ranges = &input.damaged_ranges;
            let index = ranges.binary_search_by_key(&offset, |range| range.bytes.start);
            if let Some(range) = index.ok().and_then(|index| ranges.get(index)) {
                layout.is_complete = false;
                offset = range.bytes.end.max(offset + 1);
                continue;
            }
            let record_header = wire::record_header(&first_bytes);
            let record = record_header.and_then(|(op, content_len)| {
                let end = offset
                    .checked_add(RECORD_HEADER_LEN as u64)?
                    .checked_add(content_len)?;
                (op != 0 && end <= len).then_some((op, offset..end))
            });
            match record {
                Some((op, bytes)) => {
                    offset = bytes.end;
                    layout.add_record(&mut window, op, bytes, findings)?;
                }
                None => {
                    layout.is_complete = false;
                    offset = resync::find_in_file(&mut window, offset + 1, len)?
                        .unwrap_or(len);
                }
            }
        }
        // If the footer is damaged, the magic bytes at the end still show that the file was
        // closed.
        let magic_start = len.saturating_sub(MAGIC.len() as u64);
        let has_magic = window.peek(magic_start, MAGIC.len())?[..] == MAGIC;
        if layout.footer.is_some() || !has_magic {
            let message = "the file ends prematurely";
            findings.add(Finding::new(&code::MAGIC_END, message).with_bytes(len..len));
        }
        Ok(layout)
    }

    fn add_record(
        &mut self,
        window: &mut WindowReader<'_>,
        op: u8,
        bytes: Range<u64>,
        findings: &mut Findings,
    ) -> Result<()> {
        let record_len = (bytes.end - bytes.start) as usize;
        let is_in_limit = record_len <= MAX_RECORD_LEN;
        let is_after_data = self.data_end.is_some();
        let mut content = || -> Result<Bytes> {
            let record = window.read_at(bytes.start, record_len.min(MAX_RECORD_LEN))?;
            let end = record_len.min(record.len());
            Ok(record.slice(RECORD_HEADER_LEN.min(end)..end))
        };
        if is_after_data && op != op::FOOTER {
            self.summary.start.get_or_insert(bytes.start);
        }
        match op {
            op::CHUNK => self.add_chunk(window, bytes)?,
            op::MESSAGE_INDEX if self.is_last_chunk_header_unusable => {}
            op::MESSAGE => {
                let record = window.read_at(
                    bytes.start,
                    RECORD_HEADER_LEN + wire::MESSAGE_HEADER_LEN,
                )?;
                let content = record.get(RECORD_HEADER_LEN..).unwrap_or_default();
                self.add_message(bytes.start, content);
            }
            op::MESSAGE_INDEX => {
                let record = window.read_at(bytes.start, RECORD_HEADER_LEN + 2)?;
                let content = record.get(RECORD_HEADER_LEN..).unwrap_or_default();
                let channel = ByteReader::new(content).u16();
                if let (Some(chunk), Some(channel)) = (self.chunks.last_mut(), channel)
                {
                    chunk.message_indexes.push((channel, bytes));
                }
            }
            op::ATTACHMENT => self.attachments.push(bytes),
            op::METADATA => self.metadata.push(bytes),
            op::FOOTER => {
                let footer = Footer::parse(&content()?);
                self.footer = footer.map(|footer| (bytes.start, footer));
            }
            op::DATA_END => {
                let crc = ByteReader::new(&content()?).u32();
                self.data_end = Some((bytes.start, crc.unwrap_or_default()));
            }
            op::SCHEMA | op::CHANNEL if is_in_limit => {
                let declared = Declaration::parse(op, &content()?);
                if is_after_data {
                    self.summary.declared.extend(declared);
                } else {
                    let channel = declared.as_ref().and_then(Declaration::channel_id);
                    self.channels.extend(channel);
                    self.declared
                        .extend(declared.map(|declared| (bytes.start, declared)));
                }
            }
            op::CHUNK_INDEX if is_in_limit => {
                let index = ChunkIndex::parse(&content()?);
                let index = index.map(|index| (bytes.start, index));
                self.summary.chunk_indexes.extend(index);
            }
            op::STATISTICS if is_in_limit => {
                let statistics = Statistics::parse(&content()?);
                self.summary.statistics =
                    statistics.map(|statistics| (bytes.start, statistics));
            }
            op::ATTACHMENT_INDEX | op::METADATA_INDEX | op::SUMMARY_OFFSET
                if is_in_limit =>
            {
                if op == op::SUMMARY_OFFSET {
                    self.summary.summary_offsets_start.get_or_insert(bytes.start);
                }
                let declared = wire::declared_range(op, &content()?);
                self.summary.declared_ranges.extend(
                    declared
                        .map(|(declared_op, range)| (bytes.start, declared_op, range)),
                );
            }
            // Opcodes from 0x80 on are for applications (MCAP specification, "Opcodes").
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

    fn add_chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        bytes: Range<u64>,
    ) -> Result<()> {
        let len = resync::INSPECTED_LEN.min((bytes.end - bytes.start) as usize);
        let first_bytes = window.read_at(bytes.start, len)?;
        let is_valid_header =
            wire::record_header(&first_bytes).is_some_and(|(op, content_len)| {
                op == op::CHUNK
                    && content_len == bytes.end - bytes.start - RECORD_HEADER_LEN as u64
            });
        let chunk =
            Chunk::parse(first_bytes.get(RECORD_HEADER_LEN..len).unwrap_or_default());
        let is_usable = |chunk: &Chunk<'_>| {
            is_valid_header || Compression::from_name(chunk.compression).is_some()
        };
        let chunk = chunk.filter(is_usable);
        self.is_complete &= is_valid_header && chunk.is_some();
        self.is_last_chunk_header_unusable = chunk.is_none();
        if let Some(chunk) = chunk {
            self.chunks.push(ChunkEntry {
                bytes,
                start_time: chunk.start_time,
                end_time: chunk.end_time,
                uncompressed_len: chunk.uncompressed_len,
                compressed_len: chunk.compressed_len,
                compression: logtool_core::decode_text(chunk.compression).into_owned(),
                message_indexes: Vec::new(),
            });
        }
        Ok(())
    }

    fn add_message(&mut self, offset: u64, content: &[u8]) {
        let Some((channel, time)) = wire::message(content) else { return };
        self.outside.start.get_or_insert(offset);
        let is_first = !self.outside.counts.contains_key(&channel);
        *self.outside.counts.entry(channel).or_default() += 1;
        let (first, last) = self.outside.times.unwrap_or((time, time));
        self.outside.times = Some((first.min(time), last.max(time)));
        if is_first && !self.channels.contains(&channel) {
            self.outside.undeclared.push((offset, channel));
        }
    }
}
