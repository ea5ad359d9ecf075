//! Scanning a part of the file: from chunk to chunk, and through the records in each.

mod damage_recovery;
mod part_start;

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Damage, DamageKind, Result};

use self::part_start::first_record_at;
use crate::{
    check::ChunkChecker,
    codec::compression::FrameOutcome,
    connections::connection::RawConnection,
    file::{
        bag::{Bag, Chunk, ChunkContent},
        toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
    },
    records::record_scanner::{ReadSize, RecordVisitor, WindowScan},
    recovery::{
        chunk_extent::chunk_extent,
        damage_locator::{CompressedChunk, DamageContext, DamageLocator, LostChunk},
        open_chunk::OpenChunk,
    },
};

/// The reason of the damage for a chunk that the index does not list.
const UNLISTED_CHUNK: &str = "it does not list this chunk, which is read only with the one before \
     it: a selection of topics or times may miss it";

/// The reason of the damage for a chunk that the index lists at a position inside the chunk.
const MISPLACED_CHUNK_INFO: &str =
    "it lists this chunk at a wrong position, inside the chunk";

/// Scans a part of the file, a chunk or a window at a time.
pub(crate) struct PartScanner {
    bag: Bag,
    toplevel: TopLevelReader,
    /// The starts of all parts, and the end of the last.
    bounds: Arc<[u64]>,
    /// The current position.
    at: u64,
    /// The start and the end of the current part.
    start: u64,
    end: u64,
    /// The end of all parts that are read together. Each of them is scanned as if it were read
    /// alone.
    read_end: u64,
    /// The scan of the current chunk or of messages outside chunks, if it is read a window at a
    /// time, and the context of damage in it.
    open_scan: Option<(WindowScan, DamageContext)>,
    read_size: ReadSize,
    /// The chunk that was opened last, if its content could be read.
    last_chunk: Option<OpenChunk>,
    /// The position of the chunk that was reported last because the index does not list it.
    reported_unlisted: Option<u64>,
    /// Checks every chunk that is opened, if set.
    checker: Option<Arc<ChunkChecker>>,
}

impl PartScanner {
    /// Creates a scanner of the byte range `part`, which may consist of several parts. Its first
    /// read has the size `read_size`. Each chunk that is opened is also passed to `checker`.
    pub(crate) fn new(
        bag: Bag,
        bounds: Arc<[u64]>,
        part: Range<u64>,
        read_size: ReadSize,
        checker: Option<Arc<ChunkChecker>>,
    ) -> Result<Self> {
        let toplevel = TopLevelReader::new(bag.source.clone());
        let Range { start: at, end: read_end } = part;
        let (start, end) = (at, at);
        let (open_scan, last_chunk, reported_unlisted) = (None, None, None);
        let mut scanner = Self {
            bag,
            toplevel,
            bounds,
            at,
            start,
            end,
            read_end,
            open_scan,
            read_size,
            last_chunk,
            reported_unlisted,
            checker,
        };
        scanner.begin_part()?;
        Ok(scanner)
    }

    /// Starts the part after the current one.
    fn begin_part(&mut self) -> Result<()> {
        let start = self.end;
        let next_part = self.bounds.partition_point(|bound| *bound <= start);
        let end = self.bounds.get(next_part).copied().unwrap_or(self.read_end);
        (self.start, self.end) = (start, end.min(self.read_end));
        self.at = first_record_at(
            &self.bag,
            &mut self.toplevel,
            &self.bounds,
            start..self.end,
        )?;
        self.last_chunk = None;
        Ok(())
    }

    /// Scans until something was passed to `visitor`, and returns `true`, or `false` at the end. A
    /// visitor gets at most one window or chunk in each step.
    pub(crate) fn step<V: RecordVisitor>(&mut self, visitor: &mut V) -> Result<bool> {
        loop {
            if let Some((window_scan, context)) = &mut self.open_scan {
                let (source, options) = (&*self.bag.source, self.bag.options);
                let (bag, toplevel) = (&self.bag, &mut self.toplevel);
                let is_outside_chunks = window_scan.is_outside_chunks;
                let chunk = self.last_chunk.as_mut().filter(|_| !is_outside_chunks);
                let mut locator =
                    DamageLocator { visitor, bag, toplevel, context, chunk };
                let read_size = &mut self.read_size;
                let has_more = window_scan.read_adaptively(
                    read_size,
                    source,
                    options,
                    &mut locator,
                )?;
                if window_scan.bytes.is_empty() {
                    if is_outside_chunks {
                        self.at = window_scan.bytes.start
                    } else {
                        self.report_missing_messages(visitor)?
                    }
                    self.open_scan = None;
                }
                if has_more {
                    return Ok(true);
                }
            } else if self.at >= self.end {
                if self.end >= self.read_end {
                    return Ok(false);
                }
                self.begin_part()?;
            } else if self.step_outside_chunk(visitor)? {
                return Ok(true);
            }
        }
    }

    /// Processes the record between chunks at the current position; returns whether something was
    /// passed to the visitor.
    fn step_outside_chunk<V: RecordVisitor>(
        &mut self,
        visitor: &mut V,
    ) -> Result<bool> {
        let (at, len) = (self.at, self.bag.source.len());
        if self.bag.file_header.is_v1() {
            self.start_outside_chunks(visitor);
            return Ok(false);
        }
        let Some(TopLevelRecord { kind, data }) = self.record_at(at)? else {
            let next = self
                .toplevel
                .find_record_or_compressed(at + 1..self.end)?
                .unwrap_or(self.end);
            return self.skip_broken_bytes(DamageKind::Garbled, next, visitor);
        };
        if kind == TopLevelKind::Padding
            && self.bag.file_header.are_zeros_lost_data(&data, len)
        {
            return self.skip_broken_bytes(DamageKind::Garbled, self.end, visitor);
        }
        if let Some((damage, next)) = self.wrong_length(&kind, &data)? {
            if let (Some(last_chunk), TopLevelKind::Index { connection, .. }) =
                (&mut self.last_chunk, &kind)
            {
                last_chunk.mark_indexed(*connection);
            }
            return self.skip_broken_bytes(damage, next, visitor);
        }
        match kind {
            TopLevelKind::Chunk(_) if self.belongs_to_next_part(data.end)? => {
                self.at = self.end;
                Ok(false)
            }
            TopLevelKind::Chunk(chunk_header) => {
                // Without a header, the chunk has no declared end beyond its part.
                let is_headless = data.start == at;
                let end = if is_headless { data.end.min(self.end) } else { data.end };
                let data = data.start..end;
                let (toplevel, bounds) = (&mut self.toplevel, &self.bounds);
                let chunk = chunk_extent(toplevel, bounds, at, chunk_header, data)?;
                let chunk = self.bag.correct_chunk_end(toplevel, bounds, chunk)?;
                Ok(self.report_unlisted_chunk(&chunk, visitor)?
                    || self.open_chunk(&chunk, visitor)?)
            }
            TopLevelKind::Message => {
                self.start_outside_chunks(visitor);
                Ok(false)
            }
            TopLevelKind::Connection { id, topic } => {
                if let Some(header) = self.toplevel.data(&data)? {
                    visitor.connection(RawConnection::new(id, &topic, &header));
                }
                self.at = data.end;
                Ok(false)
            }
            TopLevelKind::Index { connection, .. } => {
                if let Some(last_chunk) = &mut self.last_chunk {
                    last_chunk.mark_indexed(connection);
                }
                self.at = data.end;
                Ok(false)
            }
            _ => {
                self.at = data.end;
                Ok(false)
            }
        }
    }

    /// Reports `chunk` if the index lists the first chunk of the part but not this one, and it was
    /// not yet reported; returns whether it did.
    fn report_unlisted_chunk<V: RecordVisitor>(
        &mut self,
        chunk: &Chunk,
        visitor: &mut V,
    ) -> Result<bool> {
        let is_expected = chunk.at == self.start
            || self.reported_unlisted == Some(chunk.at)
            || self.bag.listed_chunk(self.start)?.is_none()
            || self.bag.listed_chunk(chunk.at)?.is_some();
        if !is_expected {
            self.reported_unlisted = Some(chunk.at);
            visitor.begin_chunk(chunk.at);
            visitor.window(Bytes::new(), chunk.at);
            let damage = Damage::new(DamageKind::Index, chunk.at..chunk.data.end);
            let reason = if chunk.at < self.start {
                MISPLACED_CHUNK_INFO
            } else {
                UNLISTED_CHUNK
            };
            visitor.damage(damage.with_reason(reason));
        }
        Ok(!is_expected)
    }

    /// Returns the record at `at`, if it can be read. Zeros are not padding at the start of a
    /// part if the index lists a chunk there.
    fn record_at(&mut self, at: u64) -> Result<Option<TopLevelRecord>> {
        let top = self.toplevel.record_at(at)?;
        let is_padding =
            top.as_ref().is_some_and(|top| top.kind == TopLevelKind::Padding);
        let is_lost =
            is_padding && at == self.start && self.bag.listed_chunk(at)?.is_some();
        Ok(top.filter(|_| !is_lost))
    }

    /// Returns the kind of damage and the position of the next record, if the length of a record of
    /// this `kind` with these `data` is wrong.
    fn wrong_length(
        &mut self,
        kind: &TopLevelKind,
        data: &Range<u64>,
    ) -> Result<Option<(DamageKind, u64)>> {
        let Some(damage) = kind.damage() else { return Ok(None) };
        Ok(match self.toplevel.record_after_wrong_length(kind, data, self.end)? {
            Some(next) => Some((damage, next)),
            None if data.end <= self.end => None,
            None if damage.is_loss() => Some((DamageKind::Truncated, self.end)),
            None => Some((damage, self.end)),
        })
    }

    /// Starts scanning messages outside chunks.
    fn start_outside_chunks<V: RecordVisitor>(&mut self, visitor: &mut V) {
        visitor.begin_chunk(self.at);
        let plain = WindowScan {
            bytes: self.at..self.end,
            is_cut: self.end == self.bag.source.len(),
            is_outside_chunks: true,
            is_v1: self.bag.file_header.is_v1(),
        };
        self.open_scan = Some((plain, DamageContext::OutsideChunks));
    }

    /// Opens a chunk. Returns whether something was passed to the visitor: an uncompressed chunk is
    /// scanned by the following steps.
    fn open_chunk<V: RecordVisitor>(
        &mut self,
        chunk: &Chunk,
        visitor: &mut V,
    ) -> Result<bool> {
        visitor.begin_chunk(chunk.at);
        self.at = chunk.data.end;
        self.last_chunk = None;
        let bytes = chunk.at..chunk.data.end;
        let content = self.bag.open_chunk(chunk, visitor.buffer())?;
        self.checker.iter().try_for_each(|checker| checker.check(chunk, &content))?;
        let (bag, toplevel) = (&self.bag, &mut self.toplevel);
        match content {
            ChunkContent::Plain(plain) => {
                self.last_chunk = Some(OpenChunk::new(chunk.clone()));
                let data = plain.bytes.clone();
                self.open_scan = Some((plain, DamageContext::Plain(data)));
                Ok(false)
            }
            ChunkContent::Decompressed(content, outcome) => {
                visitor.decompressed_bytes(content.clone(), chunk.at);
                if content.is_empty() {
                    let lost =
                        LostChunk { bytes, index_at: self.at, readable_messages: None };
                    let context = &mut DamageContext::Lost(lost);
                    let mut locator =
                        DamageLocator { visitor, bag, toplevel, context, chunk: None };
                    chunk.scan_records(&content, outcome, &mut locator);
                    return Ok(true);
                }
                let (len, declared_size) =
                    (content.len() as u64, chunk.header.declared_size.into());
                let content_len = match outcome {
                    FrameOutcome::Cut | FrameOutcome::Broken => {
                        u64::max(declared_size, len + 1)
                    }
                    _ => len,
                };
                let context = &mut DamageContext::Decompressed(CompressedChunk {
                    bytes,
                    content_len,
                });
                let open_chunk = self.last_chunk.insert(OpenChunk::new(chunk.clone()));
                let mut locator = DamageLocator {
                    visitor,
                    bag,
                    toplevel,
                    context,
                    chunk: Some(open_chunk),
                };
                chunk.scan_records(&content, outcome, &mut locator);
                self.report_missing_messages(visitor)?;
                Ok(true)
            }
            ChunkContent::Lost(damage) => {
                visitor.window(Bytes::new(), chunk.at);
                let lost =
                    LostChunk { bytes, index_at: self.at, readable_messages: None };
                let context = &mut DamageContext::Lost(lost);
                DamageLocator { visitor, bag, toplevel, context, chunk: None }
                    .damage(damage);
                Ok(true)
            }
        }
    }

    /// Reports messages that the last chunk lacks although nothing in it is broken.
    fn report_missing_messages<V: RecordVisitor>(
        &mut self,
        visitor: &mut V,
    ) -> Result<()> {
        let (bag, toplevel) = (&self.bag, &mut self.toplevel);
        let Some(last_chunk) = &mut self.last_chunk else { return Ok(()) };
        if let Some((damage, lost)) = last_chunk.missing_messages(bag, toplevel)? {
            let context = &mut DamageContext::OutsideChunks;
            DamageLocator { visitor, bag, toplevel, context, chunk: None }
                .report(damage, &lost);
        }
        Ok(())
    }
}

impl fmt::Debug for PartScanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartScanner")
            .field("at", &self.at)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
