//! The records of a bag outside its chunks, in the order of the file.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Finding, Findings, Result};

use crate::{
    check::{CheckedBag, codes as code},
    codec::encryption::Encryption,
    connections::{
        connection::{Connection, RawConnection},
        connection_trust::HeaderTrust,
    },
    file::{
        bag::Chunk,
        toplevel_record::{ChunkHeader, TopLevelKind, TopLevelReader, TopLevelRecord},
    },
    recovery::chunk_extent::is_unfinished,
    wire,
};

/// The records of a bag outside its chunks.
#[derive(Debug, Default)]
pub(super) struct FileLayout {
    pub(super) chunks: Vec<ChunkRecord>,
    pub(super) infos: Vec<InfoRecord>,
    /// The connections of the index, by their ids.
    pub(super) connections: BTreeMap<u32, Connection>,
    /// The number of connection records in the index; several may have the same id.
    pub(super) connection_records: u64,
    /// Whether the index is truncated.
    pub(super) is_index_cut: bool,
    /// The position of the first record of the index.
    pub(super) index_at: Option<u64>,
}

/// A chunk and its index data.
#[derive(Debug)]
pub(super) struct ChunkRecord {
    /// The chunk, with its real extent.
    pub(super) chunk: Chunk,
    /// The index data after it.
    pub(super) index_data: Vec<IndexDataRecord>,
}

/// The index data of one connection in a chunk.
#[derive(Debug)]
pub(super) struct IndexDataRecord {
    pub(super) at: u64,
    pub(super) connection: u32,
    pub(super) count: u32,
    pub(super) version: u32,
    pub(super) data: Range<u64>,
}

/// A chunk info.
#[derive(Debug)]
pub(super) struct InfoRecord {
    pub(super) at: u64,
    pub(super) info: wire::ChunkInfo,
    pub(super) counts: Vec<(u32, u32)>,
}

impl FileLayout {
    /// Reads the records of the bag.
    pub(super) fn read(log: &CheckedBag, findings: &mut Findings) -> Result<Self> {
        let mut toplevel = TopLevelReader::new(log.bag.source.clone());
        let mut layout = Self::default();
        let (mut at, len) = (log.bag.file_header.records_at, toplevel.len());
        // The index of an encrypted bag is encrypted too.
        let is_index_encrypted = !matches!(log.bag.encryption, Encryption::None);
        let end = if is_index_encrypted && log.bag.file_header.index_at > at {
            log.bag.file_header.index_at.min(len)
        } else {
            len
        };
        while at < end {
            let has_index_before =
                layout.index_at.is_some() && layout.is_index_complete(log);
            let Some(TopLevelRecord { kind, data }) =
                toplevel.record_at(at)?.filter(|top| {
                    !has_index_before
                        || !matches!(
                            top.kind,
                            TopLevelKind::Padding | TopLevelKind::Other
                        )
                })
            else {
                if has_index_before {
                    break; // the remaining bytes lie after the index
                }
                layout.is_index_cut |= layout.index_at.is_some();
                at = toplevel
                    .find_between_chunks_or_compressed(at + 1..end)?
                    .unwrap_or(end);
                continue;
            };
            let next =
                layout.add_record(log, &mut toplevel, at, kind, data, findings)?;
            at = next.max(at + 1);
        }
        if at < end {
            let message = format!("{} bytes", end - at);
            findings.add(Finding::new(&code::TRAILING, message).with_bytes(at..end));
        }
        Ok(layout)
    }

    /// Returns whether the index has all records that the bag header declares.
    fn is_index_complete(&self, log: &CheckedBag) -> bool {
        self.infos.len() as u64 >= u64::from(log.bag.file_header.chunks)
            && self.connection_records >= u64::from(log.bag.file_header.connections)
    }

    /// Adds the record at `at`; returns the position of the next record.
    fn add_record(
        &mut self,
        log: &CheckedBag,
        toplevel: &mut TopLevelReader,
        at: u64,
        kind: TopLevelKind,
        data: Range<u64>,
        findings: &mut Findings,
    ) -> Result<u64> {
        let len = toplevel.len();
        if kind.damage().is_some()
            && let Some(next) = toplevel.record_after_wrong_length(&kind, &data, len)?
        {
            return Ok(next); // cursors report this damage
        }
        match kind {
            TopLevelKind::Chunk(chunk_header) => {
                return self.add_chunk(log, toplevel, at, chunk_header, data, findings);
            }
            TopLevelKind::Message => {
                let message = "messages lie outside chunks";
                let bytes = at..data.end;
                findings.add(
                    Finding::new(&code::MESSAGE_OUTSIDE, message).with_bytes(bytes),
                );
            }
            _ if data.end > len => {
                self.is_index_cut = true;
                return Ok(len);
            }
            TopLevelKind::Index { connection, count, version } => {
                let index_data = IndexDataRecord {
                    at,
                    connection,
                    count,
                    version,
                    data: data.clone(),
                };
                if let Some(chunk) = self.chunks.last_mut() {
                    chunk.index_data.push(index_data);
                }
            }
            TopLevelKind::ChunkInfo(info) => {
                self.index_at.get_or_insert(at);
                let bytes = toplevel.data(&data)?.unwrap_or_default();
                let counts = wire::chunk_counts(&bytes).collect();
                self.infos.push(InfoRecord { at, info, counts });
            }
            TopLevelKind::Connection { id, topic } => {
                let header = toplevel.data(&data)?.unwrap_or_default();
                let connection =
                    Connection::new(RawConnection::new(id, &topic, &header));
                if HeaderTrust::from_connection(&connection) == HeaderTrust::Broken {
                    let message = format!("connection {id}, outside chunks");
                    let bytes = at..data.end;
                    findings.add(
                        Finding::new(&code::CONNECTION_BROKEN, message)
                            .with_bytes(bytes),
                    );
                }
                self.index_at.get_or_insert(at);
                self.connection_records += 1;
                self.connections.entry(id).or_insert(connection);
            }
            TopLevelKind::Padding => {
                let message = format!("{} zero bytes", data.end - at);
                let bytes = at..data.end;
                findings.add(Finding::new(&code::ZEROS, message).with_bytes(bytes));
            }
            TopLevelKind::Other => {
                let message = "a record of an unknown kind was skipped";
                let bytes = at..data.end;
                findings.add(
                    Finding::new(&code::RECORD_UNKNOWN, message).with_bytes(bytes),
                );
            }
        }
        Ok(data.end)
    }

    /// Adds the chunk at `at`, whose header declares that its data are in the range `data`; returns
    /// the position of the next record.
    fn add_chunk(
        &mut self,
        log: &CheckedBag,
        toplevel: &mut TopLevelReader,
        at: u64,
        chunk_header: ChunkHeader,
        mut data: Range<u64>,
        findings: &mut Findings,
    ) -> Result<u64> {
        let len = toplevel.len();
        let is_empty = data.is_empty() && chunk_header.declared_size == 0;
        let is_unfinished = is_unfinished(toplevel, &chunk_header, &data)?
            || is_empty
                && matches!(
                    toplevel.record_at(data.end)?,
                    Some(TopLevelRecord { kind: TopLevelKind::Message, .. })
                );
        let mut is_cut = data.end > len;
        if is_unfinished {
            let message = "its length is still 0, and its data follow";
            let bytes = at..data.end;
            findings
                .add(Finding::new(&code::CHUNK_UNFINISHED, message).with_bytes(bytes));
            is_cut = true;
            data.end = len;
        } else if is_cut || data.end < len && !toplevel.continues(data.end, len)? {
            // The length is wrong if index data or another chunk begins before the declared end, or
            // if the data continue after it.
            let limit = data.end.min(len);
            let start = data.start.min(limit);
            let declared_len = data.end - data.start;
            let next_chunk = toplevel.find_chunk(start..limit)?;
            let index_at = toplevel.find_index(start..next_chunk.unwrap_or(limit))?;
            let end = match index_at.or(next_chunk) {
                Some(end) => end,
                None if is_cut => data.end,
                None => {
                    let next_chunk = toplevel.find_chunk(data.end..len)?.unwrap_or(len);
                    let chunk = Chunk {
                        at,
                        header: chunk_header.clone(),
                        data: data.clone(),
                        is_cut,
                        has_wrong_length: false,
                    };
                    log.bag.correct_chunk_end(toplevel, &[next_chunk], chunk)?.data.end
                }
            };
            if end != data.end {
                let actual_len = end - start;
                let message =
                    format!("it declares {declared_len} bytes, and has {actual_len}");
                findings.add(
                    Finding::new(&code::CHUNK_LENGTH, message).with_bytes(at..end),
                );
                is_cut |= end < data.end;
                data.end = end;
            }
        }
        data.end = data.end.min(len);
        data.start = data.start.min(data.end);
        let next = data.end;
        let chunk =
            Chunk { at, header: chunk_header, data, is_cut, has_wrong_length: false };
        self.chunks.push(ChunkRecord { chunk, index_data: Vec::new() });
        Ok(next)
    }
}
