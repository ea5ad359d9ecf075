//! Scans a whole file.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use logtool_core::{
    ChunkLimits, Damage, DamageKind, OpenOptions, Result, TimeRange, WindowReader,
};

use crate::{
    check::attachment_defect,
    chunk::{self, Compression, DecompressedChunk},
    contents::{self, ContentItem},
    index::{ChannelStatistics, FIRST_RECORD_START, IndexPass, PartEntry},
    resync,
    wire::{self, MAGIC, RECORD_HEADER_LEN, op, timestamp},
};

/// The maximum number of consecutive records with unknown opcodes.
const MAX_UNKNOWN_RECORDS: usize = 16;
/// The approximate length of a part without chunks.
const PART_LEN: u64 = 1 << 20;
/// The maximum length of a header, a metadata record, a schema or a channel that is read.
const MAX_DECLARATION_LEN: u64 = 64 << 20;
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
        current_part: None,
        len,
        options,
        limits: ChunkLimits::new(options, wire::chunk_headers),
    };
    let mut offset = FIRST_RECORD_START;
    while offset < len {
        let first_bytes = window.read_at(offset, resync::INSPECTED_LEN)?;
        if offset + MAGIC.len() as u64 == len && first_bytes[..] == MAGIC {
            break;
        }
        let first_bytes = resync::inspected_bytes(&first_bytes);
        let record_len = resync::plausible_record_len(first_bytes, len - offset);
        if let Some(record_len) = record_len {
            let real_len = scan.real_record_len(window, offset, record_len, len)?;
            let bytes = offset..offset + real_len;
            match first_bytes.first() {
                Some(&op::CHUNK) => scan.add_record(window, offset, real_len)?,
                _ if real_len == record_len => {
                    scan.add_record(window, offset, real_len)?;
                }
                Some(&op::MESSAGE_INDEX) => {
                    scan.add_lost_range(Damage::new(DamageKind::Index, bytes));
                }
                _ => scan.add_lost_range(Damage::new(DamageKind::Garbled, bytes)),
            }
            offset += real_len;
        } else if let Some(record_len) = contradictory_chunk_len(window, offset, len)? {
            scan.add_chunk(window, offset, record_len)?;
            offset += record_len;
        } else if let Some(record_len) = unknown_record_len(window, offset, len)? {
            offset += record_len;
        } else {
            offset = scan.skip_damage(window, offset, len)?;
        }
    }
    scan.end_part(offset.min(len));
    let Scan { mut pass, counts, .. } = scan;
    pass.counts = Some(counts);
    Ok(pass)
}

/// The state of a scan.
struct Scan {
    pass: IndexPass,
    counts: BTreeMap<u16, ChannelStatistics>,
    /// The current part without chunks. Its end is not known yet.
    current_part: Option<PartEntry>,
    /// The length of the file.
    len: u64,
    options: OpenOptions,
    limits: ChunkLimits,
}

impl Scan {
    /// Adds the record of `record_len` bytes at `offset`.
    fn add_record(
        &mut self,
        window: &mut WindowReader<'_>,
        offset: u64,
        record_len: u64,
    ) -> Result<()> {
        let range = offset..offset + record_len;
        let header = window.read_at(offset, RECORD_HEADER_LEN)?;
        let op = header.first().copied().unwrap_or_default();
        match op {
            op::CHUNK => self.add_chunk(window, offset, record_len)?,
            op::MESSAGE => {
                let record = window
                    .read_at(offset, RECORD_HEADER_LEN + wire::MESSAGE_HEADER_LEN)?;
                let content = record.get(RECORD_HEADER_LEN..).unwrap_or_default();
                let Some((channel, time)) = wire::message(content) else {
                    return Ok(());
                };
                let is_long = |part: &PartEntry| offset - part.bytes.start >= PART_LEN;
                if self.current_part.as_ref().is_some_and(is_long) {
                    self.end_part(offset);
                }
                self.current_part
                    .get_or_insert_with(|| PartEntry::new(offset..offset, false))
                    .add_message(channel, time);
                self.count_message(
                    channel,
                    time,
                    record_len - RECORD_HEADER_LEN as u64,
                );
            }
            op::SCHEMA | op::CHANNEL | op::HEADER | op::METADATA
                if record_len > MAX_DECLARATION_LEN =>
            {
                self.pass.add_length_remark(op, &range);
            }
            op::SCHEMA | op::CHANNEL | op::HEADER | op::METADATA => {
                let bytes = window.read_at(offset, record_len as usize)?;
                if let Some((op, content)) = wire::record(&bytes) {
                    self.add_declaration(op, content, range);
                }
            }
            op::ATTACHMENT => self.pass.attachments.push(range),
            _ => {}
        }
        Ok(())
    }

    /// Adds a schema, a channel, a header or a metadata record, which is at `position`.
    fn add_declaration(&mut self, op: u8, content: &[u8], position: Range<u64>) {
        let table = &mut self.pass.table;
        match op {
            op::SCHEMA => {
                if let Some(schema) = wire::Schema::parse(content) {
                    table.add_schema(schema, position);
                }
            }
            op::CHANNEL => {
                if let Some(channel) = wire::Channel::parse(content) {
                    table.add_channel(channel);
                }
            }
            _ => self.pass.add_header_or_metadata(op, content),
        }
    }

    /// Adds the chunk of `record_len` bytes at `offset`, or the first bytes of one, and
    /// ends the current part before it.
    fn add_chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        offset: u64,
        record_len: u64,
    ) -> Result<()> {
        self.end_part(offset);
        let position = offset..offset + record_len;
        if record_len > chunk::max_record_len(self.options) {
            self.add_lost_range(Damage::new(DamageKind::OverLimit, position));
            return Ok(());
        }
        let bytes = window.read_at(offset, record_len as usize)?;
        let bytes = bytes.slice(..bytes.len().min(record_len as usize));
        let decompressed =
            DecompressedChunk::new(&bytes, &self.limits, window.source())?;
        let Some(decompressed) = decompressed else {
            let kind = match wire::record_header(&bytes) {
                Some((_, len)) if len <= record_len => DamageKind::Garbled,
                _ => DamageKind::Truncated,
            };
            self.add_lost_range(Damage::new(kind, position));
            return Ok(());
        };
        let decompressed = decompressed.in_file(position.end, self.len);
        if let Some(damage) = decompressed.damage(&position) {
            self.add_damage(damage);
        }
        let compression = logtool_core::decode_text(&decompressed.compression);
        self.pass.count_chunk(
            &compression,
            decompressed.compressed_len,
            decompressed.records.len() as u64,
        );
        let mut part = PartEntry::new(position.clone(), true);
        contents::for_each_record(&decompressed.records, |item| match item {
            ContentItem::Record(op::MESSAGE, content, _) => {
                if let Some((channel, time)) = wire::message(content) {
                    part.add_message(channel, time);
                    self.count_message(channel, time, content.len() as u64);
                }
            }
            ContentItem::Record(op, content, range) => {
                let file_range = decompressed.file_range(position.clone(), &range);
                self.add_declaration(op, content, file_range);
            }
            ContentItem::Damaged(range) if decompressed.covers_damage_at(&range) => {}
            ContentItem::Damaged(_) => {
                self.add_damage(Damage::new(DamageKind::Garbled, position.clone()))
            }
        });
        self.pass.parts.push(part);
        Ok(())
    }

    /// Adds a message, whose content has `content_len` bytes, to the statistics of its
    /// channel.
    fn count_message(&mut self, channel: u16, time: u64, content_len: u64) {
        let statistics = self.counts.entry(channel).or_default();
        statistics.records += 1;
        // The payload of a record is the content after the channel id (`u16`).
        *statistics.bytes.get_or_insert(0) += content_len - 2;
        let time = TimeRange::from_timestamp(timestamp(time));
        statistics.time =
            Some(statistics.time.map_or(time, |range| range.cover(&time)));
    }

    /// Returns the length of the record at `offset`, which declares the length `record_len`. A
    /// chunk, an index of messages, an attachment or a metadata record in which bytes are missing
    /// declares more than it has: if no record follows at its declared end, it ends where a record
    /// begins that cannot lie in it.
    fn real_record_len(
        &self,
        window: &mut WindowReader<'_>,
        offset: u64,
        record_len: u64,
        len: u64,
    ) -> Result<u64> {
        let end = offset + record_len;
        let op = window.read_at(offset, 1)?.first().copied();
        let may_lack_bytes = matches!(
            op,
            Some(op::CHUNK | op::MESSAGE_INDEX | op::ATTACHMENT | op::METADATA)
        );
        if !may_lack_bytes
            || end == len
            || self.pass.damaged_ranges.len() >= MAX_DAMAGED_RANGES
            || is_record_or_end(&window.peek(end, resync::INSPECTED_LEN)?, len - end)
            || op == Some(op::CHUNK) && unknown_record_len(window, end, len)?.is_some()
            // A sound attachment may contain another MCAP file.
            || op == Some(op::ATTACHMENT)
                && attachment_defect(window.source(), &(offset..end))?.is_none()
        {
            return Ok(record_len);
        }
        let inside = offset + RECORD_HEADER_LEN as u64..end;
        let next = resync::find_outside_chunk(window, inside, len)?;
        Ok(next.map_or(record_len, |next| next - offset))
    }

    /// Skips damaged bytes at `offset` of a file of `len` bytes. Returns the offset at which
    /// the scan continues.
    fn skip_damage(
        &mut self,
        window: &mut WindowReader<'_>,
        offset: u64,
        len: u64,
    ) -> Result<u64> {
        let next_record = if self.pass.damaged_ranges.len() < MAX_DAMAGED_RANGES {
            resync::find_in_file(window, offset + 1, len)?
        } else {
            None
        };
        let end = next_record.unwrap_or(len);
        let header = wire::record_header(&window.read_at(offset, RECORD_HEADER_LEN)?);
        let is_known_op = |(op, _): (u8, u64)| (1..=op::LAST).contains(&op);
        let is_cut = next_record.is_none() && header.is_none_or(is_known_op);
        let is_cut_chunk = is_cut && header.is_some_and(|(op, _)| op == op::CHUNK);
        let first_bytes = window.read_at(offset, resync::INSPECTED_LEN)?;
        let is_in_limit = end - offset <= chunk::max_record_len(self.options);
        let has_compressed_data =
            is_in_limit && chunk::find_compressed_data(&first_bytes).is_some();
        if has_compressed_data || is_cut_chunk {
            // Some or all records of the chunk may be intact.
            self.add_chunk(window, offset, end - offset)?;
            return Ok(end);
        }
        let kind = if is_cut { DamageKind::Truncated } else { DamageKind::Garbled };
        self.add_lost_range(Damage::new(kind, offset..end));
        Ok(end)
    }

    /// Stores the `damage` of a range that cannot be read.
    fn add_lost_range(&mut self, damage: Damage) {
        // The range must be in a part, because the cursor of the part reports the damage.
        let start = damage.bytes.start;
        self.current_part.get_or_insert_with(|| PartEntry::new(start..start, false));
        self.pass.damaged_ranges.push(damage.clone());
        self.add_damage(damage);
    }

    fn add_damage(&mut self, damage: Damage) {
        damage.add_to(&mut self.pass.damage);
    }

    /// Ends the current part without chunks at `end`, if there is one.
    fn end_part(&mut self, end: u64) {
        if let Some(mut part) = self.current_part.take() {
            part.bytes.end = end;
            self.pass.parts.push(part);
        }
    }
}

impl PartEntry {
    /// Creates a part without messages.
    fn new(bytes: Range<u64>, is_chunk: bool) -> Self {
        let (channels, time) = (Some(BTreeSet::new()), TimeRange::EMPTY);
        Self { bytes, is_chunk, channels, time }
    }

    fn add_message(&mut self, channel: u16, time: u64) {
        self.time = self.time.cover(&TimeRange::from_timestamp(timestamp(time)));
        if let Some(channels) = &mut self.channels {
            channels.insert(channel);
        }
    }
}

/// Returns the length of the chunk record at `offset`, if the header contradicts itself:
/// the length according to the record or to the compressed data, whichever is followed by
/// another record or by the end.
fn contradictory_chunk_len(
    window: &mut WindowReader<'_>,
    offset: u64,
    len: u64,
) -> Result<Option<u64>> {
    let first_bytes = window.read_at(offset, resync::INSPECTED_LEN)?;
    let first_bytes = resync::inspected_bytes(&first_bytes);
    let Some((op, content_len)) =
        wire::record_header(first_bytes).filter(|(op, _)| *op <= op::LAST)
    else {
        return Ok(None);
    };
    let chunk = first_bytes.get(RECORD_HEADER_LEN..).and_then(wire::Chunk::parse);
    let has_known_compression =
        |chunk: &wire::Chunk<'_>| Compression::from_name(chunk.compression).is_some();
    let Some(chunk) = chunk.filter(has_known_compression) else { return Ok(None) };
    let len_by_compressed_data =
        chunk.compressed_len.checked_add(chunk.compressed_start() as u64);
    // If the opcode is damaged, both lengths must agree.
    let content_lengths = if op == op::CHUNK {
        [Some(content_len), len_by_compressed_data]
    } else {
        [len_by_compressed_data.filter(|len| *len == content_len), None]
    };
    for content_len in content_lengths.into_iter().flatten() {
        let record_len = content_len
            .checked_add(RECORD_HEADER_LEN as u64)
            .filter(|record_len| *record_len <= len - offset);
        let Some(record_len) = record_len else { continue };
        let end = offset + record_len;
        let following = window.peek(end, resync::INSPECTED_LEN)?;
        if is_record_or_end(resync::inspected_bytes(&following), len - end) {
            return Ok(Some(record_len));
        }
    }
    Ok(None)
}

/// Returns the length of the record at `offset` if it has an unknown opcode. Readers must
/// skip such records (MCAP specification, "Records"). It must be followed by known records
/// or by the end, perhaps after other unknown records.
fn unknown_record_len(
    window: &mut WindowReader<'_>,
    offset: u64,
    len: u64,
) -> Result<Option<u64>> {
    let mut first_len = None;
    let mut next = offset;
    for _ in 0..MAX_UNKNOWN_RECORDS {
        let first_bytes = window.read_at(next, resync::INSPECTED_LEN)?;
        let first_bytes = resync::inspected_bytes(&first_bytes);
        if first_len.is_some() && is_record_or_end(first_bytes, len - next) {
            return Ok(first_len);
        }
        let record_len = wire::record_header(first_bytes)
            .filter(|(op, _)| *op > op::LAST)
            .and_then(|(_, content_len)| {
                content_len.checked_add(RECORD_HEADER_LEN as u64)
            })
            .filter(|record_len| *record_len <= len - next);
        let Some(record_len) = record_len else { return Ok(None) };
        first_len.get_or_insert(record_len);
        next += record_len;
    }
    Ok(None)
}

/// Returns true if a plausible record starts with `first_bytes`, or if they are the magic
/// bytes at the end of the file. `remaining_len` bytes of the file remain.
fn is_record_or_end(first_bytes: &[u8], remaining_len: u64) -> bool {
    let is_end = remaining_len == MAGIC.len() as u64 && *first_bytes == MAGIC;
    is_end || resync::plausible_record_len(first_bytes, remaining_len).is_some()
}
