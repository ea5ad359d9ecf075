//! The records of a bag that lie outside chunks.

#![deny(clippy::indexing_slicing)]

#[cfg(test)]
mod tests;

use std::{fmt, mem, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{DamageKind, Result, Source, decode_text};

use crate::{
    codec::compression::Compression,
    records::record_scanner::may_be_header,
    wire::{self, ChunkInfo, FrameMatch, Header},
};

/// The number of bytes that are read at once: if they follow the last read, and otherwise.
const SEQUENTIAL_READ: u64 = 16 << 10;
const ISOLATED_READ: u64 = 4 << 10;
/// The number of bytes that are read first to parse a header.
const HEADER_READ: u64 = 512;
/// The number of bytes that are searched at once for the next record after a broken one, and the
/// number of bytes after them that are read too, so that a header may extend beyond them.
const SEARCH_LEN: u64 = 1 << 20;
const SEARCH_OVERLAP: u64 = 64 << 10;
/// The maximum length of the data of a connection or of index data.
const MAX_DATA: u64 = 64 << 20;
/// The maximum number of zero bytes that are padding between records. (Recorders have written
/// 49.)
const MAX_PADDING: usize = 4096;

/// A record outside chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopLevelRecord {
    pub(crate) kind: TopLevelKind,
    /// The byte range of its data, which may extend beyond the end of the file.
    pub(crate) data: Range<u64>,
}

/// The kind of a record outside chunks, and the fields of its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TopLevelKind {
    Chunk(ChunkHeader),
    Index {
        connection: u32,
        count: u32,
        version: u32,
    },
    ChunkInfo(ChunkInfo),
    Connection {
        id: u32,
        topic: Vec<u8>,
    },
    Message,
    /// Zero bytes between records.
    Padding,
    /// The bag header, or a record of an unknown kind.
    Other,
}

impl TopLevelKind {
    /// Returns the kind of damage if a record of this kind is broken, or `None` if it depends on
    /// the contents of the record. (Records of the index contain no messages.)
    pub(crate) fn damage(&self) -> Option<DamageKind> {
        match self {
            Self::Chunk(_) | Self::Message | Self::Padding => None,
            Self::Index { .. } | Self::ChunkInfo(_) | Self::Connection { .. } => {
                Some(DamageKind::Index)
            }
            Self::Other => Some(DamageKind::Garbled),
        }
    }
}

/// The header of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    /// The compression, or its name if it is not supported.
    pub(crate) compression: std::result::Result<Compression, String>,
    /// The declared number of bytes after decompression.
    pub(crate) declared_size: u32,
}

/// Reads the records outside chunks, with a little read-ahead.
pub(crate) struct TopLevelReader {
    source: Arc<dyn Source>,
    /// The position of `bytes` in the file.
    start: u64,
    /// The bytes that were read last.
    bytes: Bytes,
}

impl TopLevelReader {
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, start: 0, bytes: Bytes::new() }
    }

    /// Returns the length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.source.len()
    }

    /// Returns the bytes from `at` on: at least `need` of them, if the file has them.
    pub(crate) fn bytes(&mut self, at: u64, need: u64) -> Result<Bytes> {
        let end = self.start + self.bytes.len() as u64;
        let need = need.min(self.source.len().saturating_sub(at));
        if at < self.start || at.saturating_add(need) > end {
            let continues = at <= end && at >= self.start;
            let len = need.max(if continues { SEQUENTIAL_READ } else { ISOLATED_READ });
            self.release_before(at);
            let range = at..at.saturating_add(len);
            self.bytes = if len <= SEQUENTIAL_READ {
                self.source.peek(range)?
            } else {
                self.source.read_at(range)?
            };
            self.start = at;
        }
        let skip = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(skip.min(self.bytes.len())..))
    }

    /// Releases the bytes from the last read up to `at`. Skipped data are released too, because
    /// the source may have mapped them.
    fn release_before(&mut self, at: u64) {
        if !mem::take(&mut self.bytes).is_empty() {
            self.source.release(self.start..at.max(self.start));
        }
    }

    /// Returns the record at `at`, or `None` if there is no valid record.
    pub(crate) fn record_at(&mut self, at: u64) -> Result<Option<TopLevelRecord>> {
        let mut bytes = self.bytes(at, HEADER_READ)?;
        let frame = match wire::frame(&bytes) {
            FrameMatch::Partial(need) => {
                bytes = self.bytes(at, need as u64)?;
                wire::frame(&bytes)
            }
            other => other,
        };
        let frame = match frame {
            FrameMatch::Whole(frame) => frame,
            FrameMatch::Partial(_) | FrameMatch::No => {
                return match Compression::detect(&bytes) {
                    Some(compression) => {
                        self.chunk_without_header(at, compression).map(Some)
                    }
                    None => Ok(padding(&bytes, at)),
                };
            }
        };
        let start = at + frame.data_start() as u64;
        let mut data = start..start + u64::from(frame.data_len);
        let kind = match wire::header(wire::fields(&bytes, frame)) {
            None => return Ok(None),
            Some(Header::Chunk { compression, size }) => {
                let name = || decode_text(compression).into_owned();
                let compression = Compression::from_name(compression).ok_or_else(name);
                TopLevelKind::Chunk(ChunkHeader { compression, declared_size: size })
            }
            Some(Header::Index { connection, count, version }) => {
                // Recorders before ROS 1.1.15 wrote wrong lengths but correct counts.
                let end_by_count = start + wire::INDEX_ENTRY_LEN * u64::from(count);
                if end_by_count != data.end
                    && !self.is_record(data.end)?
                    && self.is_record(end_by_count)?
                {
                    data.end = end_by_count;
                }
                TopLevelKind::Index { connection, count, version }
            }
            Some(Header::ChunkInfo(info)) => TopLevelKind::ChunkInfo(info),
            Some(Header::Connection { id, topic }) => {
                let topic = topic.to_vec();
                TopLevelKind::Connection { id, topic }
            }
            Some(Header::Message { .. }) => TopLevelKind::Message,
            Some(Header::Bag(_) | Header::Other(_)) => TopLevelKind::Other,
        };
        Ok(Some(TopLevelRecord { kind, data }))
    }

    /// Returns the chunk without a readable header whose compressed bytes begin at `at`. It
    /// extends to the next record, which is most likely its index data.
    fn chunk_without_header(
        &self,
        at: u64,
        compression: Compression,
    ) -> Result<TopLevelRecord> {
        let len = self.len();
        let end = self.find_record(at + 1..len)?.unwrap_or(len);
        let chunk_header =
            ChunkHeader { compression: Ok(compression), declared_size: 0 };
        Ok(TopLevelRecord { kind: TopLevelKind::Chunk(chunk_header), data: at..end })
    }

    /// Returns the bytes in `range`, or `None` if the file ends before the end of `range`, or
    /// `range` is too long.
    pub(crate) fn data(&mut self, range: &Range<u64>) -> Result<Option<Bytes>> {
        let len = range.end - range.start;
        if range.end > self.source.len() || len > MAX_DATA {
            return Ok(None);
        }
        let bytes = self.bytes(range.start, len)?;
        Ok((bytes.len() as u64 >= len).then(|| bytes.slice(..len as usize)))
    }

    /// Returns the header and the data range of the chunk at `at`, if a chunk begins there.
    pub(crate) fn chunk(
        &mut self,
        at: u64,
    ) -> Result<Option<(ChunkHeader, Range<u64>)>> {
        Ok(match self.record_at(at)? {
            Some(TopLevelRecord { kind: TopLevelKind::Chunk(chunk_header), data }) => {
                Some((chunk_header, data))
            }
            _ => None,
        })
    }

    /// Returns whether a record begins at `at` or after padding at `at`, or `end` is reached.
    pub(crate) fn continues(&mut self, at: u64, end: u64) -> Result<bool> {
        Ok(match self.record_at(at)? {
            Some(TopLevelRecord { kind: TopLevelKind::Padding, data }) => {
                data.end >= end || self.is_record(data.end)?
            }
            top => top.is_some(),
        })
    }

    /// Returns the position of the next record, if the length of a record of this `kind`, with its
    /// data in the range `data`, is wrong: no record follows the data or their length does not
    /// match the declared count, but another record begins inside them and before `end`.
    pub(crate) fn record_after_wrong_length(
        &mut self,
        kind: &TopLevelKind,
        data: &Range<u64>,
        end: u64,
    ) -> Result<Option<u64>> {
        let matches_count = match kind {
            TopLevelKind::Index { count, .. } => {
                data.end - data.start == wire::INDEX_ENTRY_LEN * u64::from(*count)
            }
            _ => true,
        };
        let continues =
            data.end == end || data.end < end && self.continues(data.end, end)?;
        if matches_count && continues {
            return Ok(None);
        }
        self.find_record_or_compressed(data.start..data.end.min(end))
    }

    /// Returns whether consecutive index data extend from `at` to beyond `end`.
    pub(crate) fn is_index_beyond(&mut self, mut at: u64, end: u64) -> Result<bool> {
        while at < end {
            match self.record_at(at)? {
                Some(TopLevelRecord { kind: TopLevelKind::Index { .. }, data }) => {
                    at = data.end
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns whether a record begins at `at`.
    fn is_record(&mut self, at: u64) -> Result<bool> {
        Ok(is_record(&self.bytes(at, HEADER_READ)?))
    }

    /// Returns the first position in `range` of a record that can only lie between chunks (a
    /// chunk, index data or a chunk info), or of compressed data.
    pub(crate) fn find_between_chunks_or_compressed(
        &self,
        range: Range<u64>,
    ) -> Result<Option<u64>> {
        let next = self.find_between_chunks(range.clone())?;
        self.or_compressed(range, next)
    }

    /// Like [`find_between_chunks_or_compressed`](Self::find_between_chunks_or_compressed), but
    /// without compressed data.
    pub(crate) fn find_between_chunks(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_header(range, |header, _| Ok(is_between_chunks(header)))
    }

    /// Like [`find_between_chunks_or_compressed`](Self::find_between_chunks_or_compressed), but
    /// also finds a message or a connection that another record follows, because the content of
    /// a chunk with a broken header can still be read.
    pub(crate) fn find_record_or_compressed(
        &self,
        range: Range<u64>,
    ) -> Result<Option<u64>> {
        let next = self.find_record(range.clone())?;
        self.or_compressed(range, next)
    }

    /// Like [`find_record_or_compressed`](Self::find_record_or_compressed), but without compressed
    /// data.
    fn find_record(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_header(range, |header, end| match header {
            Header::Message { .. } | Header::Connection { .. } => self.is_followed(end),
            header => Ok(is_between_chunks(header)),
        })
    }

    /// Returns the first position of compressed data in `range` before `next`, or `next` if there
    /// are no such data.
    fn or_compressed(
        &self,
        range: Range<u64>,
        next: Option<u64>,
    ) -> Result<Option<u64>> {
        let before = range.start..next.unwrap_or(range.end);
        let packed =
            self.search(before, |bytes, _| Ok(Compression::detect(bytes).is_some()))?;
        Ok(packed.or(next))
    }

    /// Returns the first position of index data in `range`.
    pub(crate) fn find_index(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_header(range, |header, _| Ok(matches!(header, Header::Index { .. })))
    }

    /// Returns the first position of a chunk in `range`.
    pub(crate) fn find_chunk(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_header(range, |header, _| Ok(is_supported_chunk(header)))
    }

    /// Returns the first position in `range` of a record whose header is accepted by
    /// `is_wanted`, which also gets the end of the record.
    fn find_header(
        &self,
        range: Range<u64>,
        is_wanted: impl Fn(&Header<'_>, u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        self.search(range, |bytes, at| {
            if may_be_header(bytes)
                && let FrameMatch::Whole(frame) = wire::frame(bytes)
                && let Some(header) = wire::header(wire::fields(bytes, frame))
            {
                return is_wanted(&header, at + frame.len());
            }
            Ok(false)
        })
    }

    /// Returns the first position in `range` that is accepted by `is_wanted`, which gets the bytes
    /// from there on, and the position.
    fn search(
        &self,
        range: Range<u64>,
        is_wanted: impl Fn(&[u8], u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let Range { mut start, end } = range;
        while start < end {
            let block_end = end.min(start + SEARCH_LEN);
            let bytes = self.source.read_at(start..block_end + SEARCH_OVERLAP)?;
            let len = ((block_end - start) as usize).min(bytes.len());
            for skip in 0..len {
                let at = start + skip as u64;
                if is_wanted(bytes.get(skip..).unwrap_or_default(), at)? {
                    return Ok(Some(at));
                }
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            start = block_end;
        }
        Ok(None)
    }

    /// Returns whether a record or the end of the file follows at `at`.
    fn is_followed(&self, at: u64) -> Result<bool> {
        if at >= self.len() {
            return Ok(at == self.len());
        }
        Ok(is_record(&self.source.read_at(at..(at + HEADER_READ).min(self.len()))?))
    }
}

/// Returns the zero bytes at the start of `bytes`, which are at the position `at`, as padding, if
/// their number is plausible.
fn padding(bytes: &[u8], at: u64) -> Option<TopLevelRecord> {
    let len = bytes.iter().take_while(|byte| **byte == 0).count();
    let data = at..at + len as u64;
    (1..=MAX_PADDING)
        .contains(&len)
        .then_some(TopLevelRecord { kind: TopLevelKind::Padding, data })
}

/// Returns whether a record begins at the start of `bytes`.
fn is_record(bytes: &[u8]) -> bool {
    match wire::frame(bytes) {
        FrameMatch::Whole(frame) => wire::header(wire::fields(bytes, frame)).is_some(),
        _ => false,
    }
}

/// Returns whether a record with this header can only lie between chunks.
fn is_between_chunks(header: &Header<'_>) -> bool {
    let is_index = matches!(header, Header::Index { .. } | Header::ChunkInfo(_));
    is_index || is_supported_chunk(header)
}

/// Returns whether this is the header of a chunk whose compression is supported.
fn is_supported_chunk(header: &Header<'_>) -> bool {
    match header {
        Header::Chunk { compression, .. } => {
            Compression::from_name(compression).is_some()
        }
        _ => false,
    }
}

impl Drop for TopLevelReader {
    fn drop(&mut self) {
        self.release_before(self.start + self.bytes.len() as u64);
    }
}

impl fmt::Debug for TopLevelReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopLevelReader")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}
