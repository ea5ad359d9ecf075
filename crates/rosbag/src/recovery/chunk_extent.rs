//! The extent of a chunk whose declared length may be wrong.

use std::ops::Range;

use bytes::BytesMut;
use logtool_core::Result;

use crate::{
    codec::{
        compression::{Compression, FrameOutcome},
        encryption::Encryption,
    },
    file::{
        bag::{Bag, Chunk, ChunkContent},
        toplevel_record::{ChunkHeader, TopLevelReader},
    },
    records::record_scanner::WindowScan,
    recovery::chunk_messages::ChunkMessages,
};

impl Bag {
    /// Returns `chunk` with its data ended where its index data begin, if no record follows at
    /// its declared end. The index data are searched before the next of `bounds`.
    pub(crate) fn up_to_index(
        &self,
        toplevel: &mut TopLevelReader,
        bounds: &[u64],
        chunk: Chunk,
    ) -> Result<Chunk> {
        let Range { start, end } = chunk.data;
        let after = bounds.partition_point(|bound| *bound <= chunk.at);
        let bound = bounds.get(after).copied().unwrap_or(end);
        if chunk.is_cut || end >= bound || toplevel.continues(end, bound)? {
            return Ok(chunk);
        }
        let with_end =
            |end: u64| Chunk { data: start..end, is_wrong: true, ..chunk.clone() };
        match chunk.header.compression {
            Ok(Compression::None) if matches!(self.encryption, Encryption::None) => {
                let end = self.end_of_messages(start..bound)?;
                Ok(end.map_or(chunk.clone(), with_end))
            }
            Ok(Compression::Bz2 | Compression::Lz4) => {
                let content = |chunk: &Chunk| -> Result<(usize, bool)> {
                    Ok(match self.open(chunk, BytesMut::new())? {
                        ChunkContent::Unpacked(bytes, outcome) => {
                            let is_complete =
                                bytes.len() >= chunk.header.declared as usize;
                            (bytes.len(), outcome == FrameOutcome::Whole && is_complete)
                        }
                        ChunkContent::Plain(_) | ChunkContent::Lost(_) => (0, false),
                    })
                };
                let (len, is_content_complete) = content(&chunk)?;
                if is_content_complete {
                    return Ok(chunk);
                }
                if let Some(at) = toplevel.find_index(start..end)?
                    && toplevel.is_index_beyond(at, end)?
                {
                    return Ok(with_end(at));
                }
                let longer =
                    with_end(toplevel.find_between(end..bound)?.unwrap_or(bound));
                Ok(if content(&longer)?.0 >= len { longer } else { chunk })
            }
            _ => Ok(chunk),
        }
    }

    /// Returns the end of the messages at the start of `range`, where records between chunks
    /// begin, or the end of `range` if it contains only messages.
    fn end_of_messages(&self, range: Range<u64>) -> Result<Option<u64>> {
        let end = range.end;
        let mut scan =
            WindowScan { bytes: range, is_cut: false, is_outside: true, is_v1: false };
        let mut messages = ChunkMessages::default();
        while scan.read(&*self.source, self.options, &mut messages)? {}
        let at = scan.bytes.start;
        Ok(Some(at).filter(|at| *at < end || !messages.is_broken()))
    }
}

/// The maximum number of listed positions inside a chunk that are examined.
const MAX_CANDIDATES: usize = 256;

/// Returns the extent of the chunk at `at` with the declared `data`. The next chunk can begin
/// at one of `bounds`, the last of which is the end of the file. If the length is wrong, the
/// chunk ends before that, where its index data begin.
pub(crate) fn extent(
    toplevel: &mut TopLevelReader,
    bounds: &[u64],
    len: u64,
    at: u64,
    chunk_header: ChunkHeader,
    data: Range<u64>,
) -> Result<Chunk> {
    let after = bounds.partition_point(|bound| *bound <= at);
    let inner_bounds = bounds.iter().skip(after).take_while(|bound| **bound < data.end);
    for bound in inner_bounds.take(MAX_CANDIDATES) {
        if toplevel.chunk(*bound)?.is_some() {
            return shortened_to(toplevel, *bound, at, chunk_header, data);
        }
    }
    if is_unfinished(toplevel, &chunk_header, &data)? {
        let end = bounds.get(after).copied().unwrap_or(len);
        return Ok(Chunk {
            at,
            header: chunk_header,
            data: data.start..end,
            is_cut: true,
            is_wrong: false,
        });
    }
    let end = bounds.last().copied().unwrap_or(len);
    if end < data.end && end < len && end > at {
        return shortened_to(toplevel, end, at, chunk_header, data);
    }
    let is_cut = data.end > len;
    let data = data.start.min(len)..data.end.min(len);
    Ok(Chunk { at, header: chunk_header, data, is_cut, is_wrong: false })
}

/// Returns the chunk at `at` with its declared `data` shortened to what lies before `end`.
fn shortened_to(
    toplevel: &TopLevelReader,
    end: u64,
    at: u64,
    chunk_header: ChunkHeader,
    data: Range<u64>,
) -> Result<Chunk> {
    let start = data.start.min(end);
    let end = toplevel.find_index(start..end)?.unwrap_or(end);
    Ok(Chunk {
        at,
        header: chunk_header,
        data: start..end,
        is_cut: false,
        is_wrong: true,
    })
}

/// Returns whether a recorder was killed while it wrote the chunk. Its lengths are still zero
/// then, although its compressed bytes follow. (In an uncompressed chunk, messages follow,
/// which are found without the chunk.)
pub(crate) fn is_unfinished(
    toplevel: &mut TopLevelReader,
    chunk_header: &ChunkHeader,
    data: &Range<u64>,
) -> Result<bool> {
    let Ok(compression @ (Compression::Bz2 | Compression::Lz4)) =
        chunk_header.compression
    else {
        return Ok(false);
    };
    let is_empty = data.is_empty() && chunk_header.declared == 0;
    Ok(is_empty && compression.can_start_with(&toplevel.bytes(data.start, 8)?))
}
