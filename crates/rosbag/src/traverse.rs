//! Going through a part of the file: from chunk to chunk, and through what is in them.

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Damage, DamageKind, Result};

use crate::{
    bag::{Bag, Chunk, Content, extent},
    check::Inside,
    chunk::Unpacked,
    connection::Raw,
    last::Last,
    loss::{Locating, Packed, Within},
    top::{Top, TopKind, Tops},
    walk::{Plain, Visitor},
};

/// What is to be told of a chunk that the index does not name.
const UNNAMED: &str = "it does not tell of this chunk, which is read with the one before it \
     only: who selects topics or times may miss it";

/// What is to be told of a chunk inside of which the index says that one begins.
const MISPLACED: &str = "it tells of this chunk at a wrong place, inside it";

/// Goes through a part of the file, a chunk or a window at a time.
pub(crate) struct Traverse {
    bag: Bag,
    tops: Tops,
    /// The starts of all parts, and the end of the last.
    bounds: Arc<[u64]>,
    at: u64,
    /// The start and the end of the part that it is in, and the end of the last of those
    /// that are read as one: each is gone through as if it were alone.
    start: u64,
    end: u64,
    last: u64,
    /// The stretch that is being read, and what it is in.
    stretch: Option<(Plain, Within)>,
    /// The last chunk that was opened, if its content is known.
    before: Option<Last>,
    /// The last chunk that was told of, as the index does not tell of it.
    unnamed: Option<u64>,
    /// What looks into every chunk that is opened, if something does.
    inside: Option<Arc<Inside>>,
}

impl Traverse {
    /// Starts at the start of `part`. Chunks that are opened are shown to `inside`.
    pub(crate) fn new(
        bag: Bag,
        bounds: Arc<[u64]>,
        part: Range<u64>,
        inside: Option<Arc<Inside>>,
    ) -> Result<Self> {
        let tops = Tops::new(bag.source.clone());
        let Range { start: at, end: last } = part;
        let (start, end) = (at, at);
        let (stretch, before, unnamed) = (None, None, None);
        let mut traverse = Self {
            bag,
            tops,
            bounds,
            at,
            start,
            end,
            last,
            stretch,
            before,
            unnamed,
            inside,
        };
        traverse.begin()?;
        Ok(traverse)
    }

    /// Begins the part that begins where the last one ended.
    fn begin(&mut self) -> Result<()> {
        let start = self.end;
        let after = self.bounds.partition_point(|bound| *bound <= start);
        let next = self.bounds.get(after).copied().unwrap_or(self.last);
        (self.start, self.end) = (start, next.min(self.last));
        self.at = first(&mut self.tops, &self.bounds, start..self.end)?;
        self.before = None;
        Ok(())
    }

    /// Goes on until `visitor` has been told something, or to the end; says whether
    /// there was something. A visitor is given one window at a time.
    pub(crate) fn step<V: Visitor>(&mut self, visitor: &mut V) -> Result<bool> {
        loop {
            if let Some((plain, within)) = &mut self.stretch {
                let (source, options) = (&*self.bag.source, self.bag.options);
                let (bag, tops) = (&self.bag, &mut self.tops);
                let mut locating = Locating { visitor, bag, tops, within };
                let more = plain.read(source, options, &mut locating)?;
                if plain.bytes.is_empty() {
                    if plain.is_outside {
                        self.at = plain.bytes.start;
                    }
                    self.stretch = None;
                }
                if more {
                    return Ok(true);
                }
            } else if self.at >= self.end {
                if self.end >= self.last {
                    return Ok(false);
                }
                self.begin()?;
            } else if self.outside(visitor)? {
                return Ok(true);
            }
        }
    }

    /// Looks at what is between chunks; says whether the visitor was told something.
    fn outside<V: Visitor>(&mut self, visitor: &mut V) -> Result<bool> {
        let (at, len) = (self.at, self.bag.source.len());
        if self.bag.head.is_v1() {
            self.go_outside(visitor);
            return Ok(false);
        }
        let Some(Top { kind, data }) = self.look(at)? else {
            let next = self.tops.find_record(at + 1..self.end)?.unwrap_or(self.end);
            return self.lost(DamageKind::Garbled, next, visitor);
        };
        if let Some((damage, next)) = self.wrong_length(&kind, &data)? {
            if let (Some(before), TopKind::Index { connection, .. }) =
                (&mut self.before, &kind)
            {
                before.see(*connection);
            }
            return self.lost(damage, next, visitor);
        }
        match kind {
            TopKind::Chunk(_) if self.is_of_next(data.end)? => {
                self.at = self.end;
                Ok(false)
            }
            TopKind::Chunk(head) => {
                // What has no head is not known to go beyond its part.
                let is_headless = data.start == at;
                let end = if is_headless { data.end.min(self.end) } else { data.end };
                let data = data.start..end;
                let (tops, bounds) = (&mut self.tops, &self.bounds);
                let chunk = extent(tops, bounds, len, at, head, data)?;
                let chunk = self.bag.lengthened(tops, bounds, chunk)?;
                Ok(self.unnamed(&chunk, visitor)? || self.chunk(&chunk, visitor)?)
            }
            TopKind::Message => {
                self.go_outside(visitor);
                Ok(false)
            }
            TopKind::Connection { id, topic } => {
                let raw =
                    self.tops.data(&data)?.map(|header| Raw::new(id, &topic, &header));
                raw.into_iter().for_each(|raw| visitor.connection(raw));
                self.at = data.end;
                Ok(false)
            }
            TopKind::Index { connection, .. } => {
                self.before.iter_mut().for_each(|before| before.see(connection));
                self.at = data.end;
                Ok(false)
            }
            _ => {
                self.at = data.end;
                Ok(false)
            }
        }
    }

    /// Whether the chunk that begins here and says to end at `end` is read with the next part.
    fn is_of_next(&mut self, end: u64) -> Result<bool> {
        if self.at == self.start || end <= self.end {
            return Ok(false);
        }
        let after = self.bounds.partition_point(|bound| *bound <= self.end);
        let Some(next) = self.bounds.get(after) else { return Ok(false) };
        Ok(first(&mut self.tops, &self.bounds, self.end..*next)? == self.at)
    }

    /// Tells of `chunk` once, if the index tells of the one that the part begins with and not of
    /// it; says whether it did.
    fn unnamed<V: Visitor>(&mut self, chunk: &Chunk, visitor: &mut V) -> Result<bool> {
        let is_told = chunk.at == self.start
            || self.unnamed == Some(chunk.at)
            || self.bag.told_of(self.start)?.is_none()
            || self.bag.told_of(chunk.at)?.is_some();
        if !is_told {
            self.unnamed = Some(chunk.at);
            visitor.enter(chunk.at);
            visitor.window(Bytes::new(), chunk.at);
            let damage = Damage::new(DamageKind::Index, chunk.at..chunk.data.end);
            let why = if chunk.at < self.start { MISPLACED } else { UNNAMED };
            visitor.damage(damage.because(why));
        }
        Ok(!is_told)
    }

    /// What is at `at`, if that can be read: zeros where the part begins with a chunk that
    /// the index tells of are no padding.
    fn look(&mut self, at: u64) -> Result<Option<Top>> {
        let top = self.tops.look(at)?;
        let is_padding = top.as_ref().is_some_and(|top| top.kind == TopKind::Padding);
        let is_lost = is_padding && at == self.start && self.bag.told_of(at)?.is_some();
        Ok(top.filter(|_| !is_lost))
    }

    /// What damage it is, and where to go on, if a record of that `kind` is not as long as
    /// it says.
    fn wrong_length(
        &mut self,
        kind: &TopKind,
        data: &Range<u64>,
    ) -> Result<Option<(DamageKind, u64)>> {
        let Some(damage) = kind.damage() else { return Ok(None) };
        Ok(match self.tops.record_in(data, self.end)? {
            Some(next) => Some((damage, next)),
            None if data.end <= self.end => None,
            None if damage.is_loss() => Some((DamageKind::Truncated, self.end)),
            None => Some((damage, self.end)),
        })
    }

    /// Goes into the messages that are not in a chunk.
    fn go_outside<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.enter(self.at);
        let plain = Plain {
            bytes: self.at..self.end,
            is_cut: self.end == self.bag.source.len(),
            is_outside: true,
            is_v1: self.bag.head.is_v1(),
        };
        self.stretch = Some((plain, Within::Outside));
    }

    /// Passes over what is lost up to `next`. If that is only index data, and so damage of
    /// that `kind`, nothing may show that a chunk was lost with them.
    fn lost<V: Visitor>(
        &mut self,
        kind: DamageKind,
        next: u64,
        visitor: &mut V,
    ) -> Result<bool> {
        visitor.enter(self.at);
        visitor.window(Bytes::new(), self.at);
        let bytes = self.at..next;
        // If it was a chunk, its index may be what comes next, or lie in it.
        let index_at = self.tops.find_index(bytes.start + 1..next + 1)?;
        let is_gone = !self.is_content(next)?;
        let is_index = match (kind, index_at) {
            (DamageKind::Index, None) => is_gone && self.is_all_index(&bytes)?,
            (_, index_at) => self.is_index_of_last(index_at)?,
        };
        if is_index {
            visitor.damage(Damage::new(DamageKind::Index, bytes));
            self.at = next;
            return Ok(true);
        }
        let kind = if kind == DamageKind::Index { DamageKind::Garbled } else { kind };
        let index_at = index_at.unwrap_or(next);
        let packed = Packed { bytes, index_at, content: 0, is_gone };
        let (bag, tops, within) =
            (&self.bag, &mut self.tops, &Within::Unpacked(packed));
        let mut locating = Locating { visitor, bag, tops, within };
        locating.damage(Damage::new(kind, 0..u64::MAX));
        self.at = next;
        Ok(true)
    }

    /// Whether what lies at `at` may be the content of a chunk of which the head is lost.
    fn is_content(&mut self, at: u64) -> Result<bool> {
        Ok(match self.tops.look(at)? {
            Some(Top { kind: TopKind::Message, .. }) => true,
            Some(Top { kind: TopKind::Connection { .. }, .. }) => {
                at < self.bag.head.index_at
            }
            Some(Top { kind: TopKind::Chunk(_), data }) => data.start == at,
            _ => false,
        })
    }

    /// Whether the index data at `index_at` go on with those of the last chunk, so that
    /// no chunk, but only index data, can have been before them.
    fn is_index_of_last(&mut self, index_at: Option<u64>) -> Result<bool> {
        let (Some(before), Some(at)) = (&mut self.before, index_at) else {
            return Ok(false);
        };
        Ok(match self.tops.look(at)? {
            Some(Top { kind: TopKind::Index { connection, .. }, data }) => {
                let entries = self.tops.data(&data)?.unwrap_or_default();
                before.has(&self.bag, connection, &entries)?
            }
            _ => false,
        })
    }

    /// Whether `bytes`, which begin with a record of an index of which the length is wrong,
    /// are no more than the last chunk should have of it.
    fn is_all_index(&mut self, bytes: &Range<u64>) -> Result<bool> {
        let Some(before) = &mut self.before else { return Ok(true) };
        let index_at = self.bag.head.index_at;
        let end =
            if index_at > bytes.start { bytes.end.min(index_at) } else { bytes.end };
        Ok(match self.tops.look(bytes.start)? {
            Some(Top { kind: TopKind::Index { connection, .. }, .. }) => {
                end - bytes.start <= before.lacking(&self.bag, connection)?
            }
            _ => true,
        })
    }

    /// Opens a chunk; says whether the visitor was told something.
    fn chunk<V: Visitor>(&mut self, chunk: &Chunk, visitor: &mut V) -> Result<bool> {
        visitor.enter(chunk.at);
        self.at = chunk.data.end;
        self.before = None;
        let mut packed = Packed {
            bytes: chunk.at..chunk.data.end,
            index_at: chunk.data.end,
            content: chunk.head.declared.into(),
            is_gone: false,
        };
        let content = self.bag.open(chunk, visitor.buffer())?;
        self.inside.iter().try_for_each(|inside| inside.look(chunk, &content))?;
        let (bag, tops) = (&self.bag, &mut self.tops);
        match content {
            Content::Plain(plain) => {
                self.before = Some(Last::new(chunk.clone()));
                let data = plain.bytes.clone();
                self.stretch = Some((plain, Within::Plain(data)));
                Ok(false)
            }
            Content::Unpacked(bytes, how) => {
                self.before = Some(Last::new(chunk.clone()));
                visitor.unpacked(bytes.clone(), chunk.at);
                let len = bytes.len() as u64;
                packed.is_gone = bytes.is_empty();
                packed.content = match how {
                    Unpacked::Cut | Unpacked::Broken => packed.content.max(len + 1),
                    _ => len,
                };
                let within = Within::Unpacked(packed);
                let mut locating = Locating { visitor, bag, tops, within: &within };
                chunk.walk(&bytes, how, &mut locating);
                Ok(true)
            }
            Content::Lost(damage) => {
                visitor.window(Bytes::new(), chunk.at);
                packed.is_gone = true;
                let within = Within::Unpacked(packed);
                Locating { visitor, bag, tops, within: &within }.damage(damage);
                Ok(true)
            }
        }
    }
}

/// Where the records of a part begin. That is at its start, unless the index lies: the
/// chunk before that goes beyond it is its part's, and one that no part begins with, this
/// one's.
fn first(tops: &mut Tops, bounds: &[u64], part: Range<u64>) -> Result<u64> {
    let index = bounds.partition_point(|bound| *bound < part.start);
    let before = index.checked_sub(1).and_then(|index| bounds.get(index));
    let Some(before) = before.filter(|_| !part.is_empty()) else {
        return Ok(part.start);
    };
    if tops.chunk(part.start)?.is_some() {
        return Ok(part.start);
    }
    let end = bounds.last().copied().unwrap_or(part.end);
    let mut at = *before;
    while let Some(Top { kind, data }) = tops.look(at)? {
        match kind {
            TopKind::Chunk(_) | TopKind::Index { .. } if data.end <= part.start => {
                at = data.end;
            }
            TopKind::Chunk(_) if at < part.start && data.end <= end => {
                let is_its_part = at == *before;
                return Ok(if is_its_part { data.end.min(part.end) } else { at });
            }
            _ => break,
        }
    }
    Ok(part.start)
}

impl fmt::Debug for Traverse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traverse")
            .field("at", &self.at)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
