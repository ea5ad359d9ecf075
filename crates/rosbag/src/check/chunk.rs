//! Comparing a chunk with its header, its index data and its chunk info.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use logtool_core::{
    Code, Finding, Findings, Result, TimeRange, Timestamp, TopicId, decode_text,
};

use crate::{
    check::{
        CheckedBag, codes as code,
        index::IndexEntry,
        layout::{ChunkRecord, FileLayout, IndexRecord},
        messages::{MessageCounts, bytes_over_a_second},
    },
    codec::compression::FrameOutcome,
    connections::connection::Connection,
    file::bag::ChunkContent,
    wire::{self, Fields, FrameMatch, Header},
};

/// The maximum size of index data that are checked.
const MAX_INDEX: u64 = 64 << 20;

/// The results of checking a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkResults {
    /// The findings that do not depend on other chunks.
    findings: Findings,
    /// The ids of the connections that it declares.
    declared: Vec<u32>,
    /// The number of messages of each connection.
    counts: Vec<(u32, u64)>,
    /// The number of messages at time 0.
    at_zero: u64,
    /// The number of messages whose nanoseconds are a second or more, up to the first damage.
    over_a_second: u64,
}

/// Checks the chunk `seen` with this `content`; `layout` is that of the bag, and `entry` is the
/// entry of the chunk in the index.
pub(super) fn check(
    log: &CheckedBag,
    seen: &ChunkRecord,
    content: &ChunkContent,
    layout: &FileLayout,
    entry: IndexEntry<'_>,
) -> Result<ChunkResults> {
    let mut looked = ChunkResults::default();
    if let Err(name) = &seen.chunk.head.compression {
        let what = format!("it is compressed with {name:?}");
        looked
            .findings
            .add(Finding::new(&code::CHUNK_PACKING, what).with_bytes(bytes_of(seen)));
        return Ok(looked);
    }
    let Some((bytes, how)) = decompress(log, content)? else { return Ok(looked) };
    let mut messages = MessageCounts::default();
    seen.chunk.scan_records(&bytes, how, &mut messages);
    size(seen, &bytes, how, &mut looked.findings);
    let over_a_second = bytes_over_a_second(&bytes);
    let chunk = ChunkCheck { log, seen, bytes, messages };
    if !chunk.messages.is_damaged && !seen.chunk.is_cut {
        chunk.compare_chunk_info(entry, &mut looked.findings);
        chunk.indices(&mut looked.findings)?;
    }
    let MessageCounts { counts, declared, at_zero, broken, others, .. } =
        chunk.messages;
    for id in broken {
        let what = format!("connection {id}, in a chunk");
        let finding = Finding::new(&code::CONNECTION_BROKEN, what);
        looked.findings.add(finding.with_bytes(bytes_of(seen)));
    }
    for connection in &declared {
        let known = layout.connections.get(&connection.id);
        if let Some(what) = known.and_then(|known| difference(known, connection)) {
            let finding = Finding::new(&code::CONNECTION_DIFFERS, what);
            let topic = topic(log, seen, connection.id);
            looked.findings.add(finding.with_bytes(bytes_of(seen)).with_topic(topic));
        }
    }
    if others > 0 {
        let what = "a chunk has records of an unknown kind, which were skipped";
        let finding = Finding::new(&code::RECORD_UNKNOWN, what);
        looked.findings.add(finding.with_bytes(bytes_of(seen)).with_count(others));
    }
    looked.counts = counts.into_iter().map(|(id, (count, _))| (id, count)).collect();
    looked.declared = declared.iter().map(|connection| connection.id).collect();
    looked.at_zero = at_zero;
    looked.over_a_second = over_a_second;
    Ok(looked)
}

/// Describes how the connection `declared` of the index differs from the connection `real` of a
/// chunk.
fn difference(declared: &Connection, real: &Connection) -> Option<String> {
    let id = real.id;
    let facts = [
        ("topic", &declared.topic, &real.topic),
        ("type", &declared.type_name, &real.type_name),
        ("MD5 sum", &declared.md5sum, &real.md5sum),
    ];
    if let Some((name, declared, real)) =
        facts.iter().find(|(_, declared, real)| declared != real)
    {
        return Some(format!(
            "the {name} of connection {id} is {declared:?} in the index, but {real:?} in a chunk"
        ));
    }
    if declared.definition != real.definition {
        return Some(format!("the definitions of connection {id} differ"));
    }
    let fields = |connection: &Connection| -> BTreeMap<Vec<u8>, Vec<u8>> {
        let fields = Fields::new(connection.header());
        fields.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
    };
    let (declared, real) = (fields(declared), fields(real));
    let mut names = declared.keys().chain(real.keys());
    let name = names.find(|name| declared.get(*name) != real.get(*name))?;
    let name = decode_text(name);
    Some(format!("the values of the field {name:?} of connection {id} differ"))
}

/// Returns the byte range of a chunk.
fn bytes_of(seen: &ChunkRecord) -> Range<u64> {
    seen.chunk.at..seen.chunk.data.end
}

/// Returns the decompressed content of the chunk, or `None` if it is lost or too long.
fn decompress(
    log: &CheckedBag,
    content: &ChunkContent,
) -> Result<Option<(Bytes, FrameOutcome)>> {
    Ok(match content {
        ChunkContent::Plain(plain) => {
            let limit = u64::from(log.bag.options.record_bytes);
            if plain.bytes.end - plain.bytes.start > limit {
                return Ok(None);
            }
            let bytes = log.bag.source.read_at(plain.bytes.clone())?;
            Some((bytes, FrameOutcome::Whole))
        }
        ChunkContent::Unpacked(bytes, how) => Some((bytes.clone(), *how)),
        ChunkContent::Lost(_) => None,
    })
}

/// Checks the size and the checksum.
fn size(seen: &ChunkRecord, bytes: &Bytes, how: FrameOutcome, findings: &mut Findings) {
    let whole = matches!(how, FrameOutcome::Whole | FrameOutcome::Doubtful)
        && !seen.chunk.is_cut;
    let (declared, real) = (u64::from(seen.chunk.head.declared), bytes.len() as u64);
    if whole && declared != real {
        let what = format!("it declares {declared} bytes, and has {real}");
        findings.add(Finding::new(&code::CHUNK_SIZE, what).with_bytes(bytes_of(seen)));
    }
    let what = match how {
        FrameOutcome::Doubtful => {
            Some("the checksum does not match the decompressed data")
        }
        FrameOutcome::Ended if !seen.chunk.is_cut => Some("the checksum is missing"),
        _ => None,
    };
    if let Some(what) = what {
        findings
            .add(Finding::new(&code::CHUNK_CHECKSUM, what).with_bytes(bytes_of(seen)));
    }
}

/// A chunk that is being checked.
struct ChunkCheck<'l> {
    log: &'l CheckedBag,
    seen: &'l ChunkRecord,
    bytes: Bytes,
    messages: MessageCounts,
}

impl ChunkCheck<'_> {
    fn topic(&self, connection: u32) -> Option<TopicId> {
        topic(self.log, self.seen, connection)
    }

    fn finding(&self, code: &'static Code, connection: u32, what: String) -> Finding {
        Finding::new(code, what)
            .with_bytes(bytes_of(self.seen))
            .with_topic(self.topic(connection))
    }

    /// Compares the chunk with its chunk info.
    fn compare_chunk_info(&self, entry: IndexEntry<'_>, findings: &mut Findings) {
        let info = match entry {
            IndexEntry::Info(info) => info,
            IndexEntry::NoIndex => return,
            IndexEntry::Unlisted => {
                let what = "the index does not list it";
                let finding = Finding::new(&code::CHUNK_INFO_MISSING, what);
                findings.add(finding.with_bytes(bytes_of(self.seen)));
                return;
            }
        };
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for (connection, count) in &info.counts {
            *counts.entry(*connection).or_default() += u64::from(*count);
        }
        let ids: BTreeSet<u32> =
            counts.keys().chain(self.messages.counts.keys()).copied().collect();
        for id in ids {
            let declared = counts.get(&id).copied().unwrap_or(0);
            let has = self.messages.counts.get(&id).map_or(0, |(count, _)| *count);
            if declared != has {
                let what = format!(
                    "the index declares {declared} messages of connection {id}, and the chunk \
                     has {has}"
                );
                let finding = self.finding(&code::CHUNK_INFO_COUNT, id, what);
                findings.add(finding.with_bytes(info.at..info.at));
            }
        }
        let times = self.messages.counts.values().map(|(_, time)| *time);
        let real = times.reduce(|all, next| all.cover(&next));
        let is_told = |real: TimeRange| {
            info.info.first <= real.start
                && info.info.last.as_nanos() >= real.end.as_nanos() - 1
        };
        if let Some(real) = real.filter(|real| !is_told(*real)) {
            let what = "it has messages outside the time range in the index";
            let finding = Finding::new(&code::CHUNK_INFO_TIME, what).with_time(real);
            findings.add(finding.with_bytes(info.at..info.at));
        }
    }

    /// Checks the index data after the chunk.
    fn indices(&self, findings: &mut Findings) -> Result<()> {
        let mut indexed: BTreeMap<u32, u64> = BTreeMap::new();
        let mut is_counted = true;
        for index in &self.seen.indices {
            let IndexRecord { at, connection, count, version, data } = index;
            let bytes = *at..data.end;
            if *version != 1 {
                let what = format!("its version is {version}");
                let finding =
                    self.finding(&code::INDEX_DATA_VERSION, *connection, what);
                findings.add(finding.with_bytes(bytes));
                is_counted = false;
                continue;
            }
            let header_len = self.data_len(index)?;
            if header_len != Some(u64::from(*count) * 12) {
                let what = format!(
                    "it declares {count} entries of 12 bytes, and {} bytes",
                    header_len.unwrap_or(0)
                );
                let finding = self.finding(&code::INDEX_DATA_LENGTH, *connection, what);
                findings.add(finding.with_bytes(bytes.clone()));
            }
            if data.end - data.start > MAX_INDEX {
                is_counted = false;
                continue;
            }
            let entries = self.log.bag.source.read_at(data.clone())?;
            let mut there = 0;
            for (time, offset) in wire::index_entries(&entries) {
                there += 1;
                if !self.is_message(*connection, time, offset) {
                    let what = format!(
                        "connection {connection} has no message of that time at byte \
                         {offset} of the chunk"
                    );
                    let finding =
                        self.finding(&code::INDEX_DATA_OFFSET, *connection, what);
                    findings.add(
                        finding
                            .with_bytes(bytes.clone())
                            .with_time(TimeRange::from_timestamp(time)),
                    );
                }
            }
            *indexed.entry(*connection).or_default() += there;
        }
        if self.seen.indices.is_empty() && self.log.bag.head.index_at == 0 {
            return Ok(()); // the recorder writes index data when a chunk is complete
        }
        for (id, (has, _)) in &self.messages.counts {
            match indexed.get(id) {
                None if is_counted => {
                    let what =
                        format!("{has} messages of connection {id} have no index data");
                    findings.add(self.finding(&code::INDEX_DATA_MISSING, *id, what));
                }
                Some(declared) if declared != has => {
                    let what = format!(
                        "the index data have {declared} messages of connection {id}, and the \
                         chunk has {has}"
                    );
                    findings.add(self.finding(&code::INDEX_DATA_COUNT, *id, what));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the length of index data as declared by their record.
    fn data_len(&self, index: &IndexRecord) -> Result<Option<u64>> {
        let bytes = self.log.bag.source.read_at(index.at..index.data.start)?;
        Ok(match wire::frame(&bytes) {
            FrameMatch::Whole(frame) => Some(u64::from(frame.data_len)),
            FrameMatch::Partial(_) | FrameMatch::No => None,
        })
    }

    /// Returns whether a message of `connection` at `time` begins at `offset` of the content, or
    /// a declaration of the connection, to which the C++ writer points.
    fn is_message(&self, connection: u32, time: Timestamp, offset: u32) -> bool {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let FrameMatch::Whole(frame) = wire::frame(rest) else { return false };
        match wire::header(wire::fields(rest, frame)) {
            Some(Header::Message { connection: id, time: at }) => {
                id == connection && at == time
            }
            Some(Header::Connection { id, .. }) => id == connection,
            _ => false,
        }
    }
}

impl ChunkResults {
    /// Adds the results for `seen` to `findings`. `declared` collects the connections that were
    /// declared up to this chunk: recorders declare each connection once.
    pub(super) fn report(
        self,
        log: &CheckedBag,
        layout: &FileLayout,
        seen: &ChunkRecord,
        declared: &mut BTreeSet<u32>,
        findings: &mut Findings,
    ) {
        self.findings.iter().for_each(|finding| findings.add(finding.clone()));
        declared.extend(&self.declared);
        for (id, count) in &self.counts {
            let is_known = log.table.lookup(*id, seen.chunk.at).is_some();
            let is_declared = declared.contains(id);
            let is_indexed = layout.index_at.is_none()
                || layout.is_cut
                || layout.connections.contains_key(id);
            let code = match (is_known, is_declared) {
                (false, _) => &code::CONNECTION_UNDECLARED,
                (true, false) => &code::CONNECTION_IN_INDEX_ONLY,
                (true, true) if is_indexed => continue,
                (true, true) => &code::CONNECTION_IN_CHUNKS_ONLY,
            };
            let what = format!("{count} messages belong to connection {id}");
            let finding = Finding::new(code, what).with_bytes(bytes_of(seen));
            findings.add(finding.with_topic(topic(log, seen, *id)));
        }
        for (times, code, what) in [
            (self.at_zero, &code::MESSAGE_TIME_ZERO, "messages have the time 0"),
            (
                self.over_a_second,
                &code::MESSAGE_NANOSECONDS,
                "the nanoseconds of message times are a second or more",
            ),
        ] {
            if times > 0 {
                let finding = Finding::new(code, what).with_bytes(bytes_of(seen));
                findings.add(finding.with_count(times));
            }
        }
    }
}

/// Returns the topic of the messages of `connection` in `seen`.
fn topic(log: &CheckedBag, seen: &ChunkRecord, connection: u32) -> Option<TopicId> {
    log.table.topic(log.table.lookup(connection, seen.chunk.at)?)
}
