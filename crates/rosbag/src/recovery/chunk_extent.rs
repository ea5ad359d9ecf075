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
    /// Returns `chunk` with a corrected end, if no record follows at its declared end: the end is
    /// where its index data begin. They are searched up to the next of `bounds`.
    pub(crate) fn correct_chunk_end(
        &self,
        toplevel: &mut TopLevelReader,
        bounds: &[u64],
        chunk: Chunk,
    ) -> Result<Chunk> {
        let Range { start, end } = chunk.data;
        let next_part = bounds.partition_point(|bound| *bound <= chunk.at);
        let max_end = bounds.get(next_part).copied().unwrap_or(end);
        if chunk.is_cut || end >= max_end || toplevel.continues(end, max_end)? {
            return Ok(chunk);
        }
        let with_end = |end: u64| Chunk {
            data: start..end,
            has_wrong_length: true,
            ..chunk.clone()
        };
        match chunk.header.compression {
            Ok(Compression::None) if matches!(self.encryption, Encryption::None) => {
                let end = self.end_of_messages(start..max_end)?;
                Ok(end.map_or(chunk.clone(), with_end))
            }
            Ok(Compression::Bz2 | Compression::Lz4) => {
                let len_and_completeness = |chunk: &Chunk| -> Result<(usize, bool)> {
                    Ok(match self.open_chunk(chunk, BytesMut::new())? {
                        ChunkContent::Decompressed(bytes, outcome) => {
                            let is_complete =
                                bytes.len() >= chunk.header.declared_size as usize;
                            (bytes.len(), outcome == FrameOutcome::Whole && is_complete)
                        }
                        ChunkContent::Plain(_) | ChunkContent::Lost(_) => (0, false),
                    })
                };
                let (len, is_complete) = len_and_completeness(&chunk)?;
                if is_complete {
                    return Ok(chunk);
                }
                if let Some(at) = toplevel.find_index(start..end)?
                    && toplevel.is_index_beyond(at, end)?
                {
                    return Ok(with_end(at));
                }
                let longer_end = toplevel.find_between_chunks(end..max_end)?;
                let longer = with_end(longer_end.unwrap_or(max_end));
                let (longer_len, _) = len_and_completeness(&longer)?;
                Ok(if longer_len >= len { longer } else { chunk })
            }
            _ => Ok(chunk),
        }
    }

    /// Returns the end of the messages at the start of `range`: the start of the first record that
    /// lies between chunks or, if `range` contains only sound messages, its end. Returns `None` if
    /// there is no such record and something is broken.
    fn end_of_messages(&self, range: Range<u64>) -> Result<Option<u64>> {
        let end = range.end;
        let mut scan = WindowScan {
            bytes: range,
            is_cut: false,
            is_outside_chunks: true,
            is_v1: false,
        };
        let mut messages = ChunkMessages::default();
        while scan.read(&*self.source, self.options, &mut messages)? {}
        let at = scan.bytes.start;
        Ok(Some(at).filter(|at| *at < end || !messages.is_broken()))
    }
}

/// The maximum number of starts of parts inside a chunk that are examined.
const MAX_CANDIDATES: usize = 256;

/// Returns the chunk at `at`, whose header declares that its data are in the range `data`, with its
/// real extent. `bounds` are the starts of all parts, and the end of the last: if a chunk begins at
/// one of them inside `data`, the declared length is wrong, and the chunk ends before that one.
pub(crate) fn chunk_extent(
    toplevel: &mut TopLevelReader,
    bounds: &[u64],
    at: u64,
    chunk_header: ChunkHeader,
    data: Range<u64>,
) -> Result<Chunk> {
    let len = toplevel.len();
    let next_part = bounds.partition_point(|bound| *bound <= at);
    let inner_bounds =
        bounds.iter().skip(next_part).take_while(|bound| **bound < data.end);
    for bound in inner_bounds.take(MAX_CANDIDATES) {
        if toplevel.chunk(*bound)?.is_some() {
            return chunk_before(toplevel, *bound, at, chunk_header, data);
        }
    }
    if is_unfinished(toplevel, &chunk_header, &data)? {
        let end = bounds.get(next_part).copied().unwrap_or(len);
        return Ok(Chunk {
            at,
            header: chunk_header,
            data: data.start..end,
            is_cut: true,
            has_wrong_length: false,
        });
    }
    let end = bounds.last().copied().unwrap_or(len);
    if end < data.end && end < len && end > at {
        return chunk_before(toplevel, end, at, chunk_header, data);
    }
    let is_cut = data.end > len;
    let data = data.start.min(len)..data.end.min(len);
    Ok(Chunk { at, header: chunk_header, data, is_cut, has_wrong_length: false })
}

/// Returns the chunk at `at` with its declared `data` shortened: they end where index data begin
/// before `end`, or else at `end`.
fn chunk_before(
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
        has_wrong_length: true,
    })
}

/// Returns whether the recorder was killed while it wrote this compressed chunk: its lengths are
/// still 0, although compressed data follow. (In an uncompressed chunk, messages follow, which are
/// read as messages outside chunks.)
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
    let is_empty = data.is_empty() && chunk_header.declared_size == 0;
    Ok(is_empty && compression.can_start_with(&toplevel.bytes(data.start, 8)?))
}
