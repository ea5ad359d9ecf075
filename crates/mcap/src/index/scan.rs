//! Scans a whole file.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use logtool_core::{Damage, DamageKind, OpenOptions, Result, TimeRange, WindowReader};

use crate::{
    chunk::{self, Compression, DecompressedChunk},
    contents::{self, ContentItem},
    index::{ChannelStatistics, FIRST_RECORD, IndexPass, PartEntry},
    resync,
    wire::{self, MAGIC, RECORD_HEADER_LEN, op, timestamp},
};

/// The maximum number of consecutive records with unknown opcodes.
const MAX_UNKNOWN: usize = 16;
/// The approximate length of a range without chunks.
const PART_LEN: u64 = 1 << 20;
/// The maximum length of a declaration that is stored.
const MAX_DECLARATION: u64 = 64 << 20;
/// The maximum number of damaged ranges that are skipped separately.
const MAX_DAMAGED_RANGES: usize = 1 << 16;

/// Scans all `len` bytes of the file.
pub(super) fn scan(
    window: &mut WindowReader<'_>,
    len: u64,
    options: OpenOptions,
) -> Result<IndexPass> {
    let mut scan = Scan {
        pass: IndexPass::default(),
        counts: BTreeMap::new(),
        open: None,
        options,
    };
    let mut at = FIRST_RECORD;
    while at < len {
        let first_bytes = window.read_at(at, resync::INSPECTED_LEN)?;
        if at + MAGIC.len() as u64 == len && first_bytes[..] == MAGIC {
            break;
        }
        match resync::record(
            first_bytes.get(..resync::INSPECTED_LEN).unwrap_or(&first_bytes),
            len - at,
        ) {
            Some(record_len) => {
                scan.record(window, at, record_len)?;
                at += record_len;
            }
            None => match (
                contradictory_chunk_len(window, at, len)?,
                unknown_record_len(window, at, len)?,
            ) {
                (Some(record_len), _) => {
                    scan.close(at);
                    scan.chunk(window, at, record_len)?;
                    at += record_len;
                }
                (None, Some(record_len)) => at += record_len,
                (None, None) => at = scan.skip_damage(window, at, len)?,
            },
        }
    }
    scan.close(at.min(len));
    let Scan { mut pass, counts, .. } = scan;
    pass.counts = Some(counts);
    Ok(pass)
}

struct Scan {
    pass: IndexPass,
    counts: BTreeMap<u16, ChannelStatistics>,
    /// The current range without chunks.
    open: Option<PartEntry>,
    options: OpenOptions,
}

impl Scan {
    /// Processes the record of `record_len` bytes at `at`.
    fn record(
        &mut self,
        window: &mut WindowReader<'_>,
        at: u64,
        record_len: u64,
    ) -> Result<()> {
        let head = window.read_at(at, RECORD_HEADER_LEN)?;
        match head.first().copied().unwrap_or_default() {
            op::CHUNK => {
                self.close(at);
                self.chunk(window, at, record_len)?;
            }
            op::MESSAGE => {
                let content =
                    window.read_at(at, RECORD_HEADER_LEN + wire::MESSAGE_HEADER_LEN)?;
                let content = content.get(RECORD_HEADER_LEN..).unwrap_or_default();
                let Some((channel, time)) = wire::message(content) else {
                    return Ok(());
                };
                let is_long = |part: &PartEntry| at - part.bytes.start >= PART_LEN;
                if self.open.as_ref().is_some_and(is_long) {
                    self.close(at);
                }
                self.open
                    .get_or_insert_with(|| part(at, false))
                    .add_message(channel, time);
                self.count(channel, time, record_len - (RECORD_HEADER_LEN + 2) as u64);
            }
            op::SCHEMA | op::CHANNEL | op::HEADER | op::METADATA
                if record_len <= MAX_DECLARATION =>
            {
                let bytes = window.read_at(at, record_len as usize)?;
                if let Some((op, content)) = wire::record(&bytes) {
                    self.declare(op, content, at..at + record_len);
                }
            }
            op::ATTACHMENT => self.pass.attachments.push(at..at + record_len),
            _ => {}
        }
        Ok(())
    }

    fn declare(&mut self, op: u8, content: &[u8], position: Range<u64>) {
        let table = &mut self.pass.table;
        match op {
            op::SCHEMA => {
                let schema = wire::Schema::parse(content);
                schema
                    .into_iter()
                    .for_each(|schema| table.schema(schema, position.clone()));
            }
            op::CHANNEL => {
                let channel = wire::Channel::parse(content);
                channel.into_iter().for_each(|channel| table.channel(channel));
            }
            _ => self.pass.add_metadata(op, content),
        }
    }

    /// Reads the chunk of `record_len` bytes at `at`, or the first bytes of one.
    fn chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        at: u64,
        record_len: u64,
    ) -> Result<()> {
        let position = at..at + record_len;
        let limit = self.options.record_bytes as usize;
        if record_len > chunk::max_record_len(self.options) {
            self.add_lost_range(Damage::new(DamageKind::OverLimit, position));
            return Ok(());
        }
        let bytes = window.read_at(at, record_len as usize)?;
        let bytes = bytes.slice(..bytes.len().min(record_len as usize));
        let Some(decompressed) = DecompressedChunk::new(&bytes, limit) else {
            let kind = match wire::record_header(&bytes) {
                Some((_, len)) if len <= record_len => DamageKind::Garbled,
                _ => DamageKind::Truncated,
            };
            self.add_lost_range(Damage::new(kind, position));
            return Ok(());
        };
        decompressed
            .damage(&position)
            .into_iter()
            .for_each(|damage| self.damage(damage));
        let name = logtool_core::decode_text(&decompressed.compression);
        self.pass.add_chunk(
            &name,
            decompressed.compressed_len,
            decompressed.records.len() as u64,
        );
        let mut part = part(at, true);
        part.bytes.end = position.end;
        contents::for_each_record(&decompressed.records, |item| match item {
            ContentItem::Record(op::MESSAGE, content, _) => {
                if let Some((channel, time)) = wire::message(content) {
                    part.add_message(channel, time);
                    self.count(channel, time, content.len() as u64 - 2);
                }
            }
            ContentItem::Record(op, content, range) => {
                self.declare(
                    op,
                    content,
                    decompressed.file_range(position.clone(), &range),
                );
            }
            ContentItem::Damaged(range) if decompressed.is_reported(&range) => {}
            ContentItem::Damaged(_) => {
                self.damage(Damage::new(DamageKind::Garbled, position.clone()))
            }
        });
        self.pass.part_entries.push(part);
        Ok(())
    }

    fn count(&mut self, channel: u16, time: u64, bytes: u64) {
        let count = self.counts.entry(channel).or_default();
        count.records += 1;
        *count.bytes.get_or_insert(0) += bytes;
        let time = TimeRange::from_timestamp(timestamp(time));
        count.time = Some(count.time.map_or(time, |range| range.cover(&time)));
    }

    /// Skips damaged bytes at `at`. Returns the offset at which reading continues.
    fn skip_damage(
        &mut self,
        window: &mut WindowReader<'_>,
        at: u64,
        len: u64,
    ) -> Result<u64> {
        let next = if self.pass.damaged_ranges.len() < MAX_DAMAGED_RANGES {
            resync::search(window, at + 1, len)?
        } else {
            None
        };
        let end = next.unwrap_or(len);
        let head = wire::record_header(&window.read_at(at, RECORD_HEADER_LEN)?);
        let is_known = |(op, _): (u8, u64)| (1..=op::DATA_END).contains(&op);
        let is_cut = next.is_none() && head.is_none_or(is_known);
        let first_bytes = window.read_at(at, resync::INSPECTED_LEN)?;
        let is_short = end - at <= chunk::max_record_len(self.options);
        let is_marked = is_short && chunk::find_compressed_data(&first_bytes).is_some();
        if is_marked || is_cut && head.is_some_and(|(op, _)| op == op::CHUNK) {
            // Some or all of its records may be intact.
            self.close(at);
            self.chunk(window, at, end - at)?;
            return Ok(end);
        }
        let kind = if is_cut { DamageKind::Truncated } else { DamageKind::Garbled };
        self.add_lost_range(Damage::new(kind, at..end));
        Ok(end)
    }

    /// Stores `damage` to a range that cannot be read.
    fn add_lost_range(&mut self, damage: Damage) {
        // Damage is reported by the cursor of the range that contains it.
        self.open.get_or_insert_with(|| part(damage.bytes.start, false));
        self.pass.damaged_ranges.push(damage.clone());
        self.damage(damage);
    }

    fn damage(&mut self, damage: Damage) {
        damage.add_to(&mut self.pass.damage);
    }

    /// Ends the current range without chunks.
    fn close(&mut self, at: u64) {
        if let Some(mut part) = self.open.take() {
            part.bytes.end = at;
            self.pass.part_entries.push(part);
        }
    }
}

fn part(at: u64, is_chunk: bool) -> PartEntry {
    let channels = Some(BTreeSet::new());
    PartEntry { bytes: at..at, is_chunk, channels, time: TimeRange::EMPTY }
}

impl PartEntry {
    fn add_message(&mut self, channel: u16, time: u64) {
        self.time = self.time.cover(&TimeRange::from_timestamp(timestamp(time)));
        if let Some(channels) = &mut self.channels {
            channels.insert(channel);
        }
    }
}

/// Returns the length of the chunk at `at` whose header contradicts itself: according
/// to the length of the record or of the compressed data, whichever is followed by
/// another record or by the end.
fn contradictory_chunk_len(
    window: &mut WindowReader<'_>,
    at: u64,
    len: u64,
) -> Result<Option<u64>> {
    let first_bytes = window.read_at(at, resync::INSPECTED_LEN)?;
    let first_bytes =
        first_bytes.get(..resync::INSPECTED_LEN).unwrap_or(&first_bytes).to_vec();
    let Some((op, content)) =
        wire::record_header(&first_bytes).filter(|(op, _)| *op <= op::LAST)
    else {
        return Ok(None);
    };
    let chunk = first_bytes.get(RECORD_HEADER_LEN..).and_then(wire::Chunk::parse);
    let is_known =
        |chunk: &wire::Chunk<'_>| Compression::from_name(chunk.compression).is_some();
    let Some(chunk) = chunk.filter(is_known) else { return Ok(None) };
    let by_packed = chunk.compressed_len.checked_add(chunk.compressed_start() as u64);
    // For any other opcode, both lengths must agree.
    let lengths = if op == op::CHUNK {
        [Some(content), by_packed]
    } else {
        [by_packed.filter(|len| *len == content), None]
    };
    for content in lengths.into_iter().flatten() {
        let record_len = content
            .checked_add(RECORD_HEADER_LEN as u64)
            .filter(|record_len| *record_len <= len - at);
        let Some(record_len) = record_len else { continue };
        let next = window.peek(at + record_len, resync::INSPECTED_LEN)?;
        let next = next.get(..resync::INSPECTED_LEN).unwrap_or(&next);
        let is_end = at + record_len + MAGIC.len() as u64 == len && *next == MAGIC;
        if is_end || resync::record(next, len - at - record_len).is_some() {
            return Ok(Some(record_len));
        }
    }
    Ok(None)
}

/// Returns the length of the record at `at` if it has an unknown opcode, which readers
/// must skip ("Unknown opcodes", and those from 0x80 on, which are for applications:
/// MCAP specification, "Records"). It must be followed by known records or by the end.
fn unknown_record_len(
    window: &mut WindowReader<'_>,
    at: u64,
    len: u64,
) -> Result<Option<u64>> {
    let mut next = at;
    for _ in 0..MAX_UNKNOWN {
        let first_bytes = window.read_at(next, resync::INSPECTED_LEN)?;
        let first_bytes =
            first_bytes.get(..resync::INSPECTED_LEN).unwrap_or(&first_bytes);
        let is_end = next + MAGIC.len() as u64 == len && *first_bytes == MAGIC;
        if next > at && (is_end || resync::record(first_bytes, len - next).is_some()) {
            let first = window.read_at(at, RECORD_HEADER_LEN)?;
            return Ok(wire::record_header(&first)
                .map(|(_, content)| RECORD_HEADER_LEN as u64 + content));
        }
        let record_len = wire::record_header(first_bytes)
            .filter(|(op, _)| *op > op::LAST)
            .and_then(|(_, content)| content.checked_add(RECORD_HEADER_LEN as u64))
            .filter(|record_len| *record_len <= len - next);
        let Some(record_len) = record_len else { return Ok(None) };
        next += record_len;
    }
    Ok(None)
}
