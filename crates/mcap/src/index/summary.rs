//! Reads the summary at the end of a file, if it is valid.

mod counts;
mod declarations;

use std::{collections::BTreeSet, ops::Range};

use logtool_core::{
    ChunkLimits, OpenOptions, Result, TimeRange, Timestamp, WindowReader,
};

use crate::{
    chunk::Compression,
    contents::{self, ContentItem},
    index::{
        ChannelStatistics, FILE_END_LEN, FIRST_RECORD_START, IndexPass, PartEntry,
        summary::{counts::MessageCounts, declarations::Declarations},
    },
    resync,
    wire::{
        self, Chunk, ChunkIndex, Footer, MAGIC, RECORD_HEADER_LEN, Statistics, op,
        timestamp,
    },
};

/// The maximum length of a summary, and of a schema or a channel between chunks.
const MAX_LEN: u64 = 1 << 30;
/// The maximum length of a header or a metadata record that is read.
const MAX_METADATA_LEN: u64 = 64 << 20;

/// The result of reading the summary.
pub(super) enum SummaryResult {
    /// The summary describes the whole file.
    Complete(Box<IndexPass>),
    /// There is no summary, or it does not describe all messages. Such a file is valid.
    Incomplete,
    /// The summary is invalid, for this reason.
    Invalid(&'static str),
}

/// Reads the summary of a file of `file_len` bytes.
pub(super) fn read(
    window: &mut WindowReader<'_>,
    file_len: u64,
    options: OpenOptions,
) -> Result<SummaryResult> {
    let end = file_len.checked_sub(FILE_END_LEN);
    let Some(end) = end.filter(|end| *end >= FIRST_RECORD_START) else {
        return Ok(SummaryResult::Incomplete);
    };
    let file_end = window.peek(end, FILE_END_LEN as usize)?;
    let footer = wire::record(&file_end).filter(|(op, _)| *op == op::FOOTER);
    let footer = footer.and_then(|(_, content)| Footer::parse(content));
    let footer = footer.filter(|_| file_end.ends_with(&MAGIC));
    let Some(Footer { summary_start: start, summary_crc: crc, .. }) = footer else {
        return Ok(SummaryResult::Incomplete);
    };
    if start == 0 {
        return Ok(SummaryResult::Incomplete);
    }
    if start < FIRST_RECORD_START || start > end || end - start > MAX_LEN {
        return Ok(SummaryResult::Invalid("its offset is impossible"));
    }
    // The checksum includes the footer up to the checksum itself.
    let summary_len = (end - start) as usize;
    let bytes = window.peek(start, summary_len + RECORD_HEADER_LEN + 16)?;
    if crc != 0 && crc32fast::hash(&bytes) != crc {
        return Ok(SummaryResult::Invalid("its checksum is wrong"));
    }
    let (mut summary, mut is_damaged) = (SummaryReader::default(), false);
    contents::for_each_record(bytes.get(..summary_len).unwrap_or_default(), |item| {
        match item {
            ContentItem::Record(op, content, range) => {
                let position = start + range.start as u64..start + range.end as u64;
                is_damaged |= summary.add_record(op, content, position).is_none();
            }
            ContentItem::Damaged(_) => is_damaged = true,
        }
    });
    if is_damaged {
        return Ok(SummaryResult::Invalid("it is damaged"));
    }
    summary.complete(window, start, options)
}

/// The contents of a summary, which are compared with the data section and completed
/// from it.
#[derive(Default)]
struct SummaryReader {
    pass: IndexPass,
    declarations: Declarations,
    chunks: Vec<ChunkIndex>,
    statistics: Option<Statistics>,
    /// The number of messages of each channel according to the data section.
    counts: MessageCounts,
}

impl SummaryReader {
    /// Adds a record of the summary. Returns `None` if it is malformed.
    fn add_record(
        &mut self,
        op: u8,
        content: &[u8],
        position: Range<u64>,
    ) -> Option<()> {
        match op {
            op::SCHEMA | op::CHANNEL => self.declarations.add(op, content, position)?,
            op::CHUNK_INDEX => self.chunks.push(ChunkIndex::parse(content)?),
            op::STATISTICS => self.statistics = Some(Statistics::parse(content)?),
            _ => {}
        }
        Some(())
    }

    /// Checks the positions of the chunks and the records between them, and completes
    /// the summary from the data section, which ends at `data_end`.
    fn complete(
        mut self,
        window: &mut WindowReader<'_>,
        data_end: u64,
        options: OpenOptions,
    ) -> Result<SummaryResult> {
        let statistics = self.statistics.as_ref();
        let declared_counts =
            statistics.map(|statistics| (statistics.messages, statistics.chunks));
        if self.chunks.is_empty() && declared_counts != Some((0, 0)) {
            // Some messages are outside chunks, or there are no chunk indexes.
            return Ok(SummaryResult::Incomplete);
        }
        let declared_chunks = declared_counts.map(|(_, chunks)| chunks as usize);
        if declared_chunks.is_some_and(|chunks| chunks != self.chunks.len()) {
            return Ok(SummaryResult::Invalid(
                "it lists a different number of chunks than it declares",
            ));
        }
        self.chunks.sort_by_key(|chunk| chunk.chunk_offset);
        let chunks = std::mem::take(&mut self.chunks);
        let mut offset = FIRST_RECORD_START;
        for chunk in &chunks {
            let chunk_end = chunk.chunk_offset.checked_add(chunk.chunk_len);
            let Some(chunk_end) = chunk_end
                .filter(|end| chunk.chunk_offset >= offset && *end <= data_end)
            else {
                return Ok(SummaryResult::Invalid("chunks have impossible offsets"));
            };
            if !self.scan_between_chunks(window, offset..chunk.chunk_offset)? {
                return Ok(SummaryResult::Invalid(
                    "there are invalid records between chunks",
                ));
            }
            let has_known_compression =
                Compression::from_name(chunk.compression.as_bytes()).is_some();
            if !has_known_compression && !is_compression_correct(window, chunk)? {
                return Ok(SummaryResult::Invalid(
                    "it declares another compression than a chunk",
                ));
            }
            offset = chunk_end.saturating_add(chunk.message_indexes_len);
            self.pass.count_chunk(
                &chunk.compression,
                chunk.compressed_len,
                chunk.uncompressed_len,
            );
            // If the list of message indexes is empty, the channels are unknown.
            let message_indexes = &chunk.message_index_offsets;
            let is_indexed =
                chunk.message_indexes_len > 0 && !message_indexes.is_empty();
            self.pass.parts.push(PartEntry {
                bytes: chunk.chunk_offset..chunk_end,
                is_chunk: true,
                channels: is_indexed.then(|| {
                    message_indexes.iter().map(|(channel, _)| *channel).collect()
                }),
                time: inclusive_range(chunk.start_time, chunk.end_time),
            });
        }
        if offset > data_end || !self.scan_between_chunks(window, offset..data_end)? {
            return Ok(SummaryResult::Invalid(
                "there are invalid records after the chunks",
            ));
        }
        let used_channels = self.used_channels(&chunks);
        let limits = ChunkLimits::new(options, wire::chunk_headers);
        for chunk in &chunks {
            if self.declarations.are_complete(&used_channels) {
                break;
            }
            if !self.declarations.read_chunk(window, chunk, options, &limits)? {
                return Ok(SummaryResult::Invalid(
                    "it lacks channels or schemas, and a chunk that may declare them is \
                     damaged",
                ));
            }
        }
        if !used_channels.iter().all(|id| self.declarations.has_channel(*id)) {
            return Ok(SummaryResult::Invalid("messages have undeclared channels"));
        }
        let statistics = self.statistics.as_ref();
        let counts = match statistics.and_then(Statistics::declared_channel_counts) {
            Some(counts) => Some(counts.clone()),
            None => self.counts.count_messages(window, &chunks)?,
        };
        // Without statistics and message indexes, the messages themselves must be
        // counted.
        let Some(counts) = counts else { return Ok(SummaryResult::Incomplete) };
        let mut pass = self.pass;
        self.declarations.add_to(&mut pass.table);
        pass.has_summary = true;
        let statistics =
            |records| ChannelStatistics { records, ..ChannelStatistics::default() };
        let counts = counts.into_iter().map(|(id, records)| (id, statistics(records)));
        pass.counts = Some(counts.collect());
        Ok(SummaryResult::Complete(Box::new(pass)))
    }

    /// Returns the channels that are known to have messages.
    fn used_channels(&self, chunks: &[ChunkIndex]) -> BTreeSet<u16> {
        let indexed = chunks.iter().flat_map(|chunk| &chunk.message_index_offsets);
        let indexed = indexed.map(|(channel, _)| channel);
        let statistics = self.statistics.iter();
        let counted =
            statistics.flat_map(|statistics| statistics.channel_counts.keys());
        indexed.chain(counted).chain(self.counts.channels()).copied().collect()
    }

    /// Scans the headers of the records in a range outside chunks. Returns true if all
    /// of them are valid.
    fn scan_between_chunks(
        &mut self,
        window: &mut WindowReader<'_>,
        range: Range<u64>,
    ) -> Result<bool> {
        let (mut offset, mut has_messages) = (range.start, false);
        while offset < range.end {
            // The header of a record, and the channel id of a message.
            let bytes = window.peek(offset, RECORD_HEADER_LEN + 2)?;
            let Some((op, content_len)) =
                wire::record_header(&bytes).filter(|(op, _)| *op != 0)
            else {
                return Ok(false);
            };
            let content_start = offset.saturating_add(RECORD_HEADER_LEN as u64);
            let end = content_start.saturating_add(content_len);
            if end > range.end || op == op::CHUNK {
                return Ok(false);
            }
            match op {
                op::MESSAGE => {
                    has_messages = true;
                    self.counts.add_message(
                        bytes.get(RECORD_HEADER_LEN..).unwrap_or_default(),
                    );
                }
                op::ATTACHMENT => self.pass.attachments.push(offset..end),
                op::HEADER | op::METADATA if content_len > MAX_METADATA_LEN => {
                    self.pass.add_length_remark(op, &(offset..end));
                }
                op::HEADER | op::METADATA => {
                    let content = window.peek(content_start, content_len as usize)?;
                    self.pass.add_header_or_metadata(op, &content);
                }
                op::SCHEMA | op::CHANNEL if content_len > MAX_LEN => {
                    self.pass.add_length_remark(op, &(offset..end));
                }
                op::SCHEMA | op::CHANNEL => {
                    let content = window.peek(content_start, content_len as usize)?;
                    if self.declarations.add(op, &content, offset..end).is_none() {
                        return Ok(false);
                    }
                }
                _ => {}
            }
            offset = end;
        }
        if has_messages {
            self.pass.parts.push(PartEntry {
                bytes: range,
                is_chunk: false,
                channels: None,
                time: TimeRange::ALL,
            });
        }
        Ok(true)
    }
}

/// Returns true if the chunk of `index` declares the same compression as `index`.
fn is_compression_correct(
    window: &WindowReader<'_>,
    index: &ChunkIndex,
) -> Result<bool> {
    let first_bytes = window.peek(index.chunk_offset, resync::INSPECTED_LEN)?;
    let chunk = first_bytes.get(RECORD_HEADER_LEN..).and_then(Chunk::parse);
    Ok(chunk.is_some_and(|chunk| chunk.compression == index.compression.as_bytes()))
}

/// Returns the range from `start` to `end`, both inclusive.
fn inclusive_range(start: u64, end: u64) -> TimeRange {
    let (start, end) = (timestamp(start), timestamp(end));
    let end = Timestamp::from_nanos(end.as_nanos().saturating_add(1));
    TimeRange { start, end }
}
