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

/// The number of bytes that are searched at once for the next record after a broken one, and the
/// number of them that the next search covers again.
const SEARCH_LEN: u64 = 1 << 20;
const SEARCH_OVERLAP: u64 = 64 << 10;

/// The maximum length of the headers that are searched for after a broken record. (The search
/// tries every byte, so longer headers are not worth it.)
const MAX_LIKELY_HEADER: u32 = 1024;

/// The number of bytes that are read at once if most records are skipped: the header of a message,
/// and some bytes after it.
const SMALL_READ: u64 = 4 << 10;

/// Stands for the length of a record where there is no valid header.
const NO_RECORD_LEN: u64 = u64::MAX;

/// Receives the results of a scan.
pub(crate) trait RecordVisitor {
    /// Starts the chunk, or the messages outside chunks, that begin at `at`: the following calls
    /// belong to it.
    fn begin_chunk(&mut self, at: u64);

    /// Receives the next bytes that are scanned, which are at the position `at` of the file.
    /// Payloads are ranges of these bytes.
    fn window(&mut self, bytes: Bytes, at: u64);

    /// Receives the content of the decompressed chunk at `at`. Payloads are ranges of
    /// these bytes.
    fn decompressed_bytes(&mut self, bytes: Bytes, at: u64);

    /// Returns a buffer to decompress into. Its length and content have no meaning.
    fn buffer(&mut self) -> BytesMut;

    /// Receives a message whose payload is this range of the current bytes. Returns whether its
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

    /// Called for each record of an unknown kind, which is skipped.
    fn unknown_record(&mut self) {}

    /// Receives damage. Its positions count from the [origin](ScanSegment::base) of the segment.
    fn damage(&mut self, damage: Damage);
}

/// The bytes that are scanned, and how they end.
#[derive(Clone, Debug)]
pub(crate) struct ScanSegment {
    /// The origin of the positions of damage: the position of the bytes in the file or in a chunk.
    pub(crate) base: u64,
    /// The length of the segment, including bytes that are not yet read.
    pub(crate) len: u64,
    /// The kind of damage if the last record is incomplete.
    pub(crate) end_damage: DamageKind,
    /// Whether lost bytes follow, so that a sound record may extend beyond the end.
    pub(crate) may_continue: bool,
    /// Whether more bytes should follow, so that the end is damage even if it is the end of a
    /// record.
    pub(crate) should_continue: bool,
    /// Whether the bytes lie outside chunks, so that they end where a chunk begins.
    pub(crate) is_outside_chunks: bool,
    /// The maximum length of a record.
    pub(crate) limit: u64,
    /// Whether records have the form of version 1.2.
    pub(crate) is_v1: bool,
}

/// How far a scan got, and why it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanProgress {
    /// The number of scanned bytes. It may exceed the number of bytes that were read, because
    /// payloads may be skipped.
    pub(crate) scanned_len: u64,
    pub(crate) stop: StopReason,
}

/// Why a scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// All bytes were scanned.
    Done,
    /// The next record needs this many bytes.
    Need(u64),
    /// The messages outside chunks end, because a record follows that lies between chunks.
    TopLevelRecord,
}

/// Scans `bytes`, which are the first bytes of `segment`, and passes the records to `visitor`.
pub(crate) fn scan_records<V: RecordVisitor>(
    bytes: &[u8],
    segment: &ScanSegment,
    visitor: &mut V,
) -> ScanProgress {
    let mut scanned_len = 0_u64;
    let mut broken = BrokenBytes { base: segment.base, start: None };
    while let Some(rest) =
        bytes.get(scanned_len as usize..).filter(|rest| !rest.is_empty())
    {
        let remaining_len = segment.len - scanned_len;
        let fits = |len: u64| len <= remaining_len && len <= segment.limit;
        if broken.start.is_none()
            && !segment.is_v1
            && let Some((connection, time, frame)) = wire::usual_message(rest)
            && fits(frame.len())
            && (frame.len() <= rest.len() as u64
                || visitor.is_payload_unneeded(connection, time))
        {
            // The fast path for the common case. The code below has the same effect.
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
                broken.report(scanned_len, DamageKind::Garbled, visitor);
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
                broken.report(scanned_len, DamageKind::Garbled, visitor);
                visitor.connection(raw);
                scanned_len += len as u64;
                continue;
            }
            ParsedRecord::Other { header, .. }
                if segment.is_outside_chunks && is_known_kind(&header) =>
            {
                broken.report(scanned_len, DamageKind::Garbled, visitor);
                return ScanProgress { scanned_len, stop: StopReason::TopLevelRecord };
            }
            ParsedRecord::Other { header, len } if len <= remaining_len => {
                broken.report(scanned_len, DamageKind::Garbled, visitor);
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
            ParsedRecord::Invalid => NO_RECORD_LEN,
        };
        // The record continues in bytes of the segment that are not yet read.
        let has_more_bytes = need <= remaining_len && need <= segment.limit;
        if has_more_bytes
            || segment.may_continue && need > remaining_len && need != NO_RECORD_LEN
        {
            broken.report(scanned_len, DamageKind::Garbled, visitor);
            return ScanProgress { scanned_len, stop: StopReason::Need(need) };
        }
        if need <= remaining_len {
            broken.report(scanned_len, DamageKind::Garbled, visitor);
            visitor.damage(segment.record_loss(
                DamageKind::OverLimit,
                scanned_len,
                need,
            ));
            scanned_len += need;
            continue;
        }
        // There is no record here, or it extends beyond the end of the segment.
        let window = remaining_len.min(SEARCH_LEN);
        if (rest.len() as u64) < window {
            broken.report(scanned_len, DamageKind::Garbled, visitor);
            return ScanProgress { scanned_len, stop: StopReason::Need(window) };
        }
        broken.start.get_or_insert(scanned_len);
        let rest = rest.get(..window as usize).unwrap_or(rest);
        match find_next_record(rest, remaining_len, segment, visitor) {
            Some(skip) => scanned_len += skip as u64,
            None if window < remaining_len => scanned_len += window - SEARCH_OVERLAP,
            None => {
                scanned_len += remaining_len;
                broken.report(scanned_len, segment.end_damage, visitor);
                return ScanProgress { scanned_len, stop: StopReason::Done };
            }
        }
    }
    broken.report(scanned_len, DamageKind::Garbled, visitor);
    if segment.should_continue && scanned_len == segment.len {
        let end = segment.base + scanned_len;
        visitor.damage(Damage::new(segment.end_damage, end..end));
    }
    ScanProgress { scanned_len, stop: StopReason::Done }
}

/// Consecutive bytes that are not records.
struct BrokenBytes {
    base: u64,
    start: Option<u64>,
}

impl BrokenBytes {
    /// Reports the broken bytes, which end at `end`, if there are any.
    #[inline]
    fn report<V: RecordVisitor>(
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

impl ScanSegment {
    /// Parses the record at the start of `bytes`.
    #[inline]
    fn parse<'b>(&self, bytes: &'b [u8]) -> ParsedRecord<'b> {
        if self.is_v1 { version_1::parse(bytes) } else { chunk_record::parse(bytes) }
    }

    /// Returns the damage for a lost record of `len` bytes after the first `scanned_len` bytes.
    fn record_loss(&self, kind: DamageKind, scanned_len: u64, len: u64) -> Damage {
        let start = self.base + scanned_len;
        Damage::new(kind, start..start + len).with_records(1, None)
    }
}

/// Returns whether the format defines the kind of a record with this header.
fn is_known_kind(header: &Header<'_>) -> bool {
    !matches!(header, Header::Other(_))
}

/// Returns the distance from the start of `bytes`, where there is no valid record, to the next
/// record. `remaining_len` is the number of bytes from there to the end of `segment`.
fn find_next_record<V: RecordVisitor>(
    bytes: &[u8],
    remaining_len: u64,
    segment: &ScanSegment,
    visitor: &V,
) -> Option<usize> {
    (1..bytes.len()).find(|skip| {
        let rest = bytes.get(*skip..).unwrap_or_default();
        let remaining_len = remaining_len - *skip as u64;
        may_be_header(rest) && is_plausible(rest, remaining_len, segment, visitor)
    })
}

/// Returns whether a record may begin at the start of `bytes`, by a quick test of two lengths.
pub(crate) fn may_be_header(bytes: &[u8]) -> bool {
    let Some((fields_len, fields)) = bytes.split_first_chunk::<4>() else {
        return false;
    };
    let Some(first_field_len) = fields.first_chunk::<4>() else { return false };
    let (fields_len, first_field_len) =
        (u32::from_le_bytes(*fields_len), u32::from_le_bytes(*first_field_len));
    (8..=MAX_LIKELY_HEADER).contains(&fields_len)
        && (3..=fields_len - 4).contains(&first_field_len)
}

/// Returns whether a record that can lie in `segment` begins at the start of `bytes`, and another
/// record or the end follows it. `remaining_len` is the number of bytes to the end of `segment`.
fn is_plausible<V: RecordVisitor>(
    bytes: &[u8],
    remaining_len: u64,
    segment: &ScanSegment,
    visitor: &V,
) -> bool {
    let FrameMatch::Whole(frame) = wire::frame(bytes) else { return false };
    let fields = wire::fields(bytes, frame);
    let following = usize::try_from(frame.len()).ok().and_then(|len| bytes.get(len..));
    let following = following.unwrap_or_default();
    let is_expected_kind = if segment.is_v1 {
        match version_1::header(fields) {
            Some(V1Header::Message(properties, _)) => properties.is_plausible(),
            Some(V1Header::Definition(..)) => true,
            Some(V1Header::Other(_)) | None => false,
        }
    } else {
        match wire::header(fields) {
            Some(Header::Message { connection, .. }) => {
                visitor.is_known_connection(connection)
            }
            Some(Header::Connection { .. }) => true,
            Some(header) => segment.is_outside_chunks && is_known_kind(&header),
            None => false,
        }
    };
    is_expected_kind
        && frame.len() <= remaining_len
        && (following.is_empty() || segment.parse(following) != ParsedRecord::Invalid)
}

/// A byte range of the file that is read and scanned a window at a time.
#[derive(Clone, Debug)]
pub(crate) struct WindowScan {
    /// The bytes that are not yet scanned.
    pub(crate) bytes: Range<u64>,
    /// Whether the file ends at the end of the range, so that records may be missing.
    pub(crate) is_cut: bool,
    /// See [`ScanSegment::is_outside_chunks`].
    pub(crate) is_outside_chunks: bool,
    /// See [`ScanSegment::is_v1`].
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
        self.read_adaptively(&mut ReadSize::default(), source, options, visitor)
    }

    /// Like [`read`](Self::read), with windows whose size depends on whether the scan skipped
    /// bytes in the windows before.
    pub(crate) fn read_adaptively<V: RecordVisitor>(
        &mut self,
        read_size: &mut ReadSize,
        source: &dyn Source,
        options: OpenOptions,
        visitor: &mut V,
    ) -> Result<bool> {
        let block_bytes = u64::from(options.block_bytes.max(1));
        let mut read_bytes =
            read_size.reduced.map_or(block_bytes, |reduced| reduced.min(block_bytes));
        while !self.bytes.is_empty() {
            let Range { start, end } = self.bytes;
            let window = start..end.min(start.saturating_add(read_bytes));
            let bytes = if read_bytes < block_bytes {
                source.peek(window)?
            } else {
                source.read_at(window)?
            };
            visitor.window(bytes.clone(), start);
            if bytes.is_empty() {
                // The file became shorter while it was read.
                visitor.damage(Damage::new(DamageKind::Truncated, start..end));
                self.bytes.start = end;
                return Ok(true);
            }
            let segment = ScanSegment {
                base: start,
                len: end - start,
                end_damage: if self.is_cut {
                    DamageKind::Truncated
                } else {
                    DamageKind::Garbled
                },
                may_continue: false,
                should_continue: self.is_cut && !self.is_outside_chunks,
                is_outside_chunks: self.is_outside_chunks,
                limit: options.record_bytes.into(),
                is_v1: self.is_v1,
            };
            let ScanProgress { scanned_len, stop } =
                scan_records(&bytes, &segment, visitor);
            self.bytes.start = (start + scanned_len).min(end);
            read_size.adapt(scanned_len > bytes.len() as u64);
            match stop {
                StopReason::TopLevelRecord => {
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

/// The size of the windows that are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadSize {
    /// A smaller size than that of a block, if many records are skipped.
    reduced: Option<u64>,
}

impl ReadSize {
    /// The size for selections that skip many records.
    pub(crate) const SMALL: Self = Self { reduced: Some(SMALL_READ) };

    /// Adapts the size after a window. `is_beyond` states whether the scan skipped bytes beyond its
    /// end.
    fn adapt(&mut self, is_beyond: bool) {
        self.reduced = match self.reduced {
            _ if is_beyond => Some(SMALL_READ),
            reduced => reduced.map(|reduced| reduced.saturating_mul(4)),
        };
    }
}
