//! Going through a part of the file: from chunk to chunk, and through what is in them.

mod broken;
mod start;

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Damage, DamageKind, Result};

use self::start::first;
use crate::{
    bag::{Bag, Chunk, Content},
    check::Inside,
    chunk::Unpacked,
    chunk_extent::extent,
    connection::Raw,
    loss::{Gone, Locating, Packed, Within},
    open_chunk::Last,
    toplevel::{Top, TopKind, Tops},
    walk::{Pace, Plain, Visitor},
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
    pace: Pace,
    /// The last chunk that was opened, if its content is known.
    before: Option<Last>,
    /// The last chunk that was told of, as the index does not tell of it.
    unnamed: Option<u64>,
    /// What looks into every chunk that is opened, if something does.
    inside: Option<Arc<Inside>>,
}

impl Traverse {
    /// Starts at the start of `part`, at this `pace`. Chunks that are opened are shown to `inside`.
    pub(crate) fn new(
        bag: Bag,
        bounds: Arc<[u64]>,
        part: Range<u64>,
        pace: Pace,
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
            pace,
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
        self.at = first(&self.bag, &mut self.tops, &self.bounds, start..self.end)?;
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
                let is_outside = plain.is_outside;
                let chunk = self.before.as_mut().filter(|_| !is_outside);
                let mut locating = Locating { visitor, bag, tops, within, chunk };
                let pace = &mut self.pace;
                let more = plain.read_at(pace, source, options, &mut locating)?;
                if plain.bytes.is_empty() {
                    match is_outside {
                        true => self.at = plain.bytes.start,
                        false => self.tell_shortened(visitor)?,
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
        if kind == TopKind::Padding && self.bag.head.is_cut_off(&data, len) {
            return self.lost(DamageKind::Garbled, self.end, visitor);
        }
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
                let chunk = self.bag.up_to_index(tops, bounds, chunk)?;
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
            visitor.damage(damage.with_reason(why));
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
        Ok(match self.tops.record_in(kind, data, self.end)? {
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

    /// Opens a chunk; says whether the visitor was told something.
    fn chunk<V: Visitor>(&mut self, chunk: &Chunk, visitor: &mut V) -> Result<bool> {
        visitor.enter(chunk.at);
        self.at = chunk.data.end;
        self.before = None;
        let bytes = chunk.at..chunk.data.end;
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
            Content::Unpacked(content, how) => {
                let last = self.before.insert(Last::new(chunk.clone()));
                visitor.unpacked(content.clone(), chunk.at);
                let (len, declared) =
                    (content.len() as u64, chunk.head.declared.into());
                let whole = match how {
                    Unpacked::Cut | Unpacked::Broken => u64::max(declared, len + 1),
                    _ => len,
                };
                if content.is_empty() {
                    self.before = None;
                    let gone = Gone { bytes, index_at: self.at, left: None };
                    let within = &mut Within::Gone(gone);
                    let mut locating =
                        Locating { visitor, bag, tops, within, chunk: None };
                    chunk.walk(&content, how, &mut locating);
                    return Ok(true);
                }
                let within = &mut Within::Unpacked(Packed { bytes, content: whole });
                let chunk_of = Some(last);
                let mut locating =
                    Locating { visitor, bag, tops, within, chunk: chunk_of };
                chunk.walk(&content, how, &mut locating);
                self.tell_shortened(visitor)?;
                Ok(true)
            }
            Content::Lost(damage) => {
                visitor.window(Bytes::new(), chunk.at);
                let gone = Gone { bytes, index_at: self.at, left: None };
                let within = &mut Within::Gone(gone);
                Locating { visitor, bag, tops, within, chunk: None }.damage(damage);
                Ok(true)
            }
        }
    }

    /// Tells of messages that the chunk that was read lacks, though nothing of it is broken.
    fn tell_shortened<V: Visitor>(&mut self, visitor: &mut V) -> Result<()> {
        let (bag, tops) = (&self.bag, &mut self.tops);
        let Some(last) = &mut self.before else { return Ok(()) };
        if let Some((damage, lost)) = last.shortened(bag, tops)? {
            let within = &mut Within::Outside;
            Locating { visitor, bag, tops, within, chunk: None }.tell(damage, &lost);
        }
        Ok(())
    }
}

impl fmt::Debug for Traverse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traverse")
            .field("at", &self.at)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
