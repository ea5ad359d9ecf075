//! The index at the end of a bag: connections and chunk infos.
//!
//! It is used when it can be true: it has to lie where the header says, its chunks have
//! to lie before it, and those that are looked at have to be there.

mod after_chunk;
mod times;

use std::{ops::Range, sync::Arc};

use logtool_core::{Result, Source, TimeRange};

use crate::{
    connection::Raw,
    encryption::Lock,
    head::Head,
    packing::Packing,
    toplevel::{Top, TopKind, Tops},
    wire::{self, Framed, Header},
};

/// How many chunks are looked at.
const LOOKS: usize = 16;

/// What the index says.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The connections, and where each lies.
    pub(crate) connections: Vec<(Raw, Range<u64>)>,
    /// The chunks, in the order of the file.
    pub(crate) chunks: Vec<IndexedChunk>,
    /// How those chunks are packed that were looked at.
    pub(crate) packing: Packing,
    pub(crate) remarks: Vec<String>,
}

/// What the index says of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct IndexedChunk {
    pub(crate) at: u64,
    /// The times of its messages, where that can be true.
    pub(crate) time: TimeRange,
    /// How many messages of each connection it has.
    pub(crate) counts: Vec<(u32, u32)>,
    /// Whether what lies behind it says otherwise, or the index does not tell of it at all:
    /// then only what it holds is to be believed.
    pub(crate) is_doubtful: bool,
}

/// Reads the index of the bag that begins with `head`, or says why it cannot be used. Who is
/// thorough compares all that it tells of chunks with their index data.
pub(crate) fn read(
    source: &Arc<dyn Source>,
    head: &Head,
    lock: &Lock,
    is_thorough: bool,
) -> Result<std::result::Result<Index, String>> {
    let len = source.len();
    let is_empty_bag =
        head.index_at == len && head.connections == 0 && head.chunks == 0;
    if !head.has_header {
        return Ok(Err("the header of the bag cannot be read".to_owned()));
    } else if head.index_at == 0 {
        return Ok(Err("the bag was not closed: it has no index".to_owned()));
    } else if head.index_at < head.records_at || head.index_at > len {
        let at = head.index_at;
        return Ok(Err(format!("it is said to be at byte {at}, where it cannot be")));
    } else if head.index_at == len && !is_empty_bag {
        return Ok(Err("the bag ends where its index should begin".to_owned()));
    }
    let mut tops = Tops::new(source.clone());
    let mut index = Index::default();
    let end = index.take(&mut tops, head, lock)?;
    index.chunks.sort_by_key(|chunk| chunk.at);
    index.chunks.dedup_by_key(|chunk| chunk.at);
    match index.doubt(&mut tops, head, end, is_thorough)? {
        Some(why) => Ok(Err(why)),
        None => {
            let mended = times::mend(&mut tops, &mut index.chunks)?;
            index.remarks.extend(mended);
            Ok(Ok(index))
        }
    }
}

/// What the index of the bag that begins with `head` tells of its chunks, in the order
/// of the file, as far as it can be read.
pub(crate) fn chunks(
    source: &Arc<dyn Source>,
    head: &Head,
    lock: &Lock,
) -> Result<Vec<IndexedChunk>> {
    let mut index = Index::default();
    if !head.is_v1() && head.index_at >= head.records_at {
        index.take(&mut Tops::new(source.clone()), head, lock)?;
    }
    index.chunks.retain(|chunk| (head.records_at..head.index_at).contains(&chunk.at));
    index.chunks.sort_by_key(|chunk| chunk.at);
    index.chunks.dedup_by_key(|chunk| chunk.at);
    Ok(index.chunks)
}

/// The chunks at these `places`, in words; nothing if there are none.
fn chunks_at(places: &[u64]) -> Option<String> {
    let first = places.first()?;
    Some(match places.len() - 1 {
        0 => format!("the chunk at byte {first}"),
        more => format!("the chunk at byte {first}, and of {more} more"),
    })
}

impl Index {
    /// Takes all records of the index; says where they end.
    fn take(&mut self, tops: &mut Tops, head: &Head, lock: &Lock) -> Result<u64> {
        let mut at = head.index_at;
        loop {
            match tops.look(at)? {
                Some(Top { kind: TopKind::Connection { id, topic }, data }) => {
                    let Some(header) = tops.data(&data)? else { return Ok(at) };
                    let raw = Raw::new(id, &topic, &header);
                    self.connections.push((raw, at..data.end));
                    at = data.end;
                }
                Some(Top { kind: TopKind::ChunkInfo(info), data }) => {
                    let Some(counts) = tops.data(&data)? else { return Ok(at) };
                    self.chunks.push(IndexedChunk {
                        at: info.chunk_at,
                        time: info.time().unwrap_or(TimeRange::ALL),
                        counts: wire::chunk_counts(&counts).collect(),
                        is_doubtful: false,
                    });
                    at = data.end;
                }
                Some(Top { kind: TopKind::Other | TopKind::Padding, data })
                    if data.end <= tops.len() && data.end > at =>
                {
                    at = data.end;
                }
                Some(_) => return Ok(at),
                None => match self.sealed(tops, at, lock)? {
                    Some(end) => at = end,
                    None => return Ok(at),
                },
            }
        }
    }

    /// Takes the encrypted connection at `at`, if that is one; says where it ends.
    fn sealed(&mut self, tops: &mut Tops, at: u64, lock: &Lock) -> Result<Option<u64>> {
        if matches!(lock, Lock::Open) {
            return Ok(None);
        }
        let mut bytes = tops.bytes(at, 4096)?;
        let frame = match wire::frame(&bytes) {
            Framed::Whole(frame) => frame,
            _ => return Ok(None),
        };
        let end = at + frame.len();
        if end > tops.len() {
            return Ok(None);
        }
        if let Lock::Key(key) = lock {
            bytes = tops.bytes(at, frame.len())?;
            let fields = bytes.get(4..4 + frame.fields_len).unwrap_or_default();
            let data = bytes.get(frame.data_start()..frame.len() as usize);
            let fields = key.decrypt(fields);
            let header = data.and_then(|data| key.decrypt(data));
            if let (Some(fields), Some(header)) = (fields, header)
                && let Some(Header::Connection { id, topic }) =
                    wire::header(wire::Fields::new(&fields))
            {
                self.connections.push((Raw::new(id, topic, &header), at..end));
            }
        }
        Ok(Some(end))
    }

    /// Why the index, which ends at `end`, cannot be used.
    fn doubt(
        &mut self,
        tops: &mut Tops,
        head: &Head,
        end: u64,
        is_thorough: bool,
    ) -> Result<Option<String>> {
        let len = tops.len();
        let (told, found) = (u64::from(head.chunks), self.chunks.len() as u64);
        let (connections, declared) =
            (u64::from(head.connections), self.connections.len() as u64);
        let is_short = found < told || declared < connections;
        if end < len && (is_short || found == 0 && declared == 0) {
            return Ok(Some(format!("it breaks off at byte {end}")));
        }
        let is_out = |chunk: &IndexedChunk| {
            chunk.at < head.records_at || chunk.at >= head.index_at
        };
        if let Some(chunk) = self.chunks.iter().find(|chunk| is_out(chunk)) {
            let at = chunk.at;
            return Ok(Some(format!(
                "it tells of a chunk at byte {at}, outside the data"
            )));
        }
        // Where the header counts otherwise, a chunk may be missing anywhere.
        let is_thorough = is_thorough || found != told;
        if let Some(why) = self.look_at_chunks(tops, head.index_at, is_thorough)? {
            return Ok(Some(why));
        }
        let first = self.chunks.first().map_or(head.index_at, |chunk| chunk.at);
        if has_messages(tops, head.records_at..first)? {
            return Ok(Some("it does not tell of the first messages".to_owned()));
        }
        if is_short && !self.reaches(tops, head)? {
            return Ok(Some(format!("it has {found} chunks instead of {told}")));
        }
        if found != told {
            let what = format!(
                "the header says that there are {told} chunks, and the index has {found}"
            );
            self.remarks.push(what);
        }
        if declared != connections && !self.connections.is_empty() {
            self.remarks.push(format!(
                "the header says that there are {connections} connections, and the \
                 index has {declared}"
            ));
        }
        if end < len {
            let more = len - end;
            self.remarks.push(format!("after the index are {more} bytes more"));
        }
        Ok(None)
    }

    /// Looks at some of the chunks before `index_at`, or at all, and at how much lies behind
    /// each.
    fn look_at_chunks(
        &mut self,
        tops: &mut Tops,
        index_at: u64,
        is_thorough: bool,
    ) -> Result<Option<String>> {
        let (count, mut other, mut unnamed) =
            (self.chunks.len(), Vec::new(), Vec::new());
        self.packing.of = count as u64;
        let looks = if is_thorough { count } else { LOOKS.min(count) };
        for look in 0..looks {
            let place = match looks == count {
                true => look,
                false => look * (count - 1) / (looks - 1),
            };
            let next = self.chunks.get(place + 1).map_or(index_at, |next| next.at);
            let Some(chunk) = self.chunks.get_mut(place) else { break };
            let at = chunk.at;
            let Some((head, data)) = tops.chunk(at)? else {
                return Ok(Some(format!(
                    "it tells of a chunk at byte {at}, where none is"
                )));
            };
            self.packing.add(&head, data.end - data.start);
            let behind = after_chunk::look(tops, chunk, data.end..next, is_thorough)?;
            chunk.is_doubtful = behind.is_other;
            other.extend(behind.is_other.then_some(at));
            unnamed.extend(behind.unnamed);
        }
        for (what, places) in [
            ("tells otherwise than the index data behind it of", &other),
            ("does not tell of", &unnamed),
        ] {
            let told = chunks_at(places);
            self.remarks.extend(
                told.map(|chunks| format!("the index {what} {chunks}: looked into")),
            );
        }
        self.chunks.extend(unnamed.into_iter().map(|at| {
            let (time, counts) = (TimeRange::ALL, Vec::new());
            IndexedChunk { at, time, counts, is_doubtful: true }
        }));
        self.chunks.sort_by_key(|chunk| chunk.at);
        Ok(None)
    }

    /// Whether nothing but the records of its index lies between the last chunk, or
    /// the header if there is none, and the index.
    fn reaches(&self, tops: &mut Tops, head: &Head) -> Result<bool> {
        let index_at = head.index_at;
        let mut at = match self.chunks.last() {
            None => head.records_at,
            Some(last) => match tops.chunk(last.at)? {
                Some((_, data)) => data.end,
                None => return Ok(false),
            },
        };
        while at < index_at {
            match tops.look(at)? {
                Some(Top { kind: TopKind::Chunk(_) | TopKind::Message, .. }) | None => {
                    return Ok(false);
                }
                Some(Top { data, .. }) => at = data.end,
            }
        }
        Ok(at == index_at)
    }
}

/// Whether there are messages in `range`, where the index has no chunk.
fn has_messages(tops: &mut Tops, range: Range<u64>) -> Result<bool> {
    let Range { start: mut at, end } = range;
    while at < end {
        match tops.look(at)? {
            Some(Top { kind: TopKind::Chunk(_) | TopKind::Message, .. }) => {
                return Ok(true);
            }
            Some(Top { data, .. }) => at = data.end,
            None => return Ok(false),
        }
    }
    Ok(false)
}
