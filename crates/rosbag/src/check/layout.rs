//! The records of a bag outside its chunks, one after the other.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Finding, Findings, Result};

use crate::{
    bag::Chunk,
    check::{Checked, codes as code},
    chunk_extent::is_unfinished,
    connection::{Connection, Raw},
    connection_trust::Trust,
    encryption::Lock,
    toplevel::{ChunkHead, Top, TopKind, Tops},
    wire,
};

/// The records of a bag outside its chunks.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) chunks: Vec<ChunkSeen>,
    pub(super) infos: Vec<InfoSeen>,
    /// The connections of the index, by their numbers.
    pub(super) connections: BTreeMap<u32, Connection>,
    /// How many connections it has.
    pub(super) declared: u64,
    /// Whether the index breaks off.
    pub(super) is_cut: bool,
    /// Where the first record of the index is.
    pub(super) index_at: Option<u64>,
    /// Where what can be read ends.
    pub(super) end: u64,
}

/// A chunk, and the index behind it.
#[derive(Debug)]
pub(super) struct ChunkSeen {
    /// The file, or what comes next, may cut it.
    pub(super) chunk: Chunk,
    pub(super) indices: Vec<IndexSeen>,
}

/// The index of the messages that one connection has in a chunk.
#[derive(Debug)]
pub(super) struct IndexSeen {
    pub(super) at: u64,
    pub(super) connection: u32,
    pub(super) count: u32,
    pub(super) version: u32,
    pub(super) data: Range<u64>,
}

/// What the index says of a chunk.
#[derive(Debug)]
pub(super) struct InfoSeen {
    pub(super) at: u64,
    pub(super) info: wire::ChunkInfo,
    pub(super) counts: Vec<(u32, u32)>,
}

impl Layout {
    /// Goes from record to record.
    pub(super) fn read(log: &Checked, findings: &mut Findings) -> Result<Self> {
        let mut tops = Tops::new(log.bag.source.clone());
        let mut layout = Self::default();
        let (mut at, len) = (log.bag.head.records_at, tops.len());
        // The index of an encrypted bag is encrypted too.
        let is_sealed = !matches!(log.bag.lock, Lock::Open);
        let end = match is_sealed && log.bag.head.index_at > at {
            true => log.bag.head.index_at.min(len),
            false => len,
        };
        while at < end {
            let is_behind = layout.index_at.is_some() && layout.is_complete(log);
            let Some(Top { kind, data }) = tops.look(at)?.filter(|top| {
                !is_behind || !matches!(top.kind, TopKind::Padding | TopKind::Other)
            }) else {
                if is_behind {
                    break; // what comes behind the index
                }
                layout.is_cut |= layout.index_at.is_some();
                at = tops.find(at + 1..end)?.unwrap_or(end);
                continue;
            };
            let next = layout.take(log, &mut tops, at, kind, data, findings)?;
            at = next.max(at + 1);
        }
        layout.end = at;
        if at < end {
            let what = format!("{} bytes", end - at);
            findings.add(Finding::new(&code::TRAILING, what).at(at..end));
        }
        Ok(layout)
    }

    /// Whether the index has all that the header says.
    fn is_complete(&self, log: &Checked) -> bool {
        self.infos.len() as u64 >= u64::from(log.bag.head.chunks)
            && self.declared >= u64::from(log.bag.head.connections)
    }

    /// Takes the record at `at`; says where the next is.
    fn take(
        &mut self,
        log: &Checked,
        tops: &mut Tops,
        at: u64,
        kind: TopKind,
        data: Range<u64>,
        findings: &mut Findings,
    ) -> Result<u64> {
        let len = tops.len();
        if kind.damage().is_some()
            && let Some(next) = tops.record_in(&kind, &data, len)?
        {
            return Ok(next); // who reads it tells
        }
        match kind {
            TopKind::Chunk(head) => {
                return self.chunk(log, tops, at, head, data, findings);
            }
            TopKind::Message => {
                let what = "messages are in no chunk";
                let bytes = at..data.end;
                findings.add(Finding::new(&code::MESSAGE_OUTSIDE, what).at(bytes));
            }
            _ if data.end > len => {
                self.is_cut = true;
                return Ok(len);
            }
            TopKind::Index { connection, count, version } => {
                let index =
                    IndexSeen { at, connection, count, version, data: data.clone() };
                if let Some(chunk) = self.chunks.last_mut() {
                    chunk.indices.push(index);
                }
            }
            TopKind::ChunkInfo(info) => {
                self.index_at.get_or_insert(at);
                let bytes = tops.data(&data)?.unwrap_or_default();
                let counts = wire::chunk_counts(&bytes).collect();
                self.infos.push(InfoSeen { at, info, counts });
            }
            TopKind::Connection { id, topic } => {
                let header = tops.data(&data)?.unwrap_or_default();
                let connection = Connection::new(Raw::new(id, &topic, &header));
                if Trust::of(&connection) == Trust::Broken {
                    let what = format!("connection {id}, outside chunks");
                    let bytes = at..data.end;
                    findings
                        .add(Finding::new(&code::CONNECTION_BROKEN, what).at(bytes));
                }
                self.index_at.get_or_insert(at);
                self.declared += 1;
                self.connections.entry(id).or_insert(connection);
            }
            TopKind::Padding => {
                let what = format!("{} zero bytes", data.end - at);
                let bytes = at..data.end;
                findings.add(Finding::new(&code::ZEROS, what).at(bytes));
            }
            TopKind::Other => {
                let what = "a record of an unknown kind was passed over";
                let bytes = at..data.end;
                findings.add(Finding::new(&code::RECORD_UNKNOWN, what).at(bytes));
            }
        }
        Ok(data.end)
    }

    fn chunk(
        &mut self,
        log: &Checked,
        tops: &mut Tops,
        at: u64,
        head: ChunkHead,
        mut data: Range<u64>,
        findings: &mut Findings,
    ) -> Result<u64> {
        let len = tops.len();
        let is_empty = data.is_empty() && head.declared == 0;
        let is_unfinished = is_unfinished(tops, &head, &data)?
            || is_empty
                && matches!(
                    tops.look(data.end)?,
                    Some(Top { kind: TopKind::Message, .. })
                );
        let mut is_cut = data.end > len;
        if is_unfinished {
            let what = "its length is still 0, and its data follow";
            let bytes = at..data.end;
            findings.add(Finding::new(&code::CHUNK_UNFINISHED, what).at(bytes));
            is_cut = true;
            data.end = len;
        } else if is_cut || data.end < len && !tops.goes_on(data.end, len)? {
            // Its length is wrong if its index, or another chunk, follows before its end,
            // or its data go on behind it.
            let until = data.end.min(len);
            let start = data.start.min(until);
            let (told, next) = (data.end - data.start, tops.find_chunk(start..until)?);
            let before = tops.find_index(start..next.unwrap_or(until))?.or(next);
            let end = match before {
                Some(end) => end,
                None if is_cut => data.end,
                None => {
                    let next = tops.find_chunk(data.end..len)?.unwrap_or(len);
                    let (head, data) = (head.clone(), data.clone());
                    let chunk = Chunk { at, head, data, is_cut, is_wrong: false };
                    log.bag.up_to_index(tops, &[next], chunk)?.data.end
                }
            };
            if end != data.end {
                let real = end - start;
                let what = format!("it says {told} bytes, and has {real}");
                findings.add(Finding::new(&code::CHUNK_LENGTH, what).at(at..end));
                is_cut |= end < data.end;
                data.end = end;
            }
        }
        data.end = data.end.min(len);
        data.start = data.start.min(data.end);
        let next = data.end;
        let indices = Vec::new();
        let chunk = Chunk { at, head, data, is_cut, is_wrong: false };
        self.chunks.push(ChunkSeen { chunk, indices });
        Ok(next)
    }
}
