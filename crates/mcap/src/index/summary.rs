//! Reads the summary at the end of a file, if it is valid.

mod counts;
mod declarations;

use std::{collections::BTreeSet, ops::Range};

use logtool_core::{OpenOptions, Result, TimeRange, Timestamp, WindowReader};

use crate::{
    chunk::Compression,
    contents::{self, ContentItem},
    index::{
        ChannelStatistics, END_LEN, FIRST_RECORD, IndexPass, PartEntry,
        summary::{counts::MessageCounts, declarations::Declarations},
    },
    resync,
    wire::{
        self, Chunk, ChunkIndex, MAGIC, RECORD_HEADER_LEN, Statistics, op, timestamp,
    },
};

/// The maximum length of a summary.
const MAX_LEN: u64 = 1 << 30;
/// The maximum length of a metadata record that is stored.
const MAX_METADATA_LEN: u64 = 1 << 20;

/// The contents of a summary, or the reason why the summary is not used, if there is
/// one.
pub(super) type SummaryResult = std::result::Result<IndexPass, Option<&'static str>>;

/// Reads the summary of a file of `len` bytes.
pub(super) fn read(
    window: &mut WindowReader<'_>,
    len: u64,
    options: OpenOptions,
) -> Result<SummaryResult> {
    let Some(end) = len.checked_sub(END_LEN).filter(|end| *end >= FIRST_RECORD) else {
        return Ok(Err(None));
    };
    let tail = window.peek(end, END_LEN as usize)?;
    let footer = wire::record(&tail).filter(|(op, _)| *op == op::FOOTER);
    let footer = footer.and_then(|(_, content)| wire::footer(content));
    let (Some((start, crc)), true) = (footer, tail.ends_with(&MAGIC)) else {
        return Ok(Err(None));
    };
    if start == 0 {
        return Ok(Err(None));
    }
    if start < FIRST_RECORD || start > end || end - start > MAX_LEN {
        return Ok(Err(Some("its offset is impossible")));
    }
    // The checksum includes the footer up to the checksum itself.
    let len = (end - start) as usize;
    let bytes = window.peek(start, len + RECORD_HEADER_LEN + 16)?;
    if crc != 0 && crc32fast::hash(&bytes) != crc {
        return Ok(Err(Some("its checksum is wrong")));
    }
    let (mut summary, mut is_broken) = (SummaryReader::default(), false);
    contents::for_each_record(
        bytes.get(..len).unwrap_or_default(),
        |item| match item {
            ContentItem::Record(op, content, range) => {
                let position = start + range.start as u64..start + range.end as u64;
                is_broken |= summary.add(op, content, position).is_none();
            }
            ContentItem::Damaged(_) => is_broken = true,
        },
    );
    if is_broken {
        return Ok(Err(Some("it is damaged")));
    }
    summary.check(window, start, options)
}

#[derive(Default)]
struct SummaryReader {
    pass: IndexPass,
    declared: Declarations,
    chunks: Vec<ChunkIndex>,
    statistics: Option<Statistics>,
    /// The number of messages of each channel according to the data section.
    counts: MessageCounts,
}

impl SummaryReader {
    fn add(&mut self, op: u8, content: &[u8], position: Range<u64>) -> Option<()> {
        match op {
            op::SCHEMA | op::CHANNEL => self.declared.add(op, content, position)?,
            op::CHUNK_INDEX => self.chunks.push(ChunkIndex::parse(content)?),
            op::STATISTICS => self.statistics = Some(Statistics::parse(content)?),
            _ => {}
        }
        Some(())
    }

    /// Checks the positions of the chunks and the records between them, and completes
    /// the summary from the data section, which ends at `end`.
    fn check(
        mut self,
        window: &mut WindowReader<'_>,
        end: u64,
        options: OpenOptions,
    ) -> Result<SummaryResult> {
        let declared = self
            .statistics
            .as_ref()
            .map(|declared| (declared.messages, declared.chunks));
        if self.chunks.is_empty() && declared != Some((0, 0)) {
            // Some messages are outside chunks, or there are no chunk indexes.
            return Ok(Err(None));
        }
        if declared.is_some_and(|(_, chunks)| chunks as usize != self.chunks.len()) {
            return Ok(Err(Some(
                "it lists a different number of chunks than it declares",
            )));
        }
        self.chunks.sort_by_key(|chunk| chunk.at);
        let chunks = std::mem::take(&mut self.chunks);
        let mut at = FIRST_RECORD;
        for chunk in &chunks {
            let ends = chunk.at.checked_add(chunk.len);
            let Some(chunk_end) = ends.filter(|ends| chunk.at >= at && *ends <= end)
            else {
                return Ok(Err(Some("chunks have impossible offsets")));
            };
            if !self.scan_between(window, at..chunk.at)? {
                return Ok(Err(Some("there are invalid records between chunks")));
            }
            let is_known =
                Compression::from_name(chunk.compression.as_bytes()).is_some();
            if !is_known && !is_compressed_so(window, chunk)? {
                return Ok(Err(Some("the compression of a chunk is different")));
            }
            at = chunk_end.saturating_add(chunk.index_len);
            self.pass.add_chunk(&chunk.compression, chunk.compressed_len, chunk.size);
            // If the list of message indexes is empty, the channels are unknown.
            let is_indexed = chunk.index_len > 0 && !chunk.channels.is_empty();
            self.pass.part_entries.push(PartEntry {
                bytes: chunk.at..chunk_end,
                is_chunk: true,
                channels: is_indexed.then(|| {
                    chunk.channels.iter().map(|(channel, _)| *channel).collect()
                }),
                time: range(chunk.start, chunk.end),
            });
        }
        if at > end || !self.scan_between(window, at..end)? {
            return Ok(Err(Some("there are invalid records after the chunks")));
        }
        let used_channels = self.used_channels(&chunks);
        for chunk in &chunks {
            if self.declared.are_complete(&used_channels) {
                break;
            }
            if !self.declared.read_chunk(window, chunk, options)? {
                return Ok(Err(Some("it lacks channels")));
            }
        }
        if !used_channels.iter().all(|id| self.declared.has_channel(*id)) {
            return Ok(Err(Some("messages have undeclared channels")));
        }
        let counts = match self.statistics.as_ref().and_then(Statistics::counts) {
            Some(counts) => Some(counts.clone()),
            None => self.counts.count_messages(window, &chunks)?,
        };
        // Without statistics and message indexes, the messages themselves must be
        // counted.
        let Some(counts) = counts else { return Ok(Err(None)) };
        let mut pass = self.pass;
        self.declared.declare(&mut pass.table);
        pass.has_summary = true;
        let count =
            |records| ChannelStatistics { records, ..ChannelStatistics::default() };
        let counts = counts.into_iter().map(|(id, records)| (id, count(records)));
        pass.counts = Some(counts.collect());
        Ok(Ok(pass))
    }

    /// Returns the channels that are known to have messages.
    fn used_channels(&self, chunks: &[ChunkIndex]) -> BTreeSet<u16> {
        let indexed = chunks.iter().flat_map(|chunk| &chunk.channels).map(|(id, _)| id);
        let counted =
            self.statistics.iter().flat_map(|declared| declared.of_channels.keys());
        indexed.chain(counted).chain(self.counts.channels()).copied().collect()
    }

    /// Scans the headers of the records in a range outside chunks. Returns true if all
    /// of them are valid.
    fn scan_between(
        &mut self,
        window: &mut WindowReader<'_>,
        range: Range<u64>,
    ) -> Result<bool> {
        let (mut at, mut has_messages) = (range.start, false);
        while at < range.end {
            let bytes = window.peek(at, RECORD_HEADER_LEN + 2)?;
            let Some((op, len)) =
                wire::record_header(&bytes).filter(|(op, _)| *op != 0)
            else {
                return Ok(false);
            };
            let end = at.saturating_add(RECORD_HEADER_LEN as u64).saturating_add(len);
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
                op::ATTACHMENT => self.pass.attachments.push(at..end),
                op::HEADER | op::METADATA if len < MAX_METADATA_LEN => {
                    let content =
                        window.peek(at + RECORD_HEADER_LEN as u64, len as usize)?;
                    self.pass.add_metadata(op, &content);
                }
                op::SCHEMA | op::CHANNEL if len < MAX_LEN => {
                    let content =
                        window.peek(at + RECORD_HEADER_LEN as u64, len as usize)?;
                    if self.declared.add(op, &content, at..end).is_none() {
                        return Ok(false);
                    }
                }
                _ => {}
            }
            at = end;
        }
        if has_messages {
            self.pass.part_entries.push(PartEntry {
                bytes: range,
                is_chunk: false,
                channels: None,
                time: TimeRange::ALL,
            });
        }
        Ok(true)
    }
}

/// Returns true if the chunk declares the same compression as `index`.
fn is_compressed_so(window: &WindowReader<'_>, index: &ChunkIndex) -> Result<bool> {
    let first_bytes = window.peek(index.at, resync::INSPECTED_LEN)?;
    let chunk = first_bytes.get(RECORD_HEADER_LEN..).and_then(Chunk::parse);
    Ok(chunk.is_some_and(|chunk| chunk.compression == index.compression.as_bytes()))
}

/// Returns the range from `start` to `end`, both inclusive.
fn range(start: u64, end: u64) -> TimeRange {
    let (start, end) = (timestamp(start), timestamp(end));
    let end = Timestamp::from_nanos(end.as_nanos().saturating_add(1));
    TimeRange { start, end }
}
