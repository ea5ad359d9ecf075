//! Compares a chunk with its header, and its message indexes with its messages.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{ByteReader, Finding, Findings, Result, Source, TimeRange};

use crate::{
    check::{codes as code, layout::ChunkEntry},
    chunk::{DecompressedChunk, Decompression},
    contents::{self, ContentItem},
    declaration::Declaration,
    wire::{self, RECORD_HEADER_LEN, op, timestamp},
};

/// The maximum length of a message index that is checked, in bytes.
const MAX_INDEX_LEN: u64 = 64 << 20;

/// The results of checking a chunk.
#[derive(Default)]
pub(super) struct ChunkReport {
    pub(super) findings: Findings,
    /// The schemas and channels that the chunk declares.
    pub(super) declared: Vec<Declaration>,
    /// The ids of the channels that the chunk declares.
    channels: BTreeSet<u16>,
    /// The number of messages of each channel, and whether the chunk declares the
    /// channel before them.
    pub(super) counts: BTreeMap<u16, (u64, bool)>,
    /// The first and the last log time.
    pub(super) times: Option<(u64, u64)>,
    /// Whether a part of the chunk cannot be read.
    pub(super) is_damaged: bool,
}

/// The offset of a message record in the chunk, its channel id, and its log time.
type MessagePosition = (u64, u16, u64);

/// Checks `chunk`, whose decompressed content is `decompressed`.
pub(super) fn check(
    chunk: &ChunkEntry,
    decompressed: &DecompressedChunk,
    source: &dyn Source,
) -> Result<ChunkReport> {
    let mut report = ChunkReport::default();
    let mut messages: Vec<MessagePosition> = Vec::new();
    contents::for_each_record(&decompressed.records, |item| match item {
        ContentItem::Record(op::MESSAGE, content, range) => {
            if let Some((channel, time)) = wire::message(content) {
                messages.push((
                    (range.start - RECORD_HEADER_LEN) as u64,
                    channel,
                    time,
                ));
                report.count_message(channel, time);
            }
        }
        ContentItem::Record(op @ (op::SCHEMA | op::CHANNEL), content, _) => {
            let declared = Declaration::parse(op, content);
            report.channels.extend(declared.as_ref().and_then(Declaration::channel_id));
            report.declared.extend(declared);
        }
        ContentItem::Record(op, ..) => {
            let message =
                format!("a chunk contains a record with the opcode {op:#04x}");
            let finding = Finding::new(&code::RECORD_UNKNOWN, message);
            report.findings.add(finding.with_bytes(chunk.bytes.clone()));
        }
        ContentItem::Damaged(_) => report.is_damaged = true,
    });
    report.check_header(chunk, decompressed);
    if !report.is_damaged {
        report.check_indexes(chunk, &messages, source)?;
    }
    Ok(report)
}

impl ChunkReport {
    fn count_message(&mut self, channel: u16, time: u64) {
        let is_declared = || self.channels.contains(&channel);
        self.counts.entry(channel).or_insert_with(|| (0, is_declared())).0 += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }

    /// Compares the length, the checksum and the times in the header with the records.
    fn check_header(&mut self, chunk: &ChunkEntry, decompressed: &DecompressedChunk) {
        let bytes = || chunk.bytes.clone();
        match decompressed.result {
            Decompression::Complete => {}
            Decompression::WrongChecksum => {
                let message = "the checksum of the decompressed records is different";
                self.findings
                    .add(Finding::new(&code::CHUNK_CRC, message).with_bytes(bytes()));
            }
            Decompression::UnknownCompression => {
                let message = format!("the compression is {:?}", chunk.compression);
                self.findings.add(
                    Finding::new(&code::CHUNK_COMPRESSION, message).with_bytes(bytes()),
                );
                self.is_damaged = true;
            }
            Decompression::Damaged | Decompression::OverLimit => self.is_damaged = true,
        }
        let (declared, actual) =
            (chunk.uncompressed_len, decompressed.records.len() as u64);
        if decompressed.is_fully_decompressed && actual != declared {
            let message = format!("it declares {declared} bytes, but has {actual}");
            self.findings
                .add(Finding::new(&code::CHUNK_SIZE, message).with_bytes(bytes()));
        }
        let times_outside = self.times.filter(|(first, last)| {
            *first < chunk.start_time || *last > chunk.end_time
        });
        if let Some((first, last)) = times_outside {
            let first = TimeRange::from_timestamp(timestamp(first));
            let actual_times = first.cover(&TimeRange::from_timestamp(timestamp(last)));
            let message = "it has messages outside its declared time range";
            let finding = Finding::new(&code::CHUNK_TIME, message).with_bytes(bytes());
            self.findings.add(finding.with_time(actual_times));
        }
    }

    /// Compares the message indexes that follow the chunk with its `messages`.
    fn check_indexes(
        &mut self,
        chunk: &ChunkEntry,
        messages: &[MessagePosition],
        source: &dyn Source,
    ) -> Result<()> {
        if chunk.message_indexes.is_empty() {
            return Ok(()); // message indexes are optional
        }
        let mut indexed_counts: BTreeMap<u16, u64> = BTreeMap::new();
        for (channel, bytes) in &chunk.message_indexes {
            if bytes.end - bytes.start > MAX_INDEX_LEN {
                return Ok(());
            }
            let record = source.read_at(bytes.clone())?;
            let content = record.get(RECORD_HEADER_LEN..).unwrap_or_default();
            let mut entries = ByteReader::new(
                wire::message_index_entries(content).unwrap_or_default(),
            );
            let count = indexed_counts.entry(*channel).or_default();
            while let (Some(time), Some(offset)) = (entries.u64(), entries.u64()) {
                *count += 1;
                let index =
                    messages.binary_search_by_key(&offset, |(position, ..)| *position);
                let message_at_offset =
                    index.ok().and_then(|index| messages.get(index));
                if message_at_offset != Some(&(offset, *channel, time)) {
                    let message = format!(
                        "no message of channel {channel} with the time {time} is at byte \
                         {offset} of the chunk"
                    );
                    let finding = Finding::new(&code::MESSAGE_INDEX_OFFSET, message);
                    self.findings.add(finding.with_bytes(bytes.clone()));
                }
            }
        }
        for (channel, (actual, _)) in &self.counts {
            let indexed = indexed_counts.get(channel).copied().unwrap_or(0);
            if indexed != *actual {
                let message = format!(
                    "it lists {indexed} messages of channel {channel}, but the chunk has {actual}"
                );
                let finding = Finding::new(&code::MESSAGE_INDEX_COUNT, message);
                self.findings.add(finding.with_bytes(chunk.bytes.clone()));
            }
        }
        Ok(())
    }
}
