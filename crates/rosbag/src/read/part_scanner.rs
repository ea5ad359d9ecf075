//! Scanning a part of the file: from chunk to chunk, and through the records in each.

mod damage_recovery;
mod start;

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Damage, DamageKind, Result};

use self::start::first;
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
        chunk_extent::extent,
        damage_locator::{CompressedChunk, DamageContext, DamageLocator, LostChunk},
        open_chunk::OpenChunk,
    },
};

/// Why a chunk that the index does not list is damage.
const UNNAMED: &str = "it does not list this chunk, which is read only with the one before \
     it: a selection of topics or times may miss it";

/// Why a chunk that contains the position of another chunk info is damage.
const MISPLACED: &str = "it lists this chunk at a wrong position, inside the chunk";

/// Scans a part of the file, a chunk or a window at a time.
pub(crate) struct PartScanner {
    bag: Bag,
    toplevel: TopLevelReader,
    /// The starts of all parts, and the end of the last.
    bounds: Arc<[u64]>,
    at: u64,
    /// The start and the end of the current part, and the end of the last of the parts that
    /// are read together: each is scanned as if it were read alone.
    start: u64,
    end: u64,
    last: u64,
    /// The bytes that are being scanned, and the context of damage in them.
    segment: Option<(WindowScan, DamageContext)>,
    read_size: ReadSize,
    /// The last chunk that was opened, if its content could be read.
    before: Option<OpenChunk>,
    /// The last chunk that was reported because the index does not list it.
    unnamed: Option<u64>,
    /// Checks every chunk that is opened, if set.
    checker: Option<Arc<ChunkChecker>>,
}

impl PartScanner {
    /// Starts at the start of `part` with reads of the size `read_size`. Chunks that are opened are
    /// also passed to `checker`.
    pub(crate) fn new(
        bag: Bag,
        bounds: Arc<[u64]>,
        part: Range<u64>,
        read_size: ReadSize,
        checker: Option<Arc<ChunkChecker>>,
    ) -> Result<Self> {
        let toplevel = TopLevelReader::new(bag.source.clone());
        let Range { start: at, end: last } = part;
        let (start, end) = (at, at);
        let (segment, before, unnamed) = (None, None, None);
        let mut scanner = Self {
            bag,
            toplevel,
            bounds,
            at,
            start,
            end,
            last,
            segment,
            read_size,
            before,
            unnamed,
            checker,
        };
        scanner.begin()?;
        Ok(scanner)
    }

    /// Starts the part after the current one.
    fn begin(&mut self) -> Result<()> {
        let start = self.end;
        let after = self.bounds.partition_point(|bound| *bound <= start);
        let next = self.bounds.get(after).copied().unwrap_or(self.last);
        (self.start, self.end) = (start, next.min(self.last));
        self.at = first(&self.bag, &mut self.toplevel, &self.bounds, start..self.end)?;
        self.before = None;
        Ok(())
    }

    /// Scans until something is passed to `visitor`, or to the end. Returns whether something
    /// was passed. A visitor gets one window at a time.
    pub(crate) fn step<V: RecordVisitor>(&mut self, visitor: &mut V) -> Result<bool> {
        loop {
            if let Some((window_scan, context)) = &mut self.segment {
                let (source, options) = (&*self.bag.source, self.bag.options);
                let (bag, toplevel) = (&self.bag, &mut self.toplevel);
                let is_outside = window_scan.is_outside;
                let chunk = self.before.as_mut().filter(|_| !is_outside);
                let mut locator =
                    DamageLocator { visitor, bag, toplevel, context, chunk };
                let read_size = &mut self.read_size;
                let has_more =
                    window_scan.read_at(read_size, source, options, &mut locator)?;
                if window_scan.bytes.is_empty() {
                    if is_outside {
                        self.at = window_scan.bytes.start
                    } else {
                        self.report_missing_messages(visitor)?
                    }
                    self.segment = None;
                }
                if has_more {
                    return Ok(true);
                }
            } else if self.at >= self.end {
                if self.end >= self.last {
                    return Ok(false);
                }
                self.begin()?;
            } else if self.step_outside_chunk(visitor)? {
                return Ok(true);
            }
        }
    }

    /// Handles the record between chunks at the current position; returns whether something
    /// was passed to the visitor.
    fn step_outside_chunk<V: RecordVisitor>(
        &mut self,
        visitor: &mut V,
    ) -> Result<bool> {
        let (at, len) = (self.at, self.bag.source.len());
        if self.bag.file_header.is_v1() {
            self.go_outside(visitor);
            return Ok(false);
        }
        let Some(TopLevelRecord { kind, data }) = self.record_at(at)? else {
            let next = self.toplevel.find_record(at + 1..self.end)?.unwrap_or(self.end);
            return self.skip_broken(DamageKind::Garbled, next, visitor);
        };
        if kind == TopLevelKind::Padding && self.bag.file_header.is_cut_off(&data, len)
        {
            return self.skip_broken(DamageKind::Garbled, self.end, visitor);
        }
        if let Some((damage, next)) = self.wrong_length(&kind, &data)? {
            if let (Some(before), TopLevelKind::Index { connection, .. }) =
                (&mut self.before, &kind)
            {
                before.note_index(*connection);
            }
            return self.skip_broken(damage, next, visitor);
        }
        match kind {
            TopLevelKind::Chunk(_) if self.is_of_next(data.end)? => {
                self.at = self.end;
                Ok(false)
            }
            TopLevelKind::Chunk(chunk_header) => {
                // Without a header, the chunk is not known to continue after its part.
                let is_headless = data.start == at;
                let end = if is_headless { data.end.min(self.end) } else { data.end };
                let data = data.start..end;
                let (toplevel, bounds) = (&mut self.toplevel, &self.bounds);
                let chunk = extent(toplevel, bounds, len, at, chunk_header, data)?;
                let chunk = self.bag.up_to_index(toplevel, bounds, chunk)?;
                Ok(self.unlisted_chunk(&chunk, visitor)?
                    || self.chunk(&chunk, visitor)?)
            }
            TopLevelKind::Message => {
                self.go_outside(visitor);
                Ok(false)
            }
            TopLevelKind::Connection { id, topic } => {
                let raw = self
                    .toplevel
                    .data(&data)?
                    .map(|header| RawConnection::new(id, &topic, &header));
                raw.into_iter().for_each(|raw| visitor.connection(raw));
                self.at = data.end;
                Ok(false)
            }
            TopLevelKind::Index { connection, .. } => {
                self.before.iter_mut().for_each(|before| before.note_index(connection));
                self.at = data.end;
                Ok(false)
            }
            _ => {
                self.at = data.end;
                Ok(false)
            }
        }
    }

    /// Reports `chunk` once if the index lists the first chunk of the part but not this one;
    /// returns whether it did.
    fn unlisted_chunk<V: RecordVisitor>(
        &mut self,
        chunk: &Chunk,
        visitor: &mut V,
    ) -> Result<bool> {
        let is_reported = chunk.at == self.start
            || self.unnamed == Some(chunk.at)
            || self.bag.listed_chunk(self.start)?.is_none()
            || self.bag.listed_chunk(chunk.at)?.is_some();
        if !is_reported {
            self.unnamed = Some(chunk.at);
            visitor.begin_chunk(chunk.at);
            visitor.window(Bytes::new(), chunk.at);
            let damage = Damage::new(DamageKind::Index, chunk.at..chunk.data.end);
            let reason = if chunk.at < self.start { MISPLACED } else { UNNAMED };
            visitor.damage(damage.with_reason(reason));
        }
        Ok(!is_reported)
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

    /// Returns the damage and the position of the next record, if the length of a record of
    /// this `kind` is wrong.
    fn wrong_length(
        &mut self,
        kind: &TopLevelKind,
        data: &Range<u64>,
    ) -> Result<Option<(DamageKind, u64)>> {
        let Some(damage) = kind.damage() else { return Ok(None) };
        Ok(match self.toplevel.record_in(kind, data, self.end)? {
            Some(next) => Some((damage, next)),
            None if data.end <= self.end => None,
            None if damage.is_loss() => Some((DamageKind::Truncated, self.end)),
            None => Some((damage, self.end)),
        })
    }

    /// Starts scanning messages outside chunks.
    fn go_outside<V: RecordVisitor>(&mut self, visitor: &mut V) {
        visitor.begin_chunk(self.at);
        let plain = WindowScan {
            bytes: self.at..self.end,
            is_cut: self.end == self.bag.source.len(),
            is_outside: true,
            is_v1: self.bag.file_header.is_v1(),
        };
        self.segment = Some((plain, DamageContext::Outside));
    }

    /// Opens a chunk; returns whether something was passed to the visitor.
    fn chunk<V: RecordVisitor>(
        &mut self,
        chunk: &Chunk,
        visitor: &mut V,
    ) -> Result<bool> {
        visitor.begin_chunk(chunk.at);
        self.at = chunk.data.end;
        self.before = None;
        let bytes = chunk.at..chunk.data.end;
        let content = self.bag.open(chunk, visitor.buffer())?;
        self.checker.iter().try_for_each(|checker| checker.check(chunk, &content))?;
        let (bag, toplevel) = (&self.bag, &mut self.toplevel);
        match content {
            ChunkContent::Plain(plain) => {
                self.before = Some(OpenChunk::new(chunk.clone()));
                let data = plain.bytes.clone();
                self.segment = Some((plain, DamageContext::Plain(data)));
                Ok(false)
            }
            ChunkContent::Unpacked(content, outcome) => {
                let last = self.before.insert(OpenChunk::new(chunk.clone()));
                visitor.decompressed_bytes(content.clone(), chunk.at);
                let (len, declared) =
                    (content.len() as u64, chunk.header.declared.into());
                let content_len = match outcome {
                    FrameOutcome::Cut | FrameOutcome::Broken => {
                        u64::max(declared, len + 1)
                    }
                    _ => len,
                };
                if content.is_empty() {
                    self.before = None;
                    let lost = LostChunk { bytes, index_at: self.at, left: None };
                    let context = &mut DamageContext::Lost(lost);
                    let mut locator =
                        DamageLocator { visitor, bag, toplevel, context, chunk: None };
                    chunk.scan_records(&content, outcome, &mut locator);
                    return Ok(true);
                }
                let context = &mut DamageContext::Unpacked(CompressedChunk {
                    bytes,
                    content: content_len,
                });
                let chunk_of = Some(last);
                let mut locator =
                    DamageLocator { visitor, bag, toplevel, context, chunk: chunk_of };
                chunk.scan_records(&content, outcome, &mut locator);
                self.report_missing_messages(visitor)?;
                Ok(true)
            }
            ChunkContent::Lost(damage) => {
                visitor.window(Bytes::new(), chunk.at);
                let lost = LostChunk { bytes, index_at: self.at, left: None };
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
        let Some(last) = &mut self.before else { return Ok(()) };
        if let Some((damage, lost)) = last.missing_messages(bag, toplevel)? {
            let context = &mut DamageContext::Outside;
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
