//! How far a chunk goes, where its length may be wrong.

use std::ops::Range;

use bytes::BytesMut;
use logtool_core::Result;

use crate::{
    bag::{Bag, Chunk, Content},
    chunk::{Compression, Unpacked},
    encryption::Lock,
    messages::Messages,
    toplevel::{ChunkHead, Tops},
    walk::Plain,
};

impl Bag {
    /// `chunk`, up to where its index data begin, if it says to be shorter or longer than
    /// that: no record is behind what it says. They are looked for before the next of `bounds`.
    pub(crate) fn up_to_index(
        &self,
        tops: &mut Tops,
        bounds: &[u64],
        chunk: Chunk,
    ) -> Result<Chunk> {
        let Range { start, end } = chunk.data;
        let after = bounds.partition_point(|bound| *bound <= chunk.at);
        let bound = bounds.get(after).copied().unwrap_or(end);
        if chunk.is_cut || end >= bound || tops.goes_on(end, bound)? {
            return Ok(chunk);
        }
        let other =
            |end: u64| Chunk { data: start..end, is_wrong: true, ..chunk.clone() };
        match chunk.head.compression {
            Ok(Compression::None) if matches!(self.lock, Lock::Open) => {
                let end = self.end_of_messages(start..bound)?;
                Ok(end.map_or(chunk.clone(), other))
            }
            Ok(Compression::Bz2 | Compression::Lz4) => {
                let content = |chunk: &Chunk| -> Result<(usize, bool)> {
                    Ok(match self.open(chunk, BytesMut::new())? {
                        Content::Unpacked(bytes, how) => {
                            let is_all = bytes.len() >= chunk.head.declared as usize;
                            (bytes.len(), how == Unpacked::Whole && is_all)
                        }
                        Content::Plain(_) | Content::Lost(_) => (0, false),
                    })
                };
                let (len, is_whole) = content(&chunk)?;
                if is_whole {
                    return Ok(chunk);
                }
                if let Some(at) = tops.find_index(start..end)?
                    && tops.is_index_beyond(at, end)?
                {
                    return Ok(other(at));
                }
                let longer = other(tops.find_between(end..bound)?.unwrap_or(bound));
                Ok(if content(&longer)?.0 >= len { longer } else { chunk })
            }
            _ => Ok(chunk),
        }
    }

    /// Where the messages that begin `range` end, and records that lie between chunks begin;
    /// or its end, if nothing else than messages is in it.
    fn end_of_messages(&self, range: Range<u64>) -> Result<Option<u64>> {
        let end = range.end;
        let mut plain =
            Plain { bytes: range, is_cut: false, is_outside: true, is_v1: false };
        let mut messages = Messages::default();
        while plain.read(&*self.source, self.options, &mut messages)? {}
        let at = plain.bytes.start;
        Ok(Some(at).filter(|at| *at < end || !messages.is_broken()))
    }
}

/// How many places inside a chunk are looked at, where others are said to begin.
const LOOKS: usize = 256;

/// What there is of the chunk at `at` of which the data are said to be `data`. What may
/// come next begins at one of `bounds`, the last of which is the end: where the length is
/// wrong, the chunk ends before that, where its index begins.
pub(crate) fn extent(
    tops: &mut Tops,
    bounds: &[u64],
    len: u64,
    at: u64,
    head: ChunkHead,
    data: Range<u64>,
) -> Result<Chunk> {
    let after = bounds.partition_point(|bound| *bound <= at);
    let inside = bounds.iter().skip(after).take_while(|bound| **bound < data.end);
    for bound in inside.take(LOOKS) {
        if tops.chunk(*bound)?.is_some() {
            return up_to(tops, *bound, at, head, data);
        }
    }
    if is_unfinished(tops, &head, &data)? {
        let end = bounds.get(after).copied().unwrap_or(len);
        return Ok(Chunk {
            at,
            head,
            data: data.start..end,
            is_cut: true,
            is_wrong: false,
        });
    }
    let end = bounds.last().copied().unwrap_or(len);
    if end < data.end && end < len && end > at {
        return up_to(tops, end, at, head, data);
    }
    let is_cut = data.end > len;
    let data = data.start.min(len)..data.end.min(len);
    Ok(Chunk { at, head, data, is_cut, is_wrong: false })
}

/// The chunk at `at`, which says that its data are `data`, and has no more of them than
/// there are before `end`.
fn up_to(
    tops: &Tops,
    end: u64,
    at: u64,
    head: ChunkHead,
    data: Range<u64>,
) -> Result<Chunk> {
    let start = data.start.min(end);
    let end = tops.find_index(start..end)?.unwrap_or(end);
    Ok(Chunk { at, head, data: start..end, is_cut: false, is_wrong: true })
}

/// Whether a recorder was killed while it wrote the chunk, of which the lengths are
/// zero until it is done: its packed bytes follow all the same. (If they are not
/// packed, so do messages, which need no chunk to be found.)
pub(crate) fn is_unfinished(
    tops: &mut Tops,
    head: &ChunkHead,
    data: &Range<u64>,
) -> Result<bool> {
    let Ok(compression @ (Compression::Bz2 | Compression::Lz4)) = head.compression
    else {
        return Ok(false);
    };
    let is_empty = data.is_empty() && head.declared == 0;
    Ok(is_empty && compression.may_be(&tops.bytes(data.start, 8)?))
}
