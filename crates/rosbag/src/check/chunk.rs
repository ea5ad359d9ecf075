//! Comparing a chunk with its header, its index data and its chunk info.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use logtool_core::{
    Finding, FindingCode, Findings, Result, TimeRange, Timestamp, TopicId, decode_text,
};

use crate::{
    check::{
        CheckedBag, codes as code,
        index::IndexEntry,
        layout::{ChunkRecord, FileLayout, IndexDataRecord},
        messages::{MessageCounts, count_messages_with_excess_nanos},
    },
    codec::compression::FrameOutcome,
    connections::connection::Connection,
    file::bag::ChunkContent,
    wire::{self, Fields, FrameMatch, Header},
};

/// The maximum size of an index data record whose entries are checked.
const MAX_INDEX: u64 = 64 << 20;

/// The results of checking a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkResults {
    /// The findings that do not depend on other chunks.
    findings: Findings,
    /// The ids of the connections that the chunk declares.
    declared_ids: Vec<u32>,
    /// The number of messages of each connection.
    counts: Vec<(u32, u64)>,
    /// The number of messages at time 0.
    messages_at_zero: u64,
    /// The number of messages whose nanoseconds are a second or more, up to the first damage.
    messages_with_excess_nanos: u64,
}

/// Checks the chunk `record`, which has this `content`. `layout` is that of the bag, and `entry`
/// the entry of the chunk in the index.
pub(super) fn check(
    log: &CheckedBag,
    record: &ChunkRecord,
    content: &ChunkContent,
    layout: &FileLayout,
    entry: IndexEntry<'_>,
) -> Result<ChunkResults> {
    let mut results = ChunkResults::default();
    if let Err(name) = &record.chunk.header.compression {
        let message = format!("it is compressed with {name:?}");
        results.findings.add(
            Finding::new(&code::CHUNK_COMPRESSION, message)
                .with_bytes(bytes_of(record)),
        );
        return Ok(results);
    }
    let Some((bytes, outcome)) = decompress(log, content)? else { return Ok(results) };
    let mut messages = MessageCounts::default();
    record.chunk.scan_records(&bytes, outcome, &mut messages);
    check_size(record, &bytes, outcome, &mut results.findings);
    results.messages_with_excess_nanos = count_messages_with_excess_nanos(&bytes);
    let chunk = ChunkCheck { log, record, bytes, messages };
    if !chunk.messages.is_damaged && !record.chunk.is_cut {
        chunk.compare_chunk_info(entry, &mut results.findings);
        chunk.check_index_data(&mut results.findings)?;
    }
    let MessageCounts {
        counts,
        declared_connections,
        messages_at_zero,
        broken_connections,
        unknown_records,
        ..
    } = chunk.messages;
    for id in broken_connections {
        let message = format!("connection {id}, in a chunk");
        let finding = Finding::new(&code::CONNECTION_BROKEN, message);
        results.findings.add(finding.with_bytes(bytes_of(record)));
    }
    for connection in &declared_connections {
        let in_index = layout.connections.get(&connection.id);
        if let Some(message) =
            in_index.and_then(|in_index| describe_difference(in_index, connection))
        {
            let finding = Finding::new(&code::CONNECTION_DIFFERS, message);
            let topic = topic(log, record, connection.id);
            results
                .findings
                .add(finding.with_bytes(bytes_of(record)).with_topic(topic));
        }
    }
    if unknown_records > 0 {
        let message = "a chunk has records of an unknown kind, which were skipped";
        let finding = Finding::new(&code::RECORD_UNKNOWN, message);
        results
            .findings
            .add(finding.with_bytes(bytes_of(record)).with_count(unknown_records));
    }
    results.counts = counts.into_iter().map(|(id, (count, _))| (id, count)).collect();
    let declared_ids = declared_connections.iter().map(|connection| connection.id);
    results.declared_ids = declared_ids.collect();
    results.messages_at_zero = messages_at_zero;
    Ok(results)
}

/// Describes the first difference between the declarations of a connection in the index and in a
/// chunk.
fn describe_difference(in_index: &Connection, in_chunk: &Connection) -> Option<String> {
    let id = in_chunk.id;
    let properties = [
        ("topic", &in_index.topic, &in_chunk.topic),
        ("type", &in_index.type_name, &in_chunk.type_name),
        ("MD5 sum", &in_index.md5sum, &in_chunk.md5sum),
    ];
    if let Some((name, in_index, in_chunk)) =
        properties.iter().find(|(_, in_index, in_chunk)| in_index != in_chunk)
    {
        return Some(format!(
            "the {name} of connection {id} is {in_index:?} in the index, but {in_chunk:?} in a \
             chunk"
        ));
    }
    if in_index.definition != in_chunk.definition {
        return Some(format!("the definitions of connection {id} differ"));
    }
    let fields = |connection: &Connection| -> BTreeMap<Vec<u8>, Vec<u8>> {
        let fields = Fields::new(connection.header());
        fields.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
    };
    let (in_index, in_chunk) = (fields(in_index), fields(in_chunk));
    let mut names = in_index.keys().chain(in_chunk.keys());
    let name = names.find(|name| in_index.get(*name) != in_chunk.get(*name))?;
    let name = decode_text(name);
    Some(format!("the values of the field {name:?} of connection {id} differ"))
}

/// Returns the byte range of a chunk.
fn bytes_of(record: &ChunkRecord) -> Range<u64> {
    record.chunk.at..record.chunk.data.end
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
        ChunkContent::Decompressed(bytes, outcome) => Some((bytes.clone(), *outcome)),
        ChunkContent::Lost(_) => None,
    })
}

/// Checks the size of the decompressed content, and the checksum.
fn check_size(
    record: &ChunkRecord,
    bytes: &Bytes,
    outcome: FrameOutcome,
    findings: &mut Findings,
) {
    let is_complete = matches!(outcome, FrameOutcome::Whole | FrameOutcome::Doubtful)
        && !record.chunk.is_cut;
    let (declared, actual) =
        (u64::from(record.chunk.header.declared_size), bytes.len() as u64);
    if is_complete && declared != actual {
        let message = format!("it declares {declared} bytes, and has {actual}");
        findings
            .add(Finding::new(&code::CHUNK_SIZE, message).with_bytes(bytes_of(record)));
    }
    let message = match outcome {
        FrameOutcome::Doubtful => {
            Some("the checksum does not match the decompressed data")
        }
        FrameOutcome::Ended if !record.chunk.is_cut => Some("the checksum is missing"),
        _ => None,
    };
    if let Some(message) = message {
        findings.add(
            Finding::new(&code::CHUNK_CHECKSUM, message).with_bytes(bytes_of(record)),
        );
    }
}

/// A chunk that is compared with its index data and its chunk info.
struct ChunkCheck<'l> {
    log: &'l CheckedBag,
    record: &'l ChunkRecord,
    bytes: Bytes,
    messages: MessageCounts,
}

impl ChunkCheck<'_> {
    fn topic(&self, connection: u32) -> Option<TopicId> {
        topic(self.log, self.record, connection)
    }

    /// Returns a finding about `connection` in this chunk.
    fn finding(
        &self,
        code: &'static FindingCode,
        connection: u32,
        message: String,
    ) -> Finding {
        Finding::new(code, message)
            .with_bytes(bytes_of(self.record))
            .with_topic(self.topic(connection))
    }

    /// Compares the chunk with its chunk info.
    fn compare_chunk_info(&self, entry: IndexEntry<'_>, findings: &mut Findings) {
        let info = match entry {
            IndexEntry::Info(info) => info,
            IndexEntry::NoIndex => return,
            IndexEntry::Unlisted => {
                let message = "the index does not list it";
                let finding = Finding::new(&code::CHUNK_INFO_MISSING, message);
                findings.add(finding.with_bytes(bytes_of(self.record)));
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
            let count = self.messages.counts.get(&id).map_or(0, |(count, _)| *count);
            if declared != count {
                let message = format!(
                    "the index declares {declared} messages of connection {id}, and the chunk \
                     has {count}"
                );
                let finding = self.finding(&code::CHUNK_INFO_COUNT, id, message);
                findings.add(finding.with_bytes(info.at..info.at));
            }
        }
        let times = self.messages.counts.values().map(|(_, time)| *time);
        let actual = times.reduce(|all, next| all.cover(&next));
        let is_declared = |actual: TimeRange| {
            info.info.first <= actual.start
                && info.info.last.as_nanos() >= actual.end.as_nanos() - 1
        };
        if let Some(actual) = actual.filter(|actual| !is_declared(*actual)) {
            let message = "it has messages outside the time range in the index";
            let finding =
                Finding::new(&code::CHUNK_INFO_TIME, message).with_time(actual);
            findings.add(finding.with_bytes(info.at..info.at));
        }
    }

    /// Checks the index data after the chunk.
    fn check_index_data(&self, findings: &mut Findings) -> Result<()> {
        let mut indexed: BTreeMap<u32, u64> = BTreeMap::new();
        let mut is_counted = true;
        for index_record in &self.record.index_data {
            let IndexDataRecord { at, connection, count, version, data } = index_record;
            let bytes = *at..data.end;
            if *version != 1 {
                let message = format!("its version is {version}");
                let finding =
                    self.finding(&code::INDEX_DATA_VERSION, *connection, message);
                findings.add(finding.with_bytes(bytes));
                is_counted = false;
                continue;
            }
            let declared_len = self.data_len(index_record)?;
            if declared_len != Some(u64::from(*count) * wire::INDEX_ENTRY_LEN) {
                let message = format!(
                    "it declares {count} entries of 12 bytes, and {} bytes",
                    declared_len.unwrap_or(0)
                );
                let finding =
                    self.finding(&code::INDEX_DATA_LENGTH, *connection, message);
                findings.add(finding.with_bytes(bytes.clone()));
            }
            if data.end - data.start > MAX_INDEX {
                is_counted = false;
                continue;
            }
            let entries = self.log.bag.source.read_at(data.clone())?;
            let mut entry_count = 0;
            for (time, offset) in wire::index_entries(&entries) {
                entry_count += 1;
                if !self.is_message(*connection, time, offset) {
                    let message = format!(
                        "connection {connection} has no message of that time at byte \
                         {offset} of the chunk"
                    );
                    let finding =
                        self.finding(&code::INDEX_DATA_OFFSET, *connection, message);
                    findings.add(
                        finding
                            .with_bytes(bytes.clone())
                            .with_time(TimeRange::from_timestamp(time)),
                    );
                }
            }
            *indexed.entry(*connection).or_default() += entry_count;
        }
        if self.record.index_data.is_empty() && self.log.bag.file_header.index_at == 0 {
            return Ok(()); // the recorder writes index data when a chunk is complete
        }
        for (id, (count, _)) in &self.messages.counts {
            match indexed.get(id) {
                None if is_counted => {
                    let message = format!(
                        "{count} messages of connection {id} have no index data"
                    );
                    findings.add(self.finding(&code::INDEX_DATA_MISSING, *id, message));
                }
                Some(declared) if declared != count => {
                    let message = format!(
                        "the index data have {declared} messages of connection {id}, and the \
                         chunk has {count}"
                    );
                    findings.add(self.finding(&code::INDEX_DATA_COUNT, *id, message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the data length in the header of an index data record. (The range `data` of the
    /// record may have the length that follows from its count instead.)
    fn data_len(&self, index_record: &IndexDataRecord) -> Result<Option<u64>> {
        let bytes =
            self.log.bag.source.read_at(index_record.at..index_record.data.start)?;
        Ok(match wire::frame(&bytes) {
            FrameMatch::Whole(frame) => Some(u64::from(frame.data_len)),
            FrameMatch::Partial(_) | FrameMatch::No => None,
        })
    }

    /// Returns whether a message of `connection` at `time` begins at `offset` of the content. The
    /// declaration of the connection is accepted too, because the C++ writer of ROS writes its
    /// offset for the message after it.
    fn is_message(&self, connection: u32, time: Timestamp, offset: u32) -> bool {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let FrameMatch::Whole(frame) = wire::frame(rest) else { return false };
        match wire::header(wire::fields(rest, frame)) {
            Some(Header::Message { connection: id, time: message_time }) => {
                id == connection && message_time == time
            }
            Some(Header::Connection { id, .. }) => id == connection,
            _ => false,
        }
    }
}

impl ChunkResults {
    /// Adds the results for `record` to `findings`, and the connections that it declares to
    /// `declared_ids`, which has those of the chunks before. (Recorders declare each connection
    /// once.)
    pub(super) fn report(
        self,
        log: &CheckedBag,
        layout: &FileLayout,
        record: &ChunkRecord,
        declared_ids: &mut BTreeSet<u32>,
        findings: &mut Findings,
    ) {
        self.findings.iter().for_each(|finding| findings.add(finding.clone()));
        declared_ids.extend(&self.declared_ids);
        for (id, count) in &self.counts {
            let is_known = log.table.lookup(*id, record.chunk.at).is_some();
            let is_declared = declared_ids.contains(id);
            let is_indexed = layout.index_at.is_none()
                || layout.is_index_cut
                || layout.connections.contains_key(id);
            let code = match (is_known, is_declared) {
                (false, _) => &code::CONNECTION_UNDECLARED,
                (true, false) => &code::CONNECTION_IN_INDEX_ONLY,
                (true, true) if is_indexed => continue,
                (true, true) => &code::CONNECTION_IN_CHUNKS_ONLY,
            };
            let message = format!("{count} messages belong to connection {id}");
            let finding = Finding::new(code, message).with_bytes(bytes_of(record));
            findings.add(finding.with_topic(topic(log, record, *id)));
        }
        for (count, code, message) in [
            (
                self.messages_at_zero,
                &code::MESSAGE_TIME_ZERO,
                "messages have the time 0",
            ),
            (
                self.messages_with_excess_nanos,
                &code::MESSAGE_NANOSECONDS,
                "the nanoseconds of message times are a second or more",
            ),
        ] {
            if count > 0 {
                let finding = Finding::new(code, message).with_bytes(bytes_of(record));
                findings.add(finding.with_count(count));
            }
        }
    }
}

/// Returns the topic of the messages of `connection` in `record`.
fn topic(log: &CheckedBag, record: &ChunkRecord, connection: u32) -> Option<TopicId> {
    log.table.topic(log.table.lookup(connection, record.chunk.at)?)
}
