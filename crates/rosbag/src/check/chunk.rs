//! A chunk against what it says, and what both indices say of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use logtool_core::{
    Code, Finding, Findings, Result, TimeRange, Timestamp, TopicId, decode_text,
};

use crate::{
    bag::Content,
    check::{
        Checked, codes as code,
        index::Told,
        layout::{ChunkSeen, IndexSeen, Layout},
        messages::{Messages, over_a_second},
    },
    chunk::Unpacked,
    connection::Connection,
    wire::{self, Fields, Framed, Header},
};

/// No longer index is looked at.
const MAX_INDEX: u64 = 64 << 20;

/// What is to be known of a chunk that was looked into.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// What is wrong with it by itself.
    findings: Findings,
    /// The connections that it declares.
    declared: Vec<u32>,
    /// How many messages there are of each connection, and of time 0.
    counts: Vec<(u32, u64)>,
    at_zero: u64,
    /// How many messages have a second or more as nanoseconds, up to where it is broken.
    over_a_second: u64,
}

/// Looks at `seen`, which was opened and holds `content`; it is of a bag with this
/// `layout`, of which the index at the end says `told` of it.
pub(super) fn look(
    log: &Checked,
    seen: &ChunkSeen,
    content: &Content,
    layout: &Layout,
    told: Told<'_>,
) -> Result<Looked> {
    let mut looked = Looked::default();
    if let Err(name) = &seen.chunk.head.compression {
        let what = format!("it is packed with {name:?}");
        looked
            .findings
            .add(Finding::new(&code::CHUNK_PACKING, what).at(bytes_of(seen)));
        return Ok(looked);
    }
    let Some((bytes, how)) = opened(log, content)? else { return Ok(looked) };
    let mut messages = Messages::default();
    seen.chunk.walk(&bytes, how, &mut messages);
    size(seen, &bytes, how, &mut looked.findings);
    let over_a_second = over_a_second(&bytes);
    let chunk = Looking { log, seen, bytes, messages };
    if !chunk.messages.is_damaged && !seen.chunk.is_cut {
        chunk.told(told, &mut looked.findings);
        chunk.indices(&mut looked.findings)?;
    }
    let Messages { counts, declared, at_zero, broken, others, .. } = chunk.messages;
    for id in broken {
        let what = format!("connection {id}, in a chunk");
        let finding = Finding::new(&code::CONNECTION_BROKEN, what);
        looked.findings.add(finding.at(bytes_of(seen)));
    }
    for connection in &declared {
        let known = layout.connections.get(&connection.id);
        if let Some(what) = known.and_then(|known| difference(known, connection)) {
            let finding = Finding::new(&code::CONNECTION_DIFFERS, what);
            let topic = topic(log, seen, connection.id);
            looked.findings.add(finding.at(bytes_of(seen)).of(topic));
        }
    }
    if others > 0 {
        let what = "records of an unknown kind, in a chunk, were passed over";
        let finding = Finding::new(&code::RECORD_UNKNOWN, what);
        looked.findings.add(finding.at(bytes_of(seen)).times(others));
    }
    looked.counts = counts.into_iter().map(|(id, (count, _))| (id, count)).collect();
    looked.declared = declared.iter().map(|connection| connection.id).collect();
    looked.at_zero = at_zero;
    looked.over_a_second = over_a_second;
    Ok(looked)
}

/// What the index, which has the connection as `told`, says otherwise than a chunk.
fn difference(told: &Connection, real: &Connection) -> Option<String> {
    let id = real.id;
    let facts = [
        ("topic", &told.topic, &real.topic),
        ("type", &told.type_name, &real.type_name),
        ("MD5 sum", &told.md5sum, &real.md5sum),
    ];
    if let Some((name, told, real)) = facts.iter().find(|(_, told, real)| told != real)
    {
        return Some(format!(
            "the {name} of connection {id} is {told:?} in the index, and {real:?} in a \
             chunk"
        ));
    }
    if told.definition != real.definition {
        return Some(format!("the definition of connection {id} is another one"));
    }
    let fields = |connection: &Connection| -> BTreeMap<Vec<u8>, Vec<u8>> {
        let fields = Fields::new(connection.header());
        fields.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
    };
    let (told, real) = (fields(told), fields(real));
    let mut names = told.keys().chain(real.keys());
    let name = names.find(|name| told.get(*name) != real.get(*name))?;
    let name = decode_text(name);
    Some(format!("the field {name:?} of connection {id} is another one"))
}

/// Where `seen` lies.
fn bytes_of(seen: &ChunkSeen) -> Range<u64> {
    seen.chunk.at..seen.chunk.data.end
}

/// What the chunk holds, unpacked; nothing where that is too much.
fn opened(log: &Checked, content: &Content) -> Result<Option<(Bytes, Unpacked)>> {
    Ok(match content {
        Content::Plain(plain) => {
            let limit = u64::from(log.bag.options.record_bytes);
            if plain.bytes.end - plain.bytes.start > limit {
                return Ok(None);
            }
            let bytes = log.bag.source.read_at(plain.bytes.clone())?;
            Some((bytes, Unpacked::Whole))
        }
        Content::Unpacked(bytes, how) => Some((bytes.clone(), *how)),
        Content::Lost(_) => None,
    })
}

/// Adds what is wrong with the size and the checksum.
fn size(seen: &ChunkSeen, bytes: &Bytes, how: Unpacked, findings: &mut Findings) {
    let whole =
        matches!(how, Unpacked::Whole | Unpacked::Doubtful) && !seen.chunk.is_cut;
    let (told, real) = (u64::from(seen.chunk.head.declared), bytes.len() as u64);
    if whole && told != real {
        let what = format!("it says {told} bytes, and has {real}");
        findings.add(Finding::new(&code::CHUNK_SIZE, what).at(bytes_of(seen)));
    }
    let what = match how {
        Unpacked::Doubtful => Some("the checksum does not fit what was unpacked"),
        Unpacked::Ended if !seen.chunk.is_cut => Some("the checksum is missing"),
        _ => None,
    };
    if let Some(what) = what {
        findings.add(Finding::new(&code::CHUNK_CHECKSUM, what).at(bytes_of(seen)));
    }
}

/// A chunk that is being looked into.
struct Looking<'l> {
    log: &'l Checked,
    seen: &'l ChunkSeen,
    bytes: Bytes,
    messages: Messages,
}

impl Looking<'_> {
    fn topic(&self, connection: u32) -> Option<TopicId> {
        topic(self.log, self.seen, connection)
    }

    fn finding(&self, code: &'static Code, connection: u32, what: String) -> Finding {
        Finding::new(code, what).at(bytes_of(self.seen)).of(self.topic(connection))
    }

    /// The index at the end of the bag.
    fn told(&self, told: Told<'_>, findings: &mut Findings) {
        let info = match told {
            Told::Info(info) => info,
            Told::NoIndex => return,
            Told::Nothing => {
                let what = "the index does not tell of it";
                let finding = Finding::new(&code::CHUNK_INFO_MISSING, what);
                findings.add(finding.at(bytes_of(self.seen)));
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
                    findings.add(
                        finding
                            .at(bytes.clone())
                            .during(TimeRange::from_timestamp(time)),
                    );
                }
            }
            *indexed.entry(*connection).or_default() += there;
        }
        if self.seen.indices.is_empty() && self.log.bag.head.index_at == 0 {
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
    fn is_message(&self, connection: u32, time: Timestamp, offset: u32) -> bool {
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
}

impl Looked {
    /// Adds what is wrong with `seen`, which this is of, to `findings`. The connections
    /// that it declares go to `declared`, where those of the chunks before it are:
    /// recorders declare a connection once.
    pub(super) fn tell(
        self,
        log: &Checked,
        layout: &Layout,
        seen: &ChunkSeen,
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
            let what = format!("{count} messages are of connection {id}");
            let finding = Finding::new(code, what).at(bytes_of(seen));
            findings.add(finding.of(topic(log, seen, *id)));
        }
        for (times, code, what) in [
            (self.at_zero, &code::MESSAGE_TIME_ZERO, "messages are of time 0"),
            (
                self.over_a_second,
                &code::MESSAGE_NANOSECONDS,
                "messages have a second or more as nanoseconds",
            ),
        ] {
            if times > 0 {
                let finding = Finding::new(code, what).at(bytes_of(seen));
                findings.add(finding.times(times));
            }
        }
    }
}

/// The topic of the messages of `connection` in `seen`.
fn topic(log: &Checked, seen: &ChunkSeen, connection: u32) -> Option<TopicId> {
    log.table.topic(log.table.lookup(connection, seen.chunk.at)?)
}
