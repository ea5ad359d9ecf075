//! The index at the end of a bag: connections and chunk infos.
//!
//! The index is used only if it is consistent: it lies at the position in the bag header, its
//! chunks lie before it, and nothing that is inspected contradicts it. Otherwise the file is
//! scanned.

mod consistency;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use logtool_core::{Result, Source, TimeRange};

use crate::{
    codec::encryption::Encryption,
    connections::connection::RawConnection,
    file::{
        compression_stats::CompressionStats,
        file_header::FileHeader,
        index::consistency::Inspector,
        index_entries::ListedMessages,
        toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
    },
    wire::{self, FrameMatch, Header},
};

/// The contents of an index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The connections, and the byte range of each.
    pub(crate) connections: Vec<(RawConnection, Range<u64>)>,
    /// The chunks, in the order of the file.
    pub(crate) chunks: Vec<IndexedChunk>,
    /// The compression of the inspected chunks.
    pub(crate) compression: CompressionStats,
    pub(crate) remarks: Vec<String>,
}

/// The chunk info of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct IndexedChunk {
    pub(crate) at: u64,
    /// The time range of its messages, or all times if the times in the chunk info are impossible.
    pub(crate) time: TimeRange,
    /// The number of messages of each connection.
    pub(crate) counts: Vec<(u32, u32)>,
}

impl IndexedChunk {
    /// Returns the number of messages by connection, without connections that have none.
    pub(crate) fn messages(&self) -> BTreeMap<u32, u64> {
        let mut messages = BTreeMap::new();
        for (connection, count) in self.counts.iter().filter(|(_, count)| *count > 0) {
            *messages.entry(*connection).or_default() += u64::from(*count);
        }
        messages
    }

    /// Returns whether `listed` are the messages of this chunk.
    pub(crate) fn lists(&self, listed: &ListedMessages) -> bool {
        let messages = self.messages();
        !messages.is_empty() && listed.messages == messages && listed.time == self.time
    }
}

/// Reads the index of the bag with the header `file_header`, or returns the reason why the index
/// cannot be used. If `is_thorough`, every chunk info is compared with its chunk.
pub(crate) fn read(
    source: &Arc<dyn Source>,
    file_header: &FileHeader,
    encryption: &Encryption,
    is_thorough: bool,
) -> Result<std::result::Result<Index, String>> {
    let len = source.len();
    let is_empty_bag = file_header.index_at == len
        && file_header.connections == 0
        && file_header.chunks == 0;
    if !file_header.has_header {
        return Ok(Err("the header of the bag cannot be read".to_owned()));
    } else if file_header.index_at == 0 {
        return Ok(Err("the bag was not closed: it has no index".to_owned()));
    } else if file_header.index_at < file_header.records_at
        || file_header.index_at > len
    {
        let at = file_header.index_at;
        return Ok(Err(format!("its declared position, byte {at}, is impossible")));
    } else if file_header.index_at == len && !is_empty_bag {
        return Ok(Err("the bag ends where its index should begin".to_owned()));
    }
    let mut toplevel = TopLevelReader::new(source.clone());
    let mut index = Index::default();
    let end = index.read_records(&mut toplevel, file_header, encryption)?;
    let contradiction =
        index.contradiction(&mut toplevel, file_header, end, is_thorough)?;
    Ok(contradiction.map_or(Ok(index), Err))
}

/// Returns the chunks that the index lists, in the order of the file, as far as the index can be
/// read. `file_header` is the header of the bag.
pub(crate) fn chunks(
    source: &Arc<dyn Source>,
    file_header: &FileHeader,
    encryption: &Encryption,
) -> Result<Vec<IndexedChunk>> {
    let mut index = Index::default();
    if !file_header.is_v1() && file_header.index_at >= file_header.records_at {
        index.read_records(
            &mut TopLevelReader::new(source.clone()),
            file_header,
            encryption,
        )?;
    }
    index.chunks.retain(|chunk| {
        (file_header.records_at..file_header.index_at).contains(&chunk.at)
    });
    Ok(index.chunks)
}

impl Index {
    /// Reads all records of the index; returns their end.
    fn read_records(
        &mut self,
        toplevel: &mut TopLevelReader,
        file_header: &FileHeader,
        encryption: &Encryption,
    ) -> Result<u64> {
        let end = self.read_from(toplevel, file_header.index_at, encryption)?;
        self.chunks.sort_by_key(|chunk| chunk.at);
        self.chunks.dedup_by_key(|chunk| chunk.at);
        Ok(end)
    }

    /// Reads the records from `at` on that belong to the index; returns their end.
    fn read_from(
        &mut self,
        toplevel: &mut TopLevelReader,
        mut at: u64,
        encryption: &Encryption,
    ) -> Result<u64> {
        loop {
            match toplevel.record_at(at)? {
                Some(TopLevelRecord {
                    kind: TopLevelKind::Connection { id, topic },
                    data,
                }) => {
                    let Some(header) = toplevel.data(&data)? else { return Ok(at) };
                    let raw = RawConnection::new(id, &topic, &header);
                    self.connections.push((raw, at..data.end));
                    at = data.end;
                }
                Some(TopLevelRecord { kind: TopLevelKind::ChunkInfo(info), data }) => {
                    let Some(counts) = toplevel.data(&data)? else { return Ok(at) };
                    self.chunks.push(IndexedChunk {
                        at: info.chunk_at,
                        time: info.time().unwrap_or(TimeRange::ALL),
                        counts: wire::chunk_counts(&counts).collect(),
                    });
                    at = data.end;
                }
                Some(TopLevelRecord {
                    kind: TopLevelKind::Other | TopLevelKind::Padding,
                    data,
                }) if data.end <= toplevel.len() && data.end > at => {
                    at = data.end;
                }
                Some(_) => return Ok(at),
                None => match self.read_encrypted(toplevel, at, encryption)? {
                    Some(end) => at = end,
                    None => return Ok(at),
                },
            }
        }
    }

    /// Reads the encrypted connection at `at`, if there is one; returns its end.
    fn read_encrypted(
        &mut self,
        toplevel: &mut TopLevelReader,
        at: u64,
        encryption: &Encryption,
    ) -> Result<Option<u64>> {
        if matches!(encryption, Encryption::None) {
            return Ok(None);
        }
        let FrameMatch::Whole(frame) = wire::frame(&toplevel.bytes(at, 4096)?) else {
            return Ok(None);
        };
        let end = at + frame.len();
        if end > toplevel.len() {
            return Ok(None);
        }
        if let Encryption::Key(key) = encryption {
            let Some(record) = toplevel.data(&(at..end))? else { return Ok(None) };
            let fields = record.get(4..4 + frame.fields_len).unwrap_or_default();
            let data = record.get(frame.data_start()..);
            let fields = key.decrypt(fields);
            let header = data.and_then(|data| key.decrypt(data));
            if let (Some(fields), Some(header)) = (fields, header)
                && let Some(Header::Connection { id, topic }) =
                    wire::header(wire::Fields::new(&fields))
            {
                self.connections
                    .push((RawConnection::new(id, topic, &header), at..end));
            }
        }
        Ok(Some(end))
    }

    /// Returns why the index, which ends at `end`, is inconsistent, or `None` if it is consistent.
    /// Adds the differences that do not matter to the remarks.
    fn contradiction(
        &mut self,
        toplevel: &mut TopLevelReader,
        file_header: &FileHeader,
        end: u64,
        is_thorough: bool,
    ) -> Result<Option<String>> {
        let len = toplevel.len();
        let (declared_chunks, declared_connections) =
            (u64::from(file_header.chunks), u64::from(file_header.connections));
        let (chunks, connections) =
            (self.chunks.len() as u64, self.connections.len() as u64);
        let is_short = chunks < declared_chunks || connections < declared_connections;
        if end < len && (is_short || chunks == 0 && connections == 0) {
            return Ok(Some(format!("it is truncated at byte {end}")));
        }
        let data = file_header.records_at..file_header.index_at;
        let outside = self.chunks.iter().find(|chunk| !data.contains(&chunk.at));
        if let Some(IndexedChunk { at, .. }) = outside {
            return Ok(Some(format!(
                "it lists a chunk at byte {at}, outside the data"
            )));
        }
        // If the header declares another number of chunks, the index may lack any of them.
        let is_thorough = is_thorough || chunks != declared_chunks;
        let mut inspector = Inspector::new(toplevel, file_header.index_at, is_thorough);
        if let Some(reason) =
            inspector.contradiction(&self.chunks, &mut self.compression)?
        {
            return Ok(Some(reason));
        }
        let first = self.chunks.first().map_or(file_header.index_at, |chunk| chunk.at);
        if has_messages(toplevel, file_header.records_at..first)? {
            return Ok(Some("it does not list the first messages".to_owned()));
        }
        if is_short && !self.ends_with_index_data(toplevel, file_header)? {
            let (count, kind, declared) = if chunks < declared_chunks {
                (chunks, "chunks", declared_chunks)
            } else {
                (connections, "connections", declared_connections)
            };
            return Ok(Some(format!("it has {count} {kind} instead of {declared}")));
        }
        if chunks != declared_chunks {
            let message = format!(
                "the header declares {declared_chunks} chunks, and the index has {chunks}"
            );
            self.remarks.push(message);
        }
        if connections != declared_connections && connections > 0 {
            self.remarks.push(format!(
                "the header declares {declared_connections} connections, and the index has \
                 {connections}"
            ));
        }
        if end < len {
            let unread = len - end;
            self.remarks.push(format!("{unread} bytes follow the index"));
        }
        Ok(None)
    }

    /// Returns whether only index data lie between the last chunk (or the bag header, if there is
    /// no chunk) and the index.
    fn ends_with_index_data(
        &self,
        toplevel: &mut TopLevelReader,
        file_header: &FileHeader,
    ) -> Result<bool> {
        let index_at = file_header.index_at;
        let mut at = match self.chunks.last() {
            None => file_header.records_at,
            Some(last) => match toplevel.chunk(last.at)? {
                Some((_, data)) => data.end,
                None => return Ok(false),
            },
        };
        while at < index_at {
            match toplevel.record_at(at)? {
                Some(TopLevelRecord {
                    kind: TopLevelKind::Chunk(_) | TopLevelKind::Message,
                    ..
                })
                | None => {
                    return Ok(false);
                }
                Some(TopLevelRecord { data, .. }) => at = data.end,
            }
        }
        Ok(at == index_at)
    }
}

/// Returns whether there are messages in `range`, where the index lists no chunk. The search ends
/// at bytes that are not a valid record.
fn has_messages(toplevel: &mut TopLevelReader, range: Range<u64>) -> Result<bool> {
    let Range { start: mut at, end } = range;
    while at < end {
        match toplevel.record_at(at)? {
            Some(TopLevelRecord {
                kind: TopLevelKind::Chunk(_) | TopLevelKind::Message,
                ..
            }) => {
                return Ok(true);
            }
            Some(TopLevelRecord { data, .. }) => at = data.end,
            None => return Ok(false),
        }
    }
    Ok(false)
}
