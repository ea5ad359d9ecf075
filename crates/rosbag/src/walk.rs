//! Walking over the messages of a chunk, or of a stretch of messages outside chunks.

#![deny(clippy::indexing_slicing)]

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use logtool_core::{
    Damage, DamageKind, OpenOptions, Result, Source, Timestamp, TopicId,
};

use crate::{
    connection::Raw,
    record::{self, Found},
    v1::{self, V1Header},
    wire::{self, Framed, Header},
};

/// How much is looked at for the next record after a broken one, and how much of that
/// is looked at again.
const SEARCH: u64 = 1 << 20;
const OVERLAP: u64 = 64 << 10;

/// After a broken record, no longer header is looked for. (It is looked for at every
/// byte.)
const LIKELY: u32 = 1024;

/// So much is read at once where most is passed over: the head of a message, and some behind it.
const NEAR: u64 = 4 << 10;

/// How long a record has to be of which not even the header is there.
const NOTHING: u64 = u64::MAX;

/// Takes what a walk comes to.
pub(crate) trait Visitor {
    /// What comes next belongs to the chunk, or the stretch, that begins at `at`.
    fn enter(&mut self, at: u64);

    /// What comes next lies in `bytes`, which are at `at` of the file.
    fn window(&mut self, bytes: Bytes, at: u64);

    /// What comes next lies in `bytes`, unpacked from the chunk at `at`.
    fn unpacked(&mut self, bytes: Bytes, at: u64);

    /// A buffer to unpack into, of any length and content.
    fn buffer(&mut self) -> BytesMut;

    /// A message, its payload being this range of the bytes. Says whether its
    /// connection is known.
    fn message(
        &mut self,
        connection: u32,
        time: Timestamp,
        payload: Range<usize>,
    ) -> bool;

    /// Whether nobody looks at the payloads of messages of `connection` and `time`: one of which
    /// the end is not yet read is then told of all the same, and the rest of it not read.
    fn passes(&mut self, connection: u32, time: Timestamp) -> bool {
        let _ = (connection, time);
        false
    }

    /// A connection.
    fn connection(&mut self, raw: Raw);

    /// Whether a message of the connection `id` may be meant.
    fn knows(&self, id: u32) -> bool;

    /// The topic of the connection `id`, if it is known.
    fn topic(&self, id: u32) -> Option<TopicId>;

    /// A record of a kind that no version knows, passed over.
    fn other(&mut self) {}

    /// Something that is lost. A walk counts its bytes from the base of its stretch.
    fn damage(&mut self, damage: Damage);
}

/// What a walk knows of what it walks over.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    /// What damage is counted from: where the bytes lie in the file, or in a chunk.
    pub(crate) base: u64,
    /// How many bytes are left of it, at least as many as are seen.
    pub(crate) left: u64,
    /// What is to be said of its last record, if that is not whole.
    pub(crate) end: DamageKind,
    /// Whether more would follow, so that a record may go beyond the end.
    pub(crate) goes_on: bool,
    /// Whether more should be there, so that its end is to be told, too, if no record goes
    /// beyond it.
    pub(crate) is_short: bool,
    /// Whether it lies outside chunks, so that it ends where a chunk begins.
    pub(crate) is_outside: bool,
    /// No record is longer.
    pub(crate) limit: u64,
    /// Whether records are as in version 1.2.
    pub(crate) is_v1: bool,
}

/// How far a walk came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How many bytes are done, which may be more than were seen.
    pub(crate) used: u64,
    pub(crate) stop: Stop,
}

/// Why a walk stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All that was seen is done.
    Done,
    /// What comes next has to be seen up to this length.
    Need(u64),
    /// What comes next is not of a stretch outside chunks.
    Outside,
}

/// Walks over `bytes`, with which `stretch` goes on.
pub(crate) fn walk<V: Visitor>(
    bytes: &[u8],
    stretch: &Stretch,
    visitor: &mut V,
) -> Progress {
    let mut used = 0_u64;
    let mut broken = Broken { base: stretch.base, start: None };
    while let Some(rest) = bytes.get(used as usize..).filter(|rest| !rest.is_empty()) {
        let left = stretch.left - used;
        let fits = |len: u64| len <= left && len <= stretch.limit;
        if broken.start.is_none()
            && !stretch.is_v1
            && let Some((connection, time, frame)) = wire::usual_message(rest)
            && fits(frame.len())
            && (frame.len() <= rest.len() as u64 || visitor.passes(connection, time))
        {
            // Nearly all there is: the same as below, without looking at what else it
            // might be.
            let (start, end) = (used + frame.data_start() as u64, used + frame.len());
            if !visitor.message(connection, time, start as usize..end as usize) {
                let lost = stretch.lost(DamageKind::UnknownTopic, used, frame.len());
                visitor.damage(lost);
            }
            used = end;
            continue;
        }
        let need = match stretch.find(rest) {
            Found::Message { connection, time, payload }
                if fits(payload.end as u64) =>
            {
                broken.ends(used, DamageKind::Garbled, visitor);
                let (at, len) = (used as usize, payload.end as u64);
                let payload = at + payload.start..at + payload.end;
                if stretch.is_v1
                    && !visitor.knows(connection)
                    && let Some(raw) = v1::declared(rest)
                {
                    visitor.connection(raw);
                }
                if !visitor.message(connection, time, payload) {
                    visitor.damage(stretch.lost(DamageKind::UnknownTopic, used, len));
                }
                used += len;
                continue;
            }
            Found::Connection { raw, len } if fits(len as u64) => {
                broken.ends(used, DamageKind::Garbled, visitor);
                visitor.connection(raw);
                used += len as u64;
                continue;
            }
            Found::Other { header, .. }
                if stretch.is_outside && is_of_bags(&header) =>
            {
                broken.ends(used, DamageKind::Garbled, visitor);
                return Progress { used, stop: Stop::Outside };
            }
            Found::Other { header, len } if len <= left => {
                broken.ends(used, DamageKind::Garbled, visitor);
                if let (Header::Other(_), false) = (header, stretch.is_v1) {
                    visitor.other();
                }
                used += len;
                continue;
            }
            Found::Message { payload, .. } => payload.end as u64,
            Found::Connection { len, .. } => len as u64,
            Found::Other { len, .. } => len,
            Found::Partial { need } => need,
            Found::Nothing => NOTHING,
        };
        let is_partial = need <= left && need <= stretch.limit;
        if is_partial || stretch.goes_on && need > left && need != NOTHING {
            broken.ends(used, DamageKind::Garbled, visitor);
            return Progress { used, stop: Stop::Need(need) };
        }
        if need <= left {
            broken.ends(used, DamageKind::Garbled, visitor);
            visitor.damage(stretch.lost(DamageKind::OverLimit, used, need));
            used += need;
            continue;
        }
        // Nothing is here, or something that goes beyond the end.
        let window = left.min(SEARCH);
        if (rest.len() as u64) < window {
            broken.ends(used, DamageKind::Garbled, visitor);
            return Progress { used, stop: Stop::Need(window) };
        }
        broken.start.get_or_insert(used);
        let rest = rest.get(..window as usize).unwrap_or(rest);
        match next(rest, left, stretch, visitor) {
            Some(skip) => used += skip as u64,
            None if window < left => used += window - OVERLAP,
            None => {
                used += left;
                broken.ends(used, stretch.end, visitor);
                return Progress { used, stop: Stop::Done };
            }
        }
    }
    broken.ends(used, DamageKind::Garbled, visitor);
    if stretch.is_short && used == stretch.left {
        let end = stretch.base + used;
        visitor.damage(Damage::new(stretch.end, end..end));
    }
    Progress { used, stop: Stop::Done }
}

/// Bytes that are no record, and lie together.
struct Broken {
    base: u64,
    start: Option<u64>,
}

impl Broken {
    /// They end at `end`, if there are some.
    #[inline]
    fn ends<V: Visitor>(&mut self, end: u64, kind: DamageKind, visitor: &mut V) {
        if let Some(start) = self.start.take() {
            visitor.damage(Damage::new(kind, self.base + start..self.base + end));
        }
    }
}

impl Stretch {
    /// What is at the start of `bytes`.
    #[inline]
    fn find<'b>(&self, bytes: &'b [u8]) -> Found<'b> {
        match self.is_v1 {
            false => record::find(bytes),
            true => v1::find(bytes),
        }
    }

    /// The record that is lost, `len` bytes after the walk has done `used`.
    fn lost(&self, kind: DamageKind, used: u64, len: u64) -> Damage {
        let start = self.base + used;
        Damage::new(kind, start..start + len).with_records(1, None)
    }
}

/// Whether a record with this header is one that lies between chunks.
fn is_of_bags(header: &Header<'_>) -> bool {
    !matches!(header, Header::Other(_))
}

/// How far it is from the start of `bytes`, where no record is, to where one is again;
/// `left` bytes are left of `stretch`.
fn next<V: Visitor>(
    bytes: &[u8],
    left: u64,
    stretch: &Stretch,
    visitor: &V,
) -> Option<usize> {
    (1..bytes.len()).find(|skip| {
        let rest = bytes.get(*skip..).unwrap_or_default();
        let left = left - *skip as u64;
        may_be_header(rest) && is_plausible(rest, left, stretch, visitor)
    })
}

/// Whether a header may begin at the start of `bytes`: a quick look.
pub(crate) fn may_be_header(bytes: &[u8]) -> bool {
    let Some([a, b, c, d, e, f, g, h]) = bytes.first_chunk::<8>() else { return false };
    let (all, first) =
        (u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h]));
    (8..=LIKELY).contains(&all) && (3..=all - 4).contains(&first)
}

/// Whether a record of `stretch`, and another or the end after it, begins at the start
/// of `bytes`.
fn is_plausible<V: Visitor>(
    bytes: &[u8],
    left: u64,
    stretch: &Stretch,
    visitor: &V,
) -> bool {
    let Framed::Whole(frame) = wire::frame(bytes) else { return false };
    let fields = wire::fields(bytes, frame);
    let after = usize::try_from(frame.len()).ok().and_then(|len| bytes.get(len..));
    let after = after.unwrap_or_default();
    let is_one = match stretch.is_v1 {
        false => match wire::header(fields) {
            Some(Header::Message { connection, .. }) => visitor.knows(connection),
            Some(Header::Connection { .. }) => true,
            Some(header) => stretch.is_outside && is_of_bags(&header),
            None => false,
        },
        true => match v1::header(fields) {
            Some(V1Header::Message(stream, _)) => stream.is_plausible(),
            Some(V1Header::Definition(..)) => true,
            Some(V1Header::Other(_)) | None => false,
        },
    };
    is_one
        && frame.len() <= left
        && (after.is_empty() || stretch.find(after) != Found::Nothing)
}

/// Bytes of the file that are walked over a window at a time.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) bytes: Range<u64>,
    pub(crate) is_cut: bool,
    pub(crate) is_outside: bool,
    pub(crate) is_v1: bool,
}

impl Plain {
    /// Walks over the next window; says whether there was one.
    pub(crate) fn read<V: Visitor>(
        &mut self,
        source: &dyn Source,
        options: OpenOptions,
        visitor: &mut V,
    ) -> Result<bool> {
        self.read_at(&mut Pace::default(), source, options, visitor)
    }

    /// The same, with windows that are as long as those before them show.
    pub(crate) fn read_at<V: Visitor>(
        &mut self,
        pace: &mut Pace,
        source: &dyn Source,
        options: OpenOptions,
        visitor: &mut V,
    ) -> Result<bool> {
        let block = u64::from(options.block_bytes.max(1));
        let mut want = pace.near.map_or(block, |near| near.min(block));
        while !self.bytes.is_empty() {
            let Range { start, end } = self.bytes;
            let window = start..end.min(start.saturating_add(want));
            let bytes = match want < block {
                true => source.peek(window)?,
                false => source.read_at(window)?,
            };
            visitor.window(bytes.clone(), start);
            if bytes.is_empty() {
                // The source is shorter than it was.
                visitor.damage(Damage::new(DamageKind::Truncated, start..end));
                self.bytes.start = end;
                return Ok(true);
            }
            let stretch = Stretch {
                base: start,
                left: end - start,
                end: match self.is_cut {
                    true => DamageKind::Truncated,
                    false => DamageKind::Garbled,
                },
                goes_on: false,
                is_short: self.is_cut && !self.is_outside,
                is_outside: self.is_outside,
                limit: options.record_bytes.into(),
                is_v1: self.is_v1,
            };
            let Progress { used, stop } = walk(&bytes, &stretch, visitor);
            self.bytes.start = (start + used).min(end);
            pace.went(used > bytes.len() as u64);
            match stop {
                Stop::Outside => {
                    self.bytes.end = self.bytes.start;
                    return Ok(true);
                }
                Stop::Need(need) if used == 0 && need > want => want = need,
                Stop::Need(_) if used == 0 => {
                    // The source gives less than it has.
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

/// How much is read at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Less than a block, where much is passed over.
    near: Option<u64>,
}

impl Pace {
    /// Where it is likely that much is passed over.
    pub(crate) const NEAR: Self = Self { near: Some(NEAR) };

    /// Takes note of a window, behind the end of which it went on or not.
    fn went(&mut self, is_beyond: bool) {
        self.near = match self.near {
            _ if is_beyond => Some(NEAR),
            near => near.map(|near| near.saturating_mul(4)),
        };
    }
}
