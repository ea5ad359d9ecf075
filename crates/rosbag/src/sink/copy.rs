//! Chunks that can be copied as they are.
//!
//! That is so if all that is in them is wanted, and would be written with the same
//! numbers of connections, by the same names. What the index of a chunk says is
//! believed if it does not contradict itself, and if nothing hangs on it; else the
//! chunk is looked into.

use std::{collections::BTreeSet, ops::Range};

use bytes::{Bytes, BytesMut};
use logtool_core::{OpenOptions, Output, Part, Result, Source};

use crate::{
    chunk::{Compression, Unpacked},
    connection::Connection,
    record::{self, Found},
    sink::Taken,
    wire::{self, Framed, Header},
    write::{
        Copied, CopiedIndex, Writer,
        filling::{Told, told},
        stamp::Stamp,
    },
};

/// How much is read to see the head of a chunk.
const HEAD: u64 = 4096;
/// No longer index of a chunk is looked at, nor are more made for one part.
const MAX_INDEX: u64 = 64 << 20;

/// What is to be known of an extract to copy chunks of it.
pub(super) struct Whole<'s, 'w> {
    pub(super) taken: &'s Taken,
    pub(super) writer: &'s Writer<Box<dyn Output + 'w>>,
    /// The compression that was asked for.
    pub(super) compression: Option<Compression>,
    /// Whether something hangs on what the index of a chunk says.
    pub(super) looks_inside: bool,
    pub(super) source: &'s dyn Source,
}

/// The connection, the time and the offset of a message in a chunk.
type Message = (u32, Stamp, u32);

/// The index of a chunk.
struct Listed {
    bytes: Bytes,
    /// The messages that it tells of, unless there are none, or it cannot be true.
    messages: Option<Vec<Message>>,
}

/// A chunk that is looked at.
struct Seen {
    /// Where it begins.
    at: u64,
    compression: Compression,
    /// How long it says to be when unpacked.
    size: u32,
    /// Its packed bytes.
    data: Range<u64>,
}

impl Whole<'_, '_> {
    /// The chunks of `part`, if that is made of nothing else and all can be copied.
    pub(super) fn chunks(&self, part: &Part) -> Result<Option<Vec<Copied>>> {
        if !self.taken.has_chunks() {
            return Ok(None);
        }
        let (parts, Range { start, end }) = (&self.taken.parts, part.bytes.clone());
        let first = parts.partition_point(|[other, _]| *other < start);
        let (mut chunks, mut at, mut made) = (Vec::new(), start, 0);
        let mut declared = BTreeSet::new();
        for [start, stop] in parts.iter().skip(first) {
            if at >= end {
                break;
            }
            let chunk = match *start == at && *stop <= end {
                true => self.chunk(at..*stop, &declared)?,
                false => None,
            };
            let Some(chunk) = chunk else { return Ok(None) };
            if let CopiedIndex::Made(bytes) = &chunk.index {
                made += bytes.len() as u64;
            }
            if made > MAX_INDEX {
                return Ok(None);
            }
            declared.extend(&chunk.declares);
            chunks.push(chunk);
            at = *stop;
        }
        Ok(Some(chunks).filter(|chunks| at == end && !chunks.is_empty()))
    }

    /// The chunk that is all of `tile`, if it can be copied where the connections
    /// `declared` are in a chunk already.
    fn chunk(
        &self,
        tile: Range<u64>,
        declared: &BTreeSet<u32>,
    ) -> Result<Option<Copied>> {
        let Some(seen) = self.look(&tile)? else { return Ok(None) };
        let Some(listed) = self.listed(&seen, tile.end)? else { return Ok(None) };
        let is_declared =
            |id: u32| self.writer.is_declared(id) || declared.contains(&id);
        let believes = |(id, ..): &Message| is_declared(*id);
        let looks_inside = self.looks_inside || seen.compression == Compression::None;
        let (messages, declares) = match listed.messages {
            Some(messages) if !looks_inside && messages.iter().all(believes) => {
                (messages, Vec::new())
            }
            _ => match self.inside(&seen, declared)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        if !self.wants(&messages, seen.at) {
            return Ok(None);
        }
        let Some(Told { index, summary }) = told(&messages) else { return Ok(None) };
        // What ROS wrote is that already.
        let index = match listed.bytes == index {
            true => CopiedIndex::There(seen.data.end..tile.end),
            false => CopiedIndex::Made(index),
        };
        Ok(Some(Copied { chunk: tile.start..seen.data.end, index, summary, declares }))
    }

    /// The chunk that begins `tile`, if there is one that may be copied.
    fn look(&self, tile: &Range<u64>) -> Result<Option<Seen>> {
        let head = self.source.read_at(tile.start..tile.end.min(tile.start + HEAD))?;
        let Framed::Whole(frame) = wire::frame(&head) else { return Ok(None) };
        let Some(Header::Chunk { compression, size }) =
            wire::header(wire::fields(&head, frame))
        else {
            return Ok(None);
        };
        let Some(compression) = Compression::of(compression) else { return Ok(None) };
        let start = tile.start + frame.data_start() as u64;
        let data = start..start + u64::from(frame.data_len);
        let packed = head.get(frame.data_start()..).unwrap_or_default();
        let is_as_asked = self.compression.is_none_or(|asked| asked == compression);
        let is_whole = !data.is_empty() && data.end <= tile.end;
        let seen = Seen { at: tile.start, compression, size, data };
        Ok((is_as_asked && is_whole && compression.is_of_ros(packed)).then_some(seen))
    }

    /// What follows the chunk, up to `end`, if that is an index.
    fn listed(&self, seen: &Seen, end: u64) -> Result<Option<Listed>> {
        let start = seen.data.end;
        if end - start > MAX_INDEX {
            return Ok(None);
        }
        let bytes = self.source.read_at(start..end)?;
        let (mut rest, mut messages, mut is_wrong) = (&bytes[..], Vec::new(), false);
        let mut ids = BTreeSet::new();
        // Zero bytes are padding.
        while rest.iter().any(|byte| *byte != 0) {
            let Framed::Whole(frame) = wire::frame(rest) else { return Ok(None) };
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
                match Stamp::new(time) {
                    Ok(stamp) if offset < seen.size => {
                        messages.push((connection, stamp, offset));
                    }
                    _ => is_wrong = true,
                }
            }
            rest = after;
        }
        is_wrong |= messages.is_empty();
        Ok(Some(Listed { bytes, messages: (!is_wrong).then_some(messages) }))
    }

    /// Looks into a chunk: the messages that are in it, and which connections. Nothing
    /// comes back where it is broken, or has a connection that is none of the new bag's
    /// as it is, or lacks one that the new bag does not have by then.
    fn inside(
        &self,
        seen: &Seen,
        declared: &BTreeSet<u32>,
    ) -> Result<Option<(Vec<Message>, Vec<u32>)>> {
        let Some(content) = self.unpack(seen)? else { return Ok(None) };
        let (mut messages, mut declares) = (Vec::new(), Vec::new());
        let mut known = declared.clone();
        let mut rest = &content[..];
        while !rest.is_empty() {
            let offset = (content.len() - rest.len()) as u32;
            let len = match record::find(rest) {
                Found::Message { connection: id, time, payload } => {
                    let is_known = known.contains(&id)
                        || self.writer.is_declared(id) && known.insert(id);
                    let (true, Ok(stamp)) = (is_known, Stamp::new(time)) else {
                        return Ok(None);
                    };
                    messages.push((id, stamp, offset));
                    payload.end
                }
                Found::Connection { raw, len } => {
                    let connection = Connection::new(raw);
                    if !self.is_same(&connection) {
                        return Ok(None);
                    }
                    known.insert(connection.id);
                    declares.push(connection.id);
                    len
                }
                Found::Other { .. } | Found::Partial { .. } | Found::Nothing => {
                    return Ok(None);
                }
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        Ok(Some((messages, declares)))
    }

    /// The content of a chunk, if all of it is there, and is as long as it is said to be.
    fn unpack(&self, seen: &Seen) -> Result<Option<Bytes>> {
        let Seen { compression, size, data, .. } = seen;
        let limit = OpenOptions::default().record_bytes;
        if *size > limit || data.end - data.start > u64::from(limit) {
            return Ok(None);
        }
        let packed = self.source.read_at(data.clone())?;
        if packed.len() as u64 != data.end - data.start {
            return Ok(None);
        }
        let (content, how) = match compression {
            Compression::None => (packed, Unpacked::Whole),
            packing => {
                let room = BytesMut::new();
                let (content, how) =
                    packing.unpack(&packed, *size, *size as usize, room);
                (content.freeze(), how)
            }
        };
        let is_whole =
            how == Unpacked::Whole && content.len() as u64 == u64::from(*size);
        Ok(is_whole.then_some(content))
    }

    /// Whether all `messages` of the chunk at `at` are wanted, each of the connection
    /// that has its number in the new bag too.
    fn wants(&self, messages: &[Message], at: u64) -> bool {
        let ids: BTreeSet<u32> = messages.iter().map(|(id, ..)| *id).collect();
        let table = &self.taken.table;
        let is_same = |id: &u32| {
            let index = table.lookup(*id, at).map(|entry| entry as usize);
            let entry = index.and_then(|index| table.entries.get(index));
            let becomes =
                index.and_then(|index| self.taken.becomes.get(index)).copied();
            let handle = becomes.flatten();
            handle.is_some_and(|handle| handle.id() == *id)
                && entry.is_some_and(|entry| self.is_same(&entry.connection))
        };
        let range = self.taken.selection.time;
        ids.iter().all(is_same)
            && messages.iter().all(|(_, stamp, _)| range.contains(stamp.time()))
    }

    /// Whether the new bag has `connection` as it is.
    fn is_same(&self, connection: &Connection) -> bool {
        let same = (connection.topic_bytes(), connection.header());
        self.writer.connection(connection.id) == Some(same)
    }
}
