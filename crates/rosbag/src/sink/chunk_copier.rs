//! Chunks that can be copied unchanged.
//!
//! This is possible if all messages of a chunk are selected, and would be written with the same
//! connection ids and the same topic names. The index data of a chunk are trusted if they are
//! consistent and the chunk need not be inspected for other reasons; otherwise the content is
//! inspected.

use std::{collections::BTreeSet, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{OpenOptions, Output, Part, Result, Source};

use crate::{
    codec::compression::{Compression, FrameOutcome},
    connections::connection::Connection,
    records::chunk_record::{self, ParsedRecord},
    sink::SelectedLog,
    wire::{self, FrameMatch, Header},
    write::{
        CopiedChunk, CopiedIndex, Writer,
        chunk_builder::{ChunkIndex, index_messages},
        ros_time::RosTime,
    },
};

/// The bytes that are read for the header of a chunk.
const HEAD: u64 = 4096;
/// The maximum size of the index data of a chunk that are inspected, and of new index data for
/// one part.
const MAX_INDEX: u64 = 64 << 20;

/// The inputs for copying chunks of a selection.
pub(super) struct ChunkCopier<'s, 'w> {
    pub(super) selected: &'s SelectedLog,
    pub(super) writer: &'s Writer<Box<dyn Output + 'w>>,
    /// The requested compression.
    pub(super) compression: Option<Compression>,
    /// Whether the content of each chunk must be inspected.
    pub(super) looks_inside: bool,
    pub(super) source: &'s dyn Source,
}

/// The connection, the time and the offset of a message in a chunk.
type ChunkMessage = (u32, RosTime, u32);

/// The index data of a chunk.
struct ChunkIndexData {
    bytes: Bytes,
    /// The listed messages, or `None` if there are none or the index data are inconsistent.
    messages: Option<Vec<ChunkMessage>>,
}

/// A chunk that may be copied.
struct SourceChunk {
    /// Its position.
    at: u64,
    compression: Compression,
    /// Its declared decompressed size.
    size: u32,
    /// Its compressed bytes.
    data: Range<u64>,
}

impl ChunkCopier<'_, '_> {
    /// Returns the chunks of `part` if it consists of chunks only and all can be copied.
    pub(super) fn chunks(&self, part: &Part) -> Result<Option<Vec<CopiedChunk>>> {
        if !self.selected.has_chunks() {
            return Ok(None);
        }
        let (parts, Range { start, end }) = (&self.selected.parts, part.bytes.clone());
        let first = parts.partition_point(|[other, _]| *other < start);
        let (mut chunks, mut at, mut total) = (Vec::new(), start, 0);
        let mut declared = BTreeSet::new();
        for [start, stop] in parts.iter().skip(first) {
            if at >= end {
                break;
            }
            let chunk = if *start == at && *stop <= end {
                self.chunk(at..*stop, &declared)?
            } else {
                None
            };
            let Some(chunk) = chunk else { return Ok(None) };
            if let CopiedIndex::Made(bytes) = &chunk.index {
                total += bytes.len() as u64;
            }
            if total > MAX_INDEX {
                return Ok(None);
            }
            declared.extend(&chunk.declares);
            chunks.push(chunk);
            at = *stop;
        }
        Ok(Some(chunks).filter(|chunks| at == end && !chunks.is_empty()))
    }

    /// Returns the chunk that occupies all of `draft` if it can be copied after chunks that
    /// declare the connections `declared`.
    fn chunk(
        &self,
        draft: Range<u64>,
        declared: &BTreeSet<u32>,
    ) -> Result<Option<CopiedChunk>> {
        let Some(chunk) = self.find_chunk(&draft)? else { return Ok(None) };
        let Some(listed) = self.index_data_of(&chunk, draft.end)? else {
            return Ok(None);
        };
        let is_declared =
            |id: u32| self.writer.is_declared(id) || declared.contains(&id);
        let believes = |(id, ..): &ChunkMessage| is_declared(*id);
        let looks_inside = self.looks_inside || chunk.compression == Compression::None;
        let (messages, declares) = match listed.messages {
            Some(messages) if !looks_inside && messages.iter().all(believes) => {
                (messages, Vec::new())
            }
            _ => match self.inspect_content(&chunk, declared)? {
                Some(chunk) => chunk,
                None => return Ok(None),
            },
        };
        if !self.is_fully_selected(&messages, chunk.at) {
            return Ok(None);
        }
        let Some(ChunkIndex { index, summary }) = index_messages(&messages) else {
            return Ok(None);
        };
        // Index data that ROS wrote have the same form, and are copied.
        let index = if listed.bytes == index {
            CopiedIndex::There(chunk.data.end..draft.end)
        } else {
            CopiedIndex::Made(index)
        };
        Ok(Some(CopiedChunk {
            chunk: draft.start..chunk.data.end,
            index,
            summary,
            declares,
        }))
    }

    /// Returns the chunk at the start of `draft`, if there is one that may be copied.
    fn find_chunk(&self, draft: &Range<u64>) -> Result<Option<SourceChunk>> {
        let first_bytes =
            self.source.read_at(draft.start..draft.end.min(draft.start + HEAD))?;
        let FrameMatch::Whole(frame) = wire::frame(&first_bytes) else {
            return Ok(None);
        };
        let Some(Header::Chunk { compression, size }) =
            wire::header(wire::fields(&first_bytes, frame))
        else {
            return Ok(None);
        };
        let Some(compression) = Compression::from_name(compression) else {
            return Ok(None);
        };
        let start = draft.start + frame.data_start() as u64;
        let data = start..start + u64::from(frame.data_len);
        let packed = first_bytes.get(frame.data_start()..).unwrap_or_default();
        let is_as_requested =
            self.compression.is_none_or(|requested| requested == compression);
        let is_complete = !data.is_empty() && data.end <= draft.end;
        let chunk = SourceChunk { at: draft.start, compression, size, data };
        Ok((is_as_requested && is_complete && compression.is_of_ros(packed))
            .then_some(chunk))
    }

    /// Returns the index data between the chunk and `end`, if there is nothing else.
    fn index_data_of(
        &self,
        chunk: &SourceChunk,
        end: u64,
    ) -> Result<Option<ChunkIndexData>> {
        let start = chunk.data.end;
        if end - start > MAX_INDEX {
            return Ok(None);
        }
        let bytes = self.source.read_at(start..end)?;
        let (mut rest, mut messages, mut is_wrong) = (&bytes[..], Vec::new(), false);
        let mut ids = BTreeSet::new();
        // Zero bytes are padding.
        while rest.iter().any(|byte| *byte != 0) {
            let FrameMatch::Whole(frame) = wire::frame(rest) else { return Ok(None) };
            let Some(Header::Index { connection, count, version }) =
                wire::header(wire::fields(rest, frame))
            else {
                return Ok(None);
            };
            let len = usize::try_from(frame.len()).unwrap_or(usize::MAX);
            let Some((entries, after)) = rest.split_at_checked(len) else {
                return Ok(None);
            };
            let entries = entries.get(frame.data_start()..).unwrap_or_default();
            is_wrong |= version != 1 || entries.len() as u64 != u64::from(count) * 12;
            is_wrong |= !ids.insert(connection);
            for (time, offset) in wire::index_entries(entries) {
                match RosTime::new(time) {
                    Ok(stamp) if offset < chunk.size => {
                        messages.push((connection, stamp, offset));
                    }
                    _ => is_wrong = true,
                }
            }
            rest = after;
        }
        is_wrong |= messages.is_empty();
        Ok(Some(ChunkIndexData { bytes, messages: (!is_wrong).then_some(messages) }))
    }

    /// Inspects the content of a chunk: returns its messages and its declared connections.
    /// Returns `None` if the content is broken, if it declares a connection that differs
    /// in the new bag, or if it uses a connection that the new bag has not declared before
    /// this chunk.
    fn inspect_content(
        &self,
        chunk: &SourceChunk,
        declared: &BTreeSet<u32>,
    ) -> Result<Option<(Vec<ChunkMessage>, Vec<u32>)>> {
        let Some(content) = self.decompress(chunk)? else { return Ok(None) };
        let (mut messages, mut declares) = (Vec::new(), Vec::new());
        let mut declared_ids = declared.clone();
        let mut rest = &content[..];
        while !rest.is_empty() {
            let offset = (content.len() - rest.len()) as u32;
            let len = match chunk_record::parse(rest) {
                ParsedRecord::Message { connection: id, time, payload } => {
                    let is_known = declared_ids.contains(&id)
                        || self.writer.is_declared(id) && declared_ids.insert(id);
                    let (true, Ok(stamp)) = (is_known, RosTime::new(time)) else {
                        return Ok(None);
                    };
                    messages.push((id, stamp, offset));
                    payload.end
                }
                ParsedRecord::Connection { raw, len } => {
                    let connection = Connection::new(raw);
                    if !self.is_same(&connection) {
                        return Ok(None);
                    }
                    declared_ids.insert(connection.id);
                    declares.push(connection.id);
                    len
                }
                ParsedRecord::Other { .. }
                | ParsedRecord::Partial { .. }
                | ParsedRecord::Invalid => {
                    return Ok(None);
                }
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        Ok(Some((messages, declares)))
    }

    /// Returns the content of a chunk if it is complete and has its declared size.
    fn decompress(&self, chunk: &SourceChunk) -> Result<Option<Bytes>> {
        let SourceChunk { compression, size, data, .. } = chunk;
        let limit = OpenOptions::default().record_bytes;
        if *size > limit || data.end - data.start > u64::from(limit) {
            return Ok(None);
        }
        let packed = self.source.read_at(data.clone())?;
        if packed.len() as u64 != data.end - data.start {
            return Ok(None);
        }
        let (content, outcome) = match compression {
            Compression::None => (packed, FrameOutcome::Whole),
            compression => {
                let buffer = BytesMut::new();
                let (content, outcome) =
                    compression.decompress(&packed, *size, *size as usize, buffer);
                (content.freeze(), outcome)
            }
        };
        let is_complete =
            outcome == FrameOutcome::Whole && content.len() as u64 == u64::from(*size);
        Ok(is_complete.then_some(content))
    }

    /// Returns whether all `messages` of the chunk at `at` are selected, and each belongs to the
    /// connection that has its id in the new bag too.
    fn is_fully_selected(&self, messages: &[ChunkMessage], at: u64) -> bool {
        let ids: BTreeSet<u32> = messages.iter().map(|(id, ..)| *id).collect();
        let table = &self.selected.table;
        let has_same_id = |id: &u32| {
            let index = table.lookup(*id, at).map(|entry| entry as usize);
            let entry = index.and_then(|index| table.entries.get(index));
            let new_handles =
                index.and_then(|index| self.selected.new_handles.get(index)).copied();
            let handle = new_handles.flatten();
            handle.is_some_and(|handle| handle.id() == *id)
                && entry.is_some_and(|entry| self.is_same(&entry.connection))
        };
        let range = self.selected.selection.time;
        ids.iter().all(has_same_id)
            && messages.iter().all(|(_, stamp, _)| range.contains(stamp.time()))
    }

    /// Returns whether the new bag has `connection` unchanged.
    fn is_same(&self, connection: &Connection) -> bool {
        let connection_key = (connection.topic_bytes(), connection.header());
        self.writer.connection(connection.id) == Some(connection_key)
    }
}
