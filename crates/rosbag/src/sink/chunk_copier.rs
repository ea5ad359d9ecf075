//! Chunks that can be copied unchanged.
//!
//! A chunk can be copied if all its messages are selected, and would be written with the same
//! connection ids and topic names. Which messages it has is known from its index data if they are
//! consistent, all their connections are declared, and there is no other reason to inspect the
//! content; otherwise the content is inspected.

use std::{collections::BTreeSet, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{ChunkLimits, OpenOptions, Output, Part, Result, Source};

use crate::{
    codec::compression::{Compression, FrameOutcome},
    connections::connection::Connection,
    records::chunk_record::{self, ParsedRecord},
    sink::SelectedLog,
    wire::{self, FrameMatch, Header},
    write::{
        CopiedChunk, CopiedIndexData, Writer,
        chunk_builder::{ChunkIndex, index_messages},
        ros_time::RosTime,
    },
};

/// The number of bytes that are read for the header of a chunk.
const HEADER_READ: u64 = 4096;
/// The maximum size of the index data of a chunk that are inspected, and of new index data for
/// one part.
const MAX_INDEX: u64 = 64 << 20;

/// Finds the chunks of a selection that can be copied.
pub(super) struct ChunkCopier<'s, 'w> {
    pub(super) selected: &'s SelectedLog,
    pub(super) writer: &'s Writer<Box<dyn Output + 'w>>,
    /// The requested compression, if any.
    pub(super) compression: Option<Compression>,
    /// Whether the content of each chunk must be inspected.
    pub(super) inspects_content: bool,
    pub(super) source: &'s dyn Source,
}

/// The connection, the time and the offset of a message in a chunk.
type ChunkMessage = (u32, RosTime, u32);

/// The index data of a chunk.
struct ChunkIndexData {
    bytes: Bytes,
    /// The messages in the index data, or `None` if the index data are empty or inconsistent.
    messages: Option<Vec<ChunkMessage>>,
}

/// A chunk that may be copied.
struct SourceChunk {
    /// The position of the chunk.
    at: u64,
    compression: Compression,
    /// The declared size after decompression.
    size: u32,
    /// The byte range of the compressed data.
    data: Range<u64>,
}

impl ChunkCopier<'_, '_> {
    /// Returns the chunks of `part`, if it consists only of chunks that can be copied.
    pub(super) fn chunks(&self, part: &Part) -> Result<Option<Vec<CopiedChunk>>> {
        if !self.selected.has_chunks() {
            return Ok(None);
        }
        let (parts, Range { start, end }) = (&self.selected.parts, part.bytes.clone());
        let first = parts.partition_point(|[part_start, _]| *part_start < start);
        let (mut chunks, mut at, mut new_index_bytes) = (Vec::new(), start, 0);
        let mut declared_ids = BTreeSet::new();
        for [part_start, part_end] in parts.iter().skip(first) {
            if at >= end {
                break;
            }
            let chunk = if *part_start == at && *part_end <= end {
                self.chunk(at..*part_end, &declared_ids)?
            } else {
                None
            };
            let Some(chunk) = chunk else { return Ok(None) };
            if let CopiedIndexData::New(bytes) = &chunk.index_data {
                new_index_bytes += bytes.len() as u64;
            }
            if new_index_bytes > MAX_INDEX {
                return Ok(None);
            }
            declared_ids.extend(&chunk.declared_ids);
            chunks.push(chunk);
            at = *part_end;
        }
        Ok(Some(chunks).filter(|chunks| at == end && !chunks.is_empty()))
    }

    /// Returns the chunk of `part`, which is a part with one chunk, if the chunk can be copied
    /// after chunks that declare the connections `declared_before`.
    fn chunk(
        &self,
        part: Range<u64>,
        declared_before: &BTreeSet<u32>,
    ) -> Result<Option<CopiedChunk>> {
        let Some(chunk) = self.find_chunk(&part)? else { return Ok(None) };
        let Some(listed) = self.index_data_of(&chunk, part.end)? else {
            return Ok(None);
        };
        let is_declared = |(id, ..): &ChunkMessage| {
            self.writer.is_declared(*id) || declared_before.contains(id)
        };
        // Inspecting an uncompressed chunk costs little.
        let inspects_content =
            self.inspects_content || chunk.compression == Compression::None;
        let (messages, declared_ids) = match listed.messages {
            Some(messages) if !inspects_content && messages.iter().all(is_declared) => {
                (messages, Vec::new())
            }
            _ => match self.inspect_content(&chunk, declared_before)? {
                Some(inspected) => inspected,
                None => return Ok(None),
            },
        };
        if !self.is_fully_selected(&messages, chunk.at) {
            return Ok(None);
        }
        let Some(ChunkIndex { index_data, summary }) = index_messages(&messages) else {
            return Ok(None);
        };
        // Index data that ROS wrote are equal to the new ones, and are copied.
        let index_data = if listed.bytes == index_data {
            CopiedIndexData::Original(chunk.data.end..part.end)
        } else {
            CopiedIndexData::New(index_data)
        };
        Ok(Some(CopiedChunk {
            chunk: part.start..chunk.data.end,
            index_data,
            summary,
            declared_ids,
        }))
    }

    /// Returns the chunk at the start of `part`, if there is one that may be copied.
    fn find_chunk(&self, part: &Range<u64>) -> Result<Option<SourceChunk>> {
        let first_bytes =
            self.source.read_at(part.start..part.end.min(part.start + HEADER_READ))?;
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
        let start = part.start + frame.data_start() as u64;
        let data = start..start + u64::from(frame.data_len);
        let packed = first_bytes.get(frame.data_start()..).unwrap_or_default();
        let is_as_requested =
            self.compression.is_none_or(|requested| requested == compression);
        let is_complete = !data.is_empty() && data.end <= part.end;
        let chunk = SourceChunk { at: part.start, compression, size, data };
        Ok((is_as_requested && is_complete && compression.is_readable_by_ros(packed))
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
            is_wrong |= version != 1
                || entries.len() as u64 != u64::from(count) * wire::INDEX_ENTRY_LEN;
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

    /// Inspects the content of a chunk, and returns its messages and the ids of the connections
    /// that it declares. Returns `None` if the content is broken, if it declares a connection that
    /// differs in the new bag, or if it has messages of a connection that neither it nor the new
    /// bag up to this chunk declares. `declared_before` are the ids that chunks before it declare,
    /// in the same part.
    fn inspect_content(
        &self,
        chunk: &SourceChunk,
        declared_before: &BTreeSet<u32>,
    ) -> Result<Option<(Vec<ChunkMessage>, Vec<u32>)>> {
        let Some(content) = self.decompress(chunk)? else { return Ok(None) };
        let (mut messages, mut declared_ids) = (Vec::new(), Vec::new());
        let mut all_declared = declared_before.clone();
        let mut rest = &content[..];
        while !rest.is_empty() {
            let offset = (content.len() - rest.len()) as u32;
            let len = match chunk_record::parse(rest) {
                ParsedRecord::Message { connection: id, time, payload } => {
                    let is_declared = all_declared.contains(&id)
                        || self.writer.is_declared(id) && all_declared.insert(id);
                    let (true, Ok(stamp)) = (is_declared, RosTime::new(time)) else {
                        return Ok(None);
                    };
                    messages.push((id, stamp, offset));
                    payload.end
                }
                ParsedRecord::Connection { raw, len } => {
                    let connection = Connection::new(raw);
                    if !self.is_unchanged(&connection) {
                        return Ok(None);
                    }
                    all_declared.insert(connection.id);
                    declared_ids.push(connection.id);
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
        Ok(Some((messages, declared_ids)))
    }

    /// Returns the content of a chunk if it is complete and has its declared size.
    fn decompress(&self, chunk: &SourceChunk) -> Result<Option<Bytes>> {
        let SourceChunk { compression, size, data, .. } = chunk;
        let limit = OpenOptions::default().record_bytes;
        let packed_len = data.end - data.start;
        // A chunk whose length may be limited is read instead, so that this is reported.
        if *size > limit
            || packed_len > u64::from(limit)
            || !ChunkLimits::is_ordinary(packed_len, (*size).into())
        {
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
                let (content, outcome) = compression.decompress(
                    &packed,
                    *size,
                    *size as usize,
                    false,
                    buffer,
                );
                (content.freeze(), outcome)
            }
        };
        let is_complete =
            outcome == FrameOutcome::Whole && content.len() as u64 == u64::from(*size);
        Ok(is_complete.then_some(content))
    }

    /// Returns whether all `messages` of the chunk at `at` are selected, and their connections have
    /// the same ids in the new bag.
    fn is_fully_selected(&self, messages: &[ChunkMessage], at: u64) -> bool {
        let ids: BTreeSet<u32> = messages.iter().map(|(id, ..)| *id).collect();
        let table = &self.selected.table;
        let has_same_id = |id: &u32| {
            let index = table.lookup(*id, at).map(|entry| entry as usize);
            let entry = index.and_then(|index| table.entries.get(index));
            let handle =
                index.and_then(|index| *self.selected.new_handles.get(index)?);
            handle.is_some_and(|handle| handle.id() == *id)
                && entry.is_some_and(|entry| self.is_unchanged(&entry.connection))
        };
        let range = self.selected.selection.time;
        ids.iter().all(has_same_id)
            && messages.iter().all(|(_, stamp, _)| range.contains(stamp.time()))
    }

    /// Returns whether the new bag has `connection` unchanged.
    fn is_unchanged(&self, connection: &Connection) -> bool {
        let connection_key = (connection.topic_bytes(), connection.header());
        self.writer.connection(connection.id) == Some(connection_key)
    }
}
