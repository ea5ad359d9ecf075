//! Finding the chunks of a bag without its index, by scanning from record to record.

mod lost_chunks;

use std::ops::Range;

use logtool_core::{Damage, DamageKind, Result, TimeRange};

use self::lost_chunks::lost_chunks;
use crate::{
    codec::encryption::Encryption,
    connections::{
        connection::{Connection, RawConnection},
        connection_table::ConnectionTable,
        connection_trust::HeaderTrust,
    },
    file::{
        bag::Bag,
        compression_stats::CompressionStats,
        file_header::FileHeader,
        toplevel_record::{ChunkHeader, TopLevelKind, TopLevelReader, TopLevelRecord},
    },
    read::{
        part_content::{ContentCollector, MessageCount, PartContent},
        part_messages::PartMessages,
    },
    records::record_scanner::{RecordVisitor as _, WindowScan},
    recovery::chunk_extent::is_unfinished,
    wire,
};

/// The approximate length of the drafts into which messages outside chunks are divided.
const PART_BYTES: u32 = 512 << 10;

/// A byte range of the file that becomes a part: a chunk and its index data, or some messages
/// outside chunks.
#[derive(Clone, Debug)]
pub(crate) struct PartDraft {
    pub(crate) bytes: Range<u64>,
    /// Its messages, if the file declares them.
    pub(crate) messages: Option<PartMessages>,
    /// The time range of all its messages, if the file declares it.
    pub(crate) time: Option<TimeRange>,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The future parts, in the order of the file. Bytes between two drafts belong to no part.
    pub(crate) drafts: Vec<PartDraft>,
    pub(crate) compression: CompressionStats,
    /// The damage outside drafts.
    pub(crate) damage: Vec<Damage>,
    pub(crate) remarks: Vec<String>,
    /// Connections outside chunks that are used only if there is no better copy, and the byte
    /// range of each.
    pub(crate) unsound_connections: Vec<(RawConnection, Range<u64>)>,
    /// The number of chunks, including lost ones that the index lists, and the number of chunk
    /// infos.
    pub(crate) chunks: u64,
    pub(crate) chunk_infos: u64,
    /// The longest range of zeros that was taken for padding.
    pub(crate) longest_padding: Range<u64>,
    /// The draft whose end is not yet known.
    open_draft: Option<PartDraft>,
    /// Whether the current position lies in the index.
    is_in_index: bool,
}

/// Scans `bag` from record to record, and registers the connections outside chunks in `table`.
pub(crate) fn scan(
    bag: &Bag,
    file_header: &FileHeader,
    table: &mut ConnectionTable,
) -> Result<Scan> {
    let (mut scan, mut toplevel) =
        (Scan::default(), TopLevelReader::new(bag.source.clone()));
    let (mut at, len) = (file_header.records_at, bag.source.len());
    // The index of an encrypted bag is encrypted too, so that it has no readable records.
    let is_index_encrypted = !matches!(bag.encryption, Encryption::None)
        && (at..len).contains(&file_header.index_at);
    let end = if is_index_encrypted { file_header.index_at } else { len };
    while at < end {
        at = scan.step(bag, &mut toplevel, at, table)?.max(at + 1);
    }
    scan.close(end, is_index_encrypted);
    Ok(scan)
}

impl Scan {
    /// Processes the record at `at`; returns the position of the next record.
    fn step(
        &mut self,
        bag: &Bag,
        toplevel: &mut TopLevelReader,
        at: u64,
        table: &mut ConnectionTable,
    ) -> Result<u64> {
        let len = toplevel.len();
        if bag.file_header.is_v1() {
            return self.messages_outside_chunks(bag, at, table);
        }
        let top = toplevel.record_at(at)?;
        let is_lost = match &top {
            None => true,
            Some(TopLevelRecord { kind: TopLevelKind::Padding, data }) => {
                !lost_chunks(bag, toplevel, at..data.end)?.is_empty()
            }
            Some(_) => false,
        };
        let Some(TopLevelRecord { kind, data }) = top.filter(|_| !is_lost) else {
            let next = toplevel.find_record_or_compressed(at + 1..len)?.unwrap_or(len);
            self.record_unreadable(bag, toplevel, DamageKind::Garbled, at..next)?;
            return Ok(next);
        };
        if let Some(damage_kind) = kind.damage()
            && let Some(next) = toplevel.record_after_wrong_length(&kind, &data, len)?
        {
            self.record_unreadable(bag, toplevel, damage_kind, at..next)?;
            return Ok(next);
        }
        match kind {
            TopLevelKind::Chunk(chunk_header) => {
                return self.add_chunk(toplevel, at, chunk_header, data);
            }
            TopLevelKind::Message => {
                return self.messages_outside_chunks(bag, at, table);
            }
            _ if data.end > len => {
                self.is_in_index |= matches!(
                    kind,
                    TopLevelKind::ChunkInfo(_) | TopLevelKind::Connection { .. }
                );
                let is_index =
                    matches!(kind, TopLevelKind::Index { .. }) || self.is_in_index;
                let damage_kind =
                    if is_index { DamageKind::Index } else { DamageKind::Truncated };
                self.record_loss(Damage::new(damage_kind, at..len));
                return Ok(len);
            }
            TopLevelKind::Index { connection, count, version } => {
                let entries = toplevel.data(&data)?.unwrap_or_default();
                let is_complete = version == 1
                    && entries.len() as u64 == u64::from(count) * wire::INDEX_ENTRY_LEN;
                self.add_index_data(connection, is_complete.then_some(&entries));
            }
            TopLevelKind::Connection { id, topic } => {
                self.close(at, true);
                if let Some(header) = toplevel.data(&data)? {
                    let raw = RawConnection::new(id, &topic, &header);
                    match HeaderTrust::from_connection(&Connection::new(raw.clone())) {
                        HeaderTrust::Sound => {
                            ContentCollector::new(table, at).connection(raw)
                        }
                        _ => self.unsound_connections.push((raw, at..data.end)),
                    }
                }
            }
            TopLevelKind::ChunkInfo(_) => {
                self.close(at, true);
                self.is_in_index = true;
                self.chunk_infos += 1;
            }
            TopLevelKind::Padding => {
                if bag.file_header.are_zeros_lost_data(&data, len) {
                    let zeros = len - at;
                    self.remarks.push(format!(
                        "the last {zeros} bytes are zeros: recorded data may be missing \
                         there"
                    ));
                    self.record_loss(Damage::new(DamageKind::Garbled, at..len));
                }
                if data.end - at > self.longest_padding.end - self.longest_padding.start
                {
                    self.longest_padding = at..data.end;
                }
            }
            TopLevelKind::Other => self.forget_contents(),
        }
        Ok(data.end)
    }

    /// Opens a draft for the chunk at `at`; returns the position of the next record.
    fn add_chunk(
        &mut self,
        toplevel: &mut TopLevelReader,
        at: u64,
        chunk_header: ChunkHeader,
        data: Range<u64>,
    ) -> Result<u64> {
        let len = toplevel.len();
        self.close(at, true);
        self.is_in_index = false;
        self.chunks += 1;
        self.compression.add(&chunk_header, data.end.min(len) - data.start.min(len));
        let messages = Some(PartMessages::Content(PartContent::default()));
        self.open_draft = Some(PartDraft { bytes: at..at, messages, time: None });
        let is_unfinished = is_unfinished(toplevel, &chunk_header, &data)?;
        if data.end < len && !is_unfinished && toplevel.continues(data.end, len)? {
            return Ok(data.end);
        }
        // The length is wrong if other chunks begin before its end.
        self.forget_contents();
        let end = if is_unfinished { len } else { data.end.min(len) };
        Ok(toplevel.find_chunk(data.start.min(end)..end)?.unwrap_or(end))
    }

    /// Divides the messages outside chunks from `at` on into drafts; returns their end.
    fn messages_outside_chunks(
        &mut self,
        bag: &Bag,
        at: u64,
        table: &mut ConnectionTable,
    ) -> Result<u64> {
        self.close(at, true);
        self.is_in_index = false;
        let bytes = at..bag.source.len();
        let mut scan = WindowScan {
            bytes,
            is_cut: true,
            is_outside_chunks: true,
            is_v1: bag.file_header.is_v1(),
        };
        let mut options = bag.options;
        options.block_bytes = PART_BYTES;
        let mut start = at;
        loop {
            let mut collector = ContentCollector::new(table, at);
            let has_more = scan.read(&*bag.source, options, &mut collector)?;
            let content = collector.content;
            if scan.bytes.start > start {
                let bytes = start..scan.bytes.start;
                start = scan.bytes.start;
                let messages = Some(PartMessages::Content(content));
                self.drafts.push(PartDraft { bytes, messages, time: None });
            }
            if !has_more || scan.bytes.is_empty() {
                return Ok(start);
            }
        }
    }

    /// Adds the messages of `connection` in `entries`, which are index data, to the open draft. If
    /// `entries` is `None`, the index data are incomplete.
    fn add_index_data(&mut self, connection: u32, entries: Option<&bytes::Bytes>) {
        let messages =
            self.open_draft.as_mut().and_then(|draft| draft.messages.as_mut());
        let (Some(PartMessages::Content(content)), Some(entries)) = (messages, entries)
        else {
            return self.forget_contents();
        };
        let times = wire::index_entries(entries)
            .map(|(time, _)| TimeRange::from_timestamp(time));
        let records = entries.len() as u64 / wire::INDEX_ENTRY_LEN;
        let time = times.reduce(|range, next| range.cover(&next));
        let count = MessageCount { records, bytes: None, time };
        if content.counts.insert(connection, count).is_some() {
            // Two records for one connection: only reading the chunk shows which messages it has.
            self.forget_contents();
        }
    }

    /// Marks the contents of the open draft as unknown.
    fn forget_contents(&mut self) {
        if let Some(draft) = &mut self.open_draft {
            draft.messages = None;
        }
    }

    /// Ends the open draft at `end`. `is_complete` states whether its index data are complete.
    fn close(&mut self, end: u64, is_complete: bool) {
        let Some(mut draft) = self.open_draft.take() else { return };
        draft.bytes.end = end;
        let has_index = draft
            .messages
            .as_ref()
            .is_some_and(|messages| messages.counts().next().is_some());
        if !is_complete || !has_index {
            draft.messages = None;
        }
        self.drafts.push(draft);
    }

    /// Records damage of this `kind` in `bytes`, where no record can be read. A draft begins at
    /// each position where the index lists a lost chunk, so that a cursor determines the lost
    /// messages.
    fn record_unreadable(
        &mut self,
        bag: &Bag,
        toplevel: &mut TopLevelReader,
        kind: DamageKind,
        bytes: Range<u64>,
    ) -> Result<()> {
        let chunk_offsets = lost_chunks(bag, toplevel, bytes.clone())?;
        let before = bytes.start..chunk_offsets.first().copied().unwrap_or(bytes.end);
        if !before.is_empty() {
            self.record_loss(Damage::new(kind, before));
        }
        for offset in chunk_offsets {
            self.close(offset, true);
            self.is_in_index = false;
            self.chunks += 1;
            self.open_draft =
                Some(PartDraft { bytes: offset..offset, messages: None, time: None });
        }
        Ok(())
    }

    /// Records `damage`. In the index, it is only a remark; after a chunk, it belongs to the part
    /// of the chunk, whose cursor reports it.
    fn record_loss(&mut self, damage: Damage) {
        if self.is_in_index {
            let (start, end) = (damage.bytes.start, damage.bytes.end);
            self.remarks.push(format!("bytes {start}..{end} of the index are broken"));
            return;
        }
        self.forget_contents();
        if self.open_draft.is_none() {
            self.damage.push(damage);
        }
    }
}

/// Returns the start of each draft, and the end of the last.
pub(crate) fn bounds(drafts: &[PartDraft]) -> Vec<u64> {
    let starts = drafts.iter().map(|draft| draft.bytes.start);
    starts.chain(drafts.last().map(|draft| draft.bytes.end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_index_data_of_a_connection_make_the_contents_unknown() {
        let messages = Some(PartMessages::Content(PartContent::default()));
        let open_draft = Some(PartDraft { bytes: 0..0, messages, time: None });
        let mut scan = Scan { open_draft, ..Scan::default() };
        let has_messages =
            |scan: &Scan| scan.open_draft.as_ref().unwrap().messages.is_some();
        let entries = bytes::Bytes::from_static(&[0; 12]);
        scan.add_index_data(1, Some(&entries));
        scan.add_index_data(2, Some(&entries));
        assert!(has_messages(&scan));
        scan.add_index_data(1, Some(&entries));
        assert!(!has_messages(&scan));
    }
}
