//! A chunk against what it says, and what both indices say of it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use logtool_core::{Finding, Findings, Result, TimeRange, TopicId};

use crate::{
    bag::{Chunk, Content},
    check::{
        Checked, codes as code,
        index::Told,
        layout::{ChunkSeen, IndexSeen, Layout},
        messages::Messages,
    },
    chunk::Unpacked,
    wire::{self, Framed, Header},
};

/// No longer index is looked at.
const MAX_INDEX: u64 = 64 << 20;

/// Adds what is wrong with `seen`, of which the index at the end of the bag says `told`.
/// The connections that it declares go to `declared`, where those of the chunks before
/// it are: recorders declare a connection once.
pub(super) fn check(
    log: &Checked<'_>,
    layout: &Layout,
    seen: &ChunkSeen,
    told: Told<'_>,
    declared: &mut BTreeSet<u32>,
    findings: &mut Findings,
) -> Result<()> {
    if let Err(name) = &seen.head.compression {
        let what = format!("it is packed with {name:?}");
        let bytes = seen.at..seen.data.end;
        findings.add(Finding::new(&code::CHUNK_PACKING, what).at(bytes));
        return Ok(());
    }
    let Some((bytes, how)) = content(log, seen)? else { return Ok(()) };
    let mut messages = Messages::default();
    chunk_of(seen).walk(&bytes, how, &mut messages);
    size(seen, &bytes, how, findings);
    declared.extend(&messages.declared);
    let chunk = Looked { log, seen, bytes, messages };
    if !chunk.messages.is_damaged && !seen.is_cut {
        chunk.told(told, findings);
        chunk.indices(findings)?;
    }
    chunk.connections(layout, declared, findings);
    Ok(())
}

fn chunk_of(seen: &ChunkSeen) -> Chunk {
    Chunk {
        at: seen.at,
        head: seen.head.clone(),
        data: seen.data.clone(),
        is_cut: seen.is_cut,
    }
}

/// What the chunk holds, unpacked; nothing where that is too much.
fn content(log: &Checked<'_>, seen: &ChunkSeen) -> Result<Option<(Bytes, Unpacked)>> {
    Ok(match log.bag.open(&chunk_of(seen), BytesMut::new())? {
        Content::Plain(plain) => {
            let limit = u64::from(log.bag.options.record_bytes);
            if plain.bytes.end - plain.bytes.start > limit {
                return Ok(None);
            }
            Some((log.bag.source.read_at(plain.bytes)?, Unpacked::Whole))
        }
        Content::Unpacked(bytes, how) => Some((bytes.freeze(), how)),
        Content::Lost(_) => None,
    })
}

/// Adds what is wrong with the size and the checksum.
fn size(seen: &ChunkSeen, bytes: &Bytes, how: Unpacked, findings: &mut Findings) {
    let whole = matches!(how, Unpacked::Whole | Unpacked::Doubtful) && !seen.is_cut;
    let (told, real) = (u64::from(seen.head.declared), bytes.len() as u64);
    if whole && told != real {
        let what = format!("it says {told} bytes, and has {real}");
        let bytes = seen.at..seen.data.end;
        findings.add(Finding::new(&code::CHUNK_SIZE, what).at(bytes));
    }
    if how == Unpacked::Doubtful {
        let what = "the checksum does not fit what was unpacked";
        let bytes = seen.at..seen.data.end;
        findings.add(Finding::new(&code::CHUNK_CHECKSUM, what).at(bytes));
    }
}

/// A chunk that was looked into.
struct Looked<'l> {
    log: &'l Checked<'l>,
    seen: &'l ChunkSeen,
    bytes: Bytes,
    messages: Messages,
}

impl Looked<'_> {
    fn topic(&self, connection: u32) -> Option<TopicId> {
        let table = self.log.table;
        table.topic(table.lookup(connection, self.seen.at)?)
    }

    fn finding(
        &self,
        code: &'static logtool_core::Code,
        connection: u32,
        what: String,
    ) -> Finding {
        let bytes = self.seen.at..self.seen.data.end;
        Finding::new(code, what).at(bytes).of(self.topic(connection))
    }

    /// The index at the end of the bag.
    fn told(&self, told: Told<'_>, findings: &mut Findings) {
        let info = match told {
            Told::Info(info) => info,
            Told::NoIndex => return,
            Told::Nothing => {
                let what = "the index does not tell of it";
                let bytes = self.seen.at..self.seen.data.end;
                findings.add(Finding::new(&code::CHUNK_INFO_MISSING, what).at(bytes));
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
            let told = counts.get(&id).copied().unwrap_or(0);
            let has = self.messages.counts.get(&id).map_or(0, |(count, _)| *count);
            if told != has {
                let what = format!(
                    "the index says {told} messages of connection {id}, and the chunk \
                     has {has}"
                );
                let finding = self.finding(&code::CHUNK_INFO_COUNT, id, what);
                findings.add(finding.at(info.at..info.at));
            }
        }
        let times = self.messages.counts.values().map(|(_, time)| *time);
        let real = times.reduce(|all, next| all.cover(&next));
        let is_told = |real: TimeRange| {
            info.info.first <= real.start
                && info.info.last.as_nanos() >= real.end.as_nanos() - 1
        };
        if let Some(real) = real.filter(|real| !is_told(*real)) {
            let what = "it has messages before or after the times that the index says";
            let finding = Finding::new(&code::CHUNK_INFO_TIME, what).during(real);
            findings.add(finding.at(info.at..info.at));
        }
    }

    /// The indices behind the chunk.
    fn indices(&self, findings: &mut Findings) -> Result<()> {
        let mut indexed: BTreeMap<u32, u64> = BTreeMap::new();
        let mut is_counted = true;
        for index in &self.seen.indices {
            let IndexSeen { at, connection, count, version, data } = index;
            let bytes = *at..data.end;
            if *version != 1 {
                let what = format!("it is of version {version}");
                let finding =
                    self.finding(&code::INDEX_DATA_VERSION, *connection, what);
                findings.add(finding.at(bytes));
                is_counted = false;
                continue;
            }
            let header_len = self.data_len(index)?;
            if header_len != Some(u64::from(*count) * 12) {
                let what = format!(
                    "it says {count} entries of 12 bytes, and {} bytes",
                    header_len.unwrap_or(0)
                );
                let finding = self.finding(&code::INDEX_DATA_LENGTH, *connection, what);
                findings.add(finding.at(bytes.clone()));
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
                        "of connection {connection}, no message of that time begins at \
                         byte {offset} of the chunk"
                    );
                    let finding =
                        self.finding(&code::INDEX_DATA_OFFSET, *connection, what);
                    findings
                        .add(finding.at(bytes.clone()).during(TimeRange::just(time)));
                }
            }
            *indexed.entry(*connection).or_default() += there;
        }
        if self.seen.indices.is_empty() && self.log.head.index_at == 0 {
            return Ok(()); // the recorder writes them when the chunk is done
        }
        for (id, (has, _)) in &self.messages.counts {
            match indexed.get(id) {
                None if is_counted => {
                    let what =
                        format!("{has} messages of connection {id} have no index");
                    findings.add(self.finding(&code::INDEX_DATA_MISSING, *id, what));
                }
                Some(told) if told != has => {
                    let what = format!(
                        "the index has {told} messages of connection {id}, and the \
                         chunk has {has}"
                    );
                    findings.add(self.finding(&code::INDEX_DATA_COUNT, *id, what));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// How long the data of an index are, as its record says.
    fn data_len(&self, index: &IndexSeen) -> Result<Option<u64>> {
        let bytes = self.log.bag.source.read_at(index.at..index.data.start)?;
        Ok(match wire::frame(&bytes) {
            Framed::Whole(frame) => Some(u64::from(frame.data_len)),
            Framed::Partial(_) | Framed::No => None,
        })
    }

    /// Whether a message of `connection` at `time` begins at `offset` of the content,
    /// or one of its declarations, which C++ points to.
    fn is_message(
        &self,
        connection: u32,
        time: logtool_core::Timestamp,
        offset: u32,
    ) -> bool {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let Framed::Whole(frame) = wire::frame(rest) else { return false };
        match wire::header(wire::fields(rest, frame)) {
            Some(Header::Message { connection: id, time: at }) => {
                id == connection && at == time
            }
            Some(Header::Connection { id, .. }) => id == connection,
            _ => false,
        }
    }

    /// The connections that the messages are of.
    fn connections(
        &self,
        layout: &Layout,
        declared: &BTreeSet<u32>,
        findings: &mut Findings,
    ) {
        for (id, (count, _)) in &self.messages.counts {
            let is_known = self.log.table.lookup(*id, self.seen.at).is_some();
            let is_declared = declared.contains(id);
            let is_indexed = layout.index_at.is_none()
                || layout.is_cut
                || layout.connections.contains(id);
            let code = match (is_known, is_declared) {
                (false, _) => &code::CONNECTION_UNDECLARED,
                (true, false) => &code::CONNECTION_IN_INDEX_ONLY,
                (true, true) if is_indexed => continue,
                (true, true) => &code::CONNECTION_IN_CHUNKS_ONLY,
            };
            let what = format!("{count} messages are of connection {id}");
            findings.add(self.finding(code, *id, what));
        }
        if self.messages.at_zero > 0 {
            let what = "messages are of time 0";
            let bytes = self.seen.at..self.seen.data.end;
            let finding = Finding::new(&code::MESSAGE_TIME_ZERO, what).at(bytes);
            findings.add(finding.times(self.messages.at_zero));
        }
    }
}
