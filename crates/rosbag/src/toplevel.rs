//! The records of a bag that are not in a chunk.

#![deny(clippy::indexing_slicing)]

#[cfg(test)]
mod tests;

use std::{fmt, mem, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{DamageKind, Result, Source, decode_text};

use crate::{
    chunk::Compression,
    walk::may_be_header,
    wire::{self, ChunkInfo, Framed, Header},
};

/// How much is read at once where one record follows on another, and of the first.
const WINDOW: u64 = 16 << 10;
const NEAR: u64 = 4 << 10;
/// How much is looked at for a header, at first.
const HEAD: u64 = 512;
/// How much is looked at for the next record after a broken one, and how much of that
/// is looked at again.
const SEARCH: u64 = 1 << 20;
const OVERLAP: u64 = 64 << 10;
/// No longer data of a connection, or of an index, are read.
const MAX_DATA: u64 = 64 << 20;
/// No more zero bytes than this between records are padding. (Recorders have left 49.)
const PADDING: usize = 4096;

/// A record outside chunks, and where it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    pub(crate) kind: TopKind,
    /// Where its data lie, which may be beyond the end of the file.
    pub(crate) data: Range<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TopKind {
    Chunk(ChunkHead),
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
    /// Zero bytes.
    Padding,
    Other,
}

impl TopKind {
    /// How damage to a record of this kind is told, if that needs nothing but its bytes:
    /// those of an index hold no message.
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

/// What a chunk says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    /// How it is packed, or the name of that where it is not known.
    pub(crate) compression: std::result::Result<Compression, String>,
    /// How many bytes it says to be when unpacked.
    pub(crate) declared: u32,
}

/// Looks at the records outside chunks, reading a little ahead.
pub(crate) struct Tops {
    source: Arc<dyn Source>,
    start: u64,
    bytes: Bytes,
}

impl Tops {
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, start: 0, bytes: Bytes::new() }
    }

    /// How long the file is.
    pub(crate) fn len(&self) -> u64 {
        self.source.len()
    }

    /// The bytes from `at` on: at least `need` of them, if the file has them.
    pub(crate) fn bytes(&mut self, at: u64, need: u64) -> Result<Bytes> {
        let end = self.start + self.bytes.len() as u64;
        let need = need.min(self.source.len().saturating_sub(at));
        if at < self.start || at.saturating_add(need) > end {
            let goes_on = at <= end && at >= self.start;
            let len = need.max(if goes_on { WINDOW } else { NEAR });
            self.pass(at);
            let range = at..at.saturating_add(len);
            self.bytes = match len <= WINDOW {
                true => self.source.peek(range)?,
                false => self.source.read_at(range)?,
            };
            self.start = at;
        }
        let skip = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(skip.min(self.bytes.len())..))
    }

    /// Lets go what lies before `at`, skipped data too: somebody may have mapped them.
    fn pass(&mut self, at: u64) {
        if !mem::take(&mut self.bytes).is_empty() {
            self.source.release(self.start..at.max(self.start));
        }
    }

    /// The record at `at`, if there is one.
    pub(crate) fn look(&mut self, at: u64) -> Result<Option<Top>> {
        let mut bytes = self.bytes(at, HEAD)?;
        let frame = match wire::frame(&bytes) {
            Framed::Partial(need) => {
                bytes = self.bytes(at, need as u64)?;
                wire::frame(&bytes)
            }
            framed => framed,
        };
        let frame = match frame {
            Framed::Whole(frame) => frame,
            Framed::Partial(_) | Framed::No => {
                return match Compression::begins(&bytes) {
                    Some(compression) => self.headless(at, compression).map(Some),
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
                let compression = Compression::of(compression).ok_or_else(name);
                TopKind::Chunk(ChunkHead { compression, declared: size })
            }
            Some(Header::Index { connection, count, version }) => {
                // Recorders before ROS 1.1.15 wrote wrong lengths and right counts.
                let counted = start + 12 * u64::from(count);
                if counted != data.end
                    && !self.is_record(data.end)?
                    && self.is_record(counted)?
                {
                    data.end = counted;
                }
                TopKind::Index { connection, count, version }
            }
            Some(Header::ChunkInfo(info)) => TopKind::ChunkInfo(info),
            Some(Header::Connection { id, topic }) => {
                let topic = topic.to_vec();
                TopKind::Connection { id, topic }
            }
            Some(Header::Message { .. }) => TopKind::Message,
            Some(Header::Bag(_) | Header::Other(_)) => TopKind::Other,
        };
        Ok(Some(Top { kind, data }))
    }

    /// The packed bytes at `at`, of a chunk of which the head is broken: they go on to
    /// the next record, which is most likely their index.
    fn headless(&self, at: u64, compression: Compression) -> Result<Top> {
        let len = self.len();
        let end = self.find_plain(at + 1..len)?.unwrap_or(len);
        let head = ChunkHead { compression: Ok(compression), declared: 0 };
        Ok(Top { kind: TopKind::Chunk(head), data: at..end })
    }

    /// The bytes of `range` of a record, if there are so many, and not far too many.
    pub(crate) fn data(&mut self, range: &Range<u64>) -> Result<Option<Bytes>> {
        let len = range.end - range.start;
        if range.end > self.source.len() || len > MAX_DATA {
            return Ok(None);
        }
        let bytes = self.bytes(range.start, len)?;
        Ok((bytes.len() as u64 >= len).then(|| bytes.slice(..len as usize)))
    }

    /// Whether a chunk begins at `at`.
    pub(crate) fn chunk(&mut self, at: u64) -> Result<Option<(ChunkHead, Range<u64>)>> {
        Ok(match self.look(at)? {
            Some(Top { kind: TopKind::Chunk(head), data }) => Some((head, data)),
            _ => None,
        })
    }

    /// Whether at `at`, or behind zeros there, is a record, or `end`.
    pub(crate) fn goes_on(&mut self, at: u64, end: u64) -> Result<bool> {
        Ok(match self.look(at)? {
            Some(Top { kind: TopKind::Padding, data }) => {
                data.end >= end || self.is_record(data.end)?
            }
            top => top.is_some(),
        })
    }

    /// Where the next record is, if the one of that `kind` that has these `data` is not as
    /// long as it says: none follows them, or it counts otherwise, but one begins before
    /// they end, or before `end`.
    pub(crate) fn record_in(
        &mut self,
        kind: &TopKind,
        data: &Range<u64>,
        end: u64,
    ) -> Result<Option<u64>> {
        let is_counted = match kind {
            TopKind::Index { count, .. } => {
                data.end - data.start == 12 * u64::from(*count)
            }
            _ => true,
        };
        let goes_on =
            data.end == end || data.end < end && self.goes_on(data.end, end)?;
        if is_counted && goes_on {
            return Ok(None);
        }
        self.find_record(data.start..data.end.min(end))
    }

    /// Whether index data lie from `at` on, one record behind the other, to beyond `end`.
    pub(crate) fn is_index_beyond(&mut self, mut at: u64, end: u64) -> Result<bool> {
        while at < end {
            match self.look(at)? {
                Some(Top { kind: TopKind::Index { .. }, data }) => at = data.end,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn is_record(&mut self, at: u64) -> Result<bool> {
        Ok(is_record(&self.bytes(at, HEAD)?))
    }

    /// Where in `range` there is a record again that only lies between chunks: a
    /// chunk, or one of an index; or what is packed in a chunk.
    pub(crate) fn find(&self, range: Range<u64>) -> Result<Option<u64>> {
        let next = self.find_between(range.clone())?;
        self.or_packed(range, next)
    }

    /// The same, but for what is packed.
    pub(crate) fn find_between(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_any(range, |header, _| Ok(is_between_chunks(header)))
    }

    /// The same, or a message or a connection, if another record follows it: where the
    /// head of a chunk is broken, what it holds is there all the same.
    pub(crate) fn find_record(&self, range: Range<u64>) -> Result<Option<u64>> {
        let next = self.find_plain(range.clone())?;
        self.or_packed(range, next)
    }

    /// The same, but for what is packed.
    fn find_plain(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_any(range, |header, end| match header {
            Header::Message { .. } | Header::Connection { .. } => self.is_followed(end),
            header => Ok(is_between_chunks(header)),
        })
    }

    /// Where in `range` something packed begins before `next`; else `next`.
    fn or_packed(&self, range: Range<u64>, next: Option<u64>) -> Result<Option<u64>> {
        let before = range.start..next.unwrap_or(range.end);
        let packed =
            self.search(before, |bytes, _| Ok(Compression::begins(bytes).is_some()))?;
        Ok(packed.or(next))
    }

    /// Where in `range` there is a record of an index.
    pub(crate) fn find_index(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_any(range, |header, _| Ok(matches!(header, Header::Index { .. })))
    }

    /// Where in `range` the next chunk begins.
    pub(crate) fn find_chunk(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.find_any(range, |header, _| Ok(is_known_chunk(header)))
    }

    /// Where in `range` a record begins of which `is_wanted` wants the header; it is
    /// told where the record ends, too.
    fn find_any(
        &self,
        range: Range<u64>,
        is_wanted: impl Fn(&Header<'_>, u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        self.search(range, |bytes, at| {
            if may_be_header(bytes)
                && let Framed::Whole(frame) = wire::frame(bytes)
                && let Some(header) = wire::header(wire::fields(bytes, frame))
            {
                return is_wanted(&header, at + frame.len());
            }
            Ok(false)
        })
    }

    /// The first place in `range` that `is_wanted` wants, which is given the bytes from
    /// there on.
    fn search(
        &self,
        range: Range<u64>,
        is_wanted: impl Fn(&[u8], u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let Range { mut start, end } = range;
        while start < end {
            let until = end.min(start + SEARCH);
            let bytes = self.source.read_at(start..until + OVERLAP)?;
            let len = ((until - start) as usize).min(bytes.len());
            for skip in 0..len {
                let at = start + skip as u64;
                if is_wanted(bytes.get(skip..).unwrap_or_default(), at)? {
                    return Ok(Some(at));
                }
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            start = until;
        }
        Ok(None)
    }

    /// Whether a record, or nothing more, is at `at`, where another ends.
    fn is_followed(&self, at: u64) -> Result<bool> {
        if at >= self.len() {
            return Ok(at == self.len());
        }
        Ok(is_record(&self.source.read_at(at..(at + HEAD).min(self.len()))?))
    }
}

/// Zero bytes at the start of `bytes`, if there are some, and not too many.
fn padding(bytes: &[u8], at: u64) -> Option<Top> {
    let len = bytes.iter().take_while(|byte| **byte == 0).count();
    let data = at..at + len as u64;
    (1..=PADDING).contains(&len).then_some(Top { kind: TopKind::Padding, data })
}

/// Whether a record begins at the start of `bytes`.
fn is_record(bytes: &[u8]) -> bool {
    match wire::frame(bytes) {
        Framed::Whole(frame) => wire::header(wire::fields(bytes, frame)).is_some(),
        _ => false,
    }
}

fn is_between_chunks(header: &Header<'_>) -> bool {
    let is_index = matches!(header, Header::Index { .. } | Header::ChunkInfo(_));
    is_index || is_known_chunk(header)
}

fn is_known_chunk(header: &Header<'_>) -> bool {
    match header {
        Header::Chunk { compression, .. } => Compression::of(compression).is_some(),
        _ => false,
    }
}

impl Drop for Tops {
    fn drop(&mut self) {
        self.pass(self.start + self.bytes.len() as u64);
    }
}

impl fmt::Debug for Tops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tops").field("start", &self.start).finish_non_exhaustive()
    }
}
