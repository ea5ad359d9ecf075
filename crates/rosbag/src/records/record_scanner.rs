//! Scanning the messages of a chunk, or messages outside chunks.

#![deny(clippy::indexing_slicing)]

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use logtool_core::{
    Damage, DamageKind, OpenOptions, Result, Source, Timestamp, TopicId,
};

use crate::{
    connections::connection::RawConnection,
    records::{
        chunk_record::{self, ParsedRecord},
        version_1::{self, V1Header},
    },
    wire::{self, FrameMatch, Header},
};

/// The bytes that are searched at once for the next record after a broken one, and how many
/// of them the next search covers again.
const SEARCH: u64 = 1 << 20;
const OVERLAP: u64 = 64 << 10;

/// The longest header that is searched for after a broken record. (The search tries every
/// byte.)
const LIKELY: u32 = 1024;

/// The bytes that are read at once if most records are skipped: the header of a message, and
/// some bytes after it.
const NEAR: u64 = 4 << 10;

/// The required length of a record without a valid header.
const NO_RECORD: u64 = u64::MAX;

/// Receives the results of a scan.
pub(crate) trait RecordVisitor {
    /// What follows belongs to the chunk or messages that begin at `at`.
    fn begin_chunk(&mut self, at: u64);

    /// What follows lies in `bytes`, which are at the position `at` of the file.
    fn window(&mut self, bytes: Bytes, at: u64);

    /// What follows lies in `bytes`, which are the decompressed chunk at `at`.
    fn decompressed_bytes(&mut self, bytes: Bytes, at: u64);

    /// Returns a buffer to decompress into, with any length and content.
    fn buffer(&mut self) -> BytesMut;

    /// Receives a message with its payload in this range of the bytes. Returns whether its
    /// connection is known.
    fn message(
        &mut self,
        connection: u32,
        time: Timestamp,
        payload: Range<usize>,
    ) -> bool;

    /// Returns whether the payloads of messages of `connection` at `time` are not needed. Such
    /// a message is passed on before its end is read, and the rest of it is not read.
    fn is_payload_unneeded(&mut self, connection: u32, time: Timestamp) -> bool {
        let _ = (connection, time);
        false
    }

    /// Receives a connection record.
    fn connection(&mut self, raw: RawConnection);

    /// Returns whether messages of the connection `id` are plausible.
    fn is_known_connection(&self, id: u32) -> bool;

    /// Returns the topic of the connection `id`, or `None` if it is not known.
    fn topic(&self, id: u32) -> Option<TopicId>;

    /// Is called for a skipped record of an unknown kind.
    fn unknown_record(&mut self) {}

    /// Receives damage. Its positions count from the base of the scanned bytes.
    fn damage(&mut self, damage: Damage);
}

/// The bytes that are scanned, and how they end.
#[derive(Clone, Debug)]
pub(crate) struct ScanRange {
    /// The origin of damage positions: the position of the bytes in the file or in a chunk.
    pub(crate) base: u64,
    /// The number of bytes that are left, including bytes that are not yet read.
    pub(crate) left: u64,
    /// The kind of damage if the last record is incomplete.
    pub(crate) end: DamageKind,
    /// Whether more bytes would follow, so that a record may extend beyond the end.
    pub(crate) continues: bool,
    /// Whether more bytes should follow, so that the end is damage even if no record extends
    /// beyond it.
    pub(crate) is_short: bool,
    /// Whether the bytes lie outside chunks, so that they end where a chunk begins.
    pub(crate) is_outside: bool,
    /// The maximum length of a record.
    pub(crate) limit: u64,
    /// Whether records have the form of version 1.2.
    pub(crate) is_v1: bool,
}

/// How far a scan came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanProgress {
    /// The number of bytes that are done; it may exceed the bytes that were read.
    pub(crate) scanned_len: u64,
    pub(crate) stop: StopReason,
}

/// Why a scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// All bytes are done.
    Done,
    /// The next record needs this many bytes.
    Need(u64),
    /// The next record does not belong to messages outside chunks.
    Outside,
}

/// Scans `bytes`, which are the next bytes of `segment`.
pub(crate) fn scan_records<V: RecordVisitor>(
    bytes: &[u8],
    segment: &ScanRange,
    visitor: &mut V,
) -> ScanProgress {
    let mut scanned_len = 0_u64;
    let mut broken = BrokenBytes { base: segment.base, start: None };
    while let Some(rest) =
        bytes.get(scanned_len as usize..).filter(|rest| !rest.is_empty())
    {
        let left = segment.left - scanned_len;
        let fits = |len: u64| len <= left && len <= segment.limit;
        if broken.start.is_none()
            && !segment.is_v1
            && let Some((connection, time, frame)) = wire::usual_message(rest)
            && fits(frame.len())
            && (frame.len() <= rest.len() as u64
                || visitor.is_payload_unneeded(connection, time))
        {
            // The common case: equivalent to the code below, without testing for other
            // records.
            let (start, end) =
                (scanned_len + frame.data_start() as u64, scanned_len + frame.len());
            if !visitor.message(connection, time, start as usize..end as usize) {
                let lost = segment.record_loss(
                    DamageKind::UnknownTopic,
                    scanned_len,
                    frame.len(),
                );
                visitor.damage(lost);
            }
            scanned_len = end;
            continue;
        }
        let need = match segment.parse(rest) {
            ParsedRecord::Message { connection, time, payload }
                if fits(payload.end as u64) =>
            {
                broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
                let (at, len) = (scanned_len as usize, payload.end as u64);
                let payload = at + payload.start..at + payload.end;
                if segment.is_v1
                    && !visitor.is_known_connection(connection)
                    && let Some(raw) = version_1::declared_connection(rest)
                {
                    visitor.connection(raw);
                }
                if !visitor.message(connection, time, payload) {
                    visitor.damage(segment.record_loss(
                        DamageKind::UnknownTopic,
                        scanned_len,
                        len,
                    ));
                }
                scanned_len += len;
                continue;
            }
            ParsedRecord::Connection { raw, len } if fits(len as u64) => {
                broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
                visitor.connection(raw);
                scanned_len += len as u64;
                continue;
            }
            ParsedRecord::Other { header, .. }
                if segment.is_outside && is_of_bags(&header) =>
            {
                broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
                return ScanProgress { scanned_len, stop: StopReason::Outside };
            }
            ParsedRecord::Other { header, len } if len <= left => {
                broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
                if let (Header::Other(_), false) = (header, segment.is_v1) {
                    visitor.unknown_record();
                }
                scanned_len += len;
                continue;
            }
            ParsedRecord::Message { payload, .. } => payload.end as u64,
            ParsedRecord::Connection { len, .. } => len as u64,
            ParsedRecord::Other { len, .. } => len,
            ParsedRecord::Partial { need } => need,
            ParsedRecord::Invalid => NO_RECORD,
        };
        let is_partial = need <= left && need <= segment.limit;
        if is_partial || segment.continues && need > left && need != NO_RECORD {
            broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
            return ScanProgress { scanned_len, stop: StopReason::Need(need) };
        }
        if need <= left {
            broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
            visitor.damage(segment.record_loss(
                DamageKind::OverLimit,
                scanned_len,
                need,
            ));
            scanned_len += need;
            continue;
        }
        // There is no record here, or one that extends beyond the end.
        let window = left.min(SEARCH);
        if (rest.len() as u64) < window {
            broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
            return ScanProgress { scanned_len, stop: StopReason::Need(window) };
        }
        broken.start.get_or_insert(scanned_len);
        let rest = rest.get(..window as usize).unwrap_or(rest);
        match next_record(rest, left, segment, visitor) {
            Some(skip) => scanned_len += skip as u64,
            None if window < left => scanned_len += window - OVERLAP,
            None => {
                scanned_len += left;
                broken.end_broken(scanned_len, segment.end, visitor);
                return ScanProgress { scanned_len, stop: StopReason::Done };
            }
        }
    }
    broken.end_broken(scanned_len, DamageKind::Garbled, visitor);
    if segment.is_short && scanned_len == segment.left {
        let end = segment.base + scanned_len;
        visitor.damage(Damage::new(segment.end, end..end));
    }
    ScanProgress { scanned_len, stop: StopReason::Done }
}

/// Consecutive bytes that are not a record.
struct BrokenBytes {
    base: u64,
    start: Option<u64>,
}

impl BrokenBytes {
    /// Reports the broken bytes, if there are some; they end at `end`.
    #[inline]
    fn end_broken<V: RecordVisitor>(
        &mut self,
        end: u64,
        kind: DamageKind,
        visitor: &mut V,
    ) {
        if let Some(start) = self.start.take() {
            visitor.damage(Damage::new(kind, self.base + start..self.base + end));
        }
    }
}

impl ScanRange {
    /// Parses the record at the start of `bytes`.
    #[inline]
    fn parse<'b>(&self, bytes: &'b [u8]) -> ParsedRecord<'b> {
        if self.is_v1 { version_1::parse(bytes) } else { chunk_record::parse(bytes) }
    }

    /// Returns the damage for a lost record of `len` bytes that begins at `scanned_len`.
    fn record_loss(&self, kind: DamageKind, scanned_len: u64, len: u64) -> Damage {
        let start = self.base + scanned_len;
        Damage::new(kind, start..start + len).with_records(1, None)
    }
}

/// Returns whether a record with this header can lie between chunks.
fn is_of_bags(header: &Header<'_>) -> bool {
    !matches!(header, Header::Other(_))
}

/// Returns the distance from the start of `bytes`, where there is no valid record, to the next
/// one; `left` bytes are left of `segment`.
fn next_record<V: RecordVisitor>(
    bytes: &[u8],
    left: u64,
    segment: &ScanRange,
    visitor: &V,
) -> Option<usize> {
    (1..bytes.len()).find(|skip| {
        let rest = bytes.get(*skip..).unwrap_or_default();
        let left = left - *skip as u64;
        may_be_header(rest) && is_plausible(rest, left, segment, visitor)
    })
}

/// Returns whether a header may begin at the start of `bytes`, by a quick test.
pub(crate) fn may_be_header(bytes: &[u8]) -> bool {
    let Some([a, b, c, d, e, f, g, h]) = bytes.first_chunk::<8>() else { return false };
    let (fields_len, first_field_len) =
        (u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h]));
    (8..=LIKELY).contains(&fields_len)
        && (3..=fields_len - 4).contains(&first_field_len)
}

/// Returns whether a record of `segment` begins at the start of `bytes`, and another record or
/// the end follows it.
fn is_plausible<V: RecordVisitor>(
    bytes: &[u8],
    left: u64,
    segment: &ScanRange,
    visitor: &V,
) -> bool {
    let FrameMatch::Whole(frame) = wire::frame(bytes) else { return false };
    let fields = wire::fields(bytes, frame);
    let after = usize::try_from(frame.len()).ok().and_then(|len| bytes.get(len..));
    let after = after.unwrap_or_default();
    let is_one = if segment.is_v1 {
        match version_1::header(fields) {
            Some(V1Header::Message(stream, _)) => stream.is_plausible(),
            Some(V1Header::Definition(..)) => true,
            Some(V1Header::Other(_)) | None => false,
        }
    } else {
        match wire::header(fields) {
            Some(Header::Message { connection, .. }) => {
                visitor.is_known_connection(connection)
            }
            Some(Header::Connection { .. }) => true,
            Some(header) => segment.is_outside && is_of_bags(&header),
            None => false,
        }
    };
    is_one
        && frame.len() <= left
        && (after.is_empty() || segment.parse(after) != ParsedRecord::Invalid)
}

/// Bytes of the file that are scanned a window at a time.
#[derive(Clone, Debug)]
pub(crate) struct WindowScan {
    pub(crate) bytes: Range<u64>,
    pub(crate) is_cut: bool,
    pub(crate) is_outside: bool,
    pub(crate) is_v1: bool,
}

impl WindowScan {
    /// Scans the next window; returns whether there was one.
    pub(crate) fn read<V: RecordVisitor>(
        &mut self,
        source: &dyn Source,
        options: OpenOptions,
        visitor: &mut V,
    ) -> Result<bool> {
        self.read_at(&mut ReadSize::default(), source, options, visitor)
    }

    /// Like [`read`](Self::read), with windows whose size adapts to the windows before.
    pub(crate) fn read_at<V: RecordVisitor>(
        &mut self,
        read_size: &mut ReadSize,
        source: &dyn Source,
        options: OpenOptions,
        visitor: &mut V,
    ) -> Result<bool> {
        let block = u64::from(options.block_bytes.max(1));
        let mut read_bytes =
            read_size.reduced.map_or(block, |reduced| reduced.min(block));
        while !self.bytes.is_empty() {
            let Range { start, end } = self.bytes;
            let window = start..end.min(start.saturating_add(read_bytes));
            let bytes = if read_bytes < block {
                source.peek(window)?
            } else {
                source.read_at(window)?
            };
            visitor.window(bytes.clone(), start);
            if bytes.is_empty() {
                // The source became shorter.
                visitor.damage(Damage::new(DamageKind::Truncated, start..end));
                self.bytes.start = end;
                return Ok(true);
            }
            let segment = ScanRange {
                base: start,
                left: end - start,
                end: if self.is_cut {
                    DamageKind::Truncated
                } else {
                    DamageKind::Garbled
                },
                continues: false,
                is_short: self.is_cut && !self.is_outside,
                is_outside: self.is_outside,
                limit: options.record_bytes.into(),
                is_v1: self.is_v1,
            };
            let ScanProgress { scanned_len, stop } =
                scan_records(&bytes, &segment, visitor);
            self.bytes.start = (start + scanned_len).min(end);
            read_size.adapt(scanned_len > bytes.len() as u64);
            match stop {
                StopReason::Outside => {
                    self.bytes.end = self.bytes.start;
                    return Ok(true);
                }
                StopReason::Need(need) if scanned_len == 0 && need > read_bytes => {
                    read_bytes = need
                }
                StopReason::Need(_) if scanned_len == 0 => {
                    // The source returned fewer bytes than it has.
                    visitor.damage(Damage::new(DamageKind::Truncated, start..end));
                    self.bytes.start = end;
                    return Ok(true);
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
}

/// The size of reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadSize {
    /// A size below that of a block, if many records are skipped.
    reduced: Option<u64>,
}

impl ReadSize {
    /// The size for selections that skip many records.
    pub(crate) const NEAR: Self = Self { reduced: Some(NEAR) };

    /// Adapts the size after a window; `is_beyond` states whether the scan went beyond its end.
    fn adapt(&mut self, is_beyond: bool) {
        self.reduced = match self.reduced {
            _ if is_beyond => Some(NEAR),
            reduced => reduced.map(|reduced| reduced.saturating_mul(4)),
        };
    }
}
