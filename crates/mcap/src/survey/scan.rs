//! Looking through a whole file.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use logtool_core::{Damage, DamageKind, OpenOptions, Result, TimeRange, WindowReader};

use crate::{
    chunk::{self, Compression, Opened},
    contents::{self, Met},
    resync,
    survey::{Count, Found, START, Tile},
    wire::{self, HEAD_LEN, MAGIC, op, timestamp},
};

/// How many records of unknown kinds may follow on each other.
const MAX_UNKNOWN: usize = 16;
/// How long a stretch without chunks is, about.
const TILE: u64 = 1 << 20;
/// Declarations that are longer are not kept.
const MAX_DECLARATION: u64 = 64 << 20;
/// How many gaps are stepped over, one by one.
const MAX_GAPS: usize = 1 << 16;

/// Looks through all of the `len` bytes of the file.
pub(super) fn scan(
    window: &mut WindowReader<'_>,
    len: u64,
    options: OpenOptions,
) -> Result<Found> {
    let mut scan =
        Scan { found: Found::default(), counts: BTreeMap::new(), open: None, options };
    let mut at = START;
    while at < len {
        let sight = window.at(at, resync::SIGHT)?;
        if at + MAGIC.len() as u64 == len && sight[..] == MAGIC {
            break;
        }
        match resync::record(sight.get(..resync::SIGHT).unwrap_or(&sight), len - at) {
            Some(all) => {
                scan.record(window, at, all)?;
                at += all;
            }
            None => match (misstated(window, at, len)?, unknown(window, at, len)?) {
                (Some(all), _) => {
                    scan.close(at);
                    scan.chunk(window, at, all)?;
                    at += all;
                }
                (None, Some(all)) => at += all,
                (None, None) => at = scan.damaged(window, at, len)?,
            },
        }
    }
    scan.close(at.min(len));
    let Scan { mut found, counts, .. } = scan;
    found.counts = Some(counts);
    Ok(found)
}

struct Scan {
    found: Found,
    counts: BTreeMap<u16, Count>,
    /// The stretch without chunks that is going on.
    open: Option<Tile>,
    options: OpenOptions,
}

impl Scan {
    /// Looks at the record of `all` bytes at `at`.
    fn record(
        &mut self,
        window: &mut WindowReader<'_>,
        at: u64,
        all: u64,
    ) -> Result<()> {
        let head = window.at(at, HEAD_LEN)?;
        match head.first().copied().unwrap_or_default() {
            op::CHUNK => {
                self.close(at);
                self.chunk(window, at, all)?;
            }
            op::MESSAGE => {
                let content = window.at(at, HEAD_LEN + wire::MESSAGE_HEAD_LEN)?;
                let content = content.get(HEAD_LEN..).unwrap_or_default();
                let Some((channel, time)) = wire::message(content) else {
                    return Ok(());
                };
                let is_long = |tile: &Tile| at - tile.bytes.start >= TILE;
                if self.open.as_ref().is_some_and(is_long) {
                    self.close(at);
                }
                self.open.get_or_insert_with(|| tile(at, false)).saw(channel, time);
                self.count(channel, time, all - (HEAD_LEN + 2) as u64);
            }
            op::SCHEMA | op::CHANNEL | op::HEADER | op::METADATA
                if all <= MAX_DECLARATION =>
            {
                let bytes = window.at(at, all as usize)?;
                if let Some((op, content)) = wire::record(&bytes) {
                    self.declare(op, content, at..at + all);
                }
            }
            op::ATTACHMENT => self.found.attached.push(at..at + all),
            _ => {}
        }
        Ok(())
    }

    fn declare(&mut self, op: u8, content: &[u8], place: Range<u64>) {
        let table = &mut self.found.table;
        match op {
            op::SCHEMA => {
                let schema = wire::Schema::parse(content);
                schema
                    .into_iter()
                    .for_each(|schema| table.schema(schema, place.clone()));
            }
            op::CHANNEL => {
                let channel = wire::Channel::parse(content);
                channel.into_iter().for_each(|channel| table.channel(channel));
            }
            _ => self.found.words(op, content),
        }
    }

    /// Looks into the chunk of `all` bytes at `at`, or the first bytes of one.
    fn chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        at: u64,
        all: u64,
    ) -> Result<()> {
        let place = at..at + all;
        let limit = self.options.record_bytes as usize;
        if all > chunk::most(self.options) {
            self.lose(Damage::new(DamageKind::OverLimit, place));
            return Ok(());
        }
        let bytes = window.at(at, all as usize)?;
        let bytes = bytes.slice(..bytes.len().min(all as usize));
        let Some(opened) = Opened::new(&bytes, limit) else {
            let kind = match wire::head(&bytes) {
                Some((_, len)) if len <= all => DamageKind::Garbled,
                _ => DamageKind::Truncated,
            };
            self.lose(Damage::new(kind, place));
            return Ok(());
        };
        opened.damage(&place).into_iter().for_each(|damage| self.damage(damage));
        let name = logtool_core::decode_text(&opened.compression);
        self.found.pack(&name, opened.packed_len, opened.records.len() as u64);
        let mut tile = tile(at, true);
        tile.bytes.end = place.end;
        contents::walk(&opened.records, |met| match met {
            Met::Record(op::MESSAGE, content, _) => {
                if let Some((channel, time)) = wire::message(content) {
                    tile.saw(channel, time);
                    self.count(channel, time, content.len() as u64 - 2);
                }
            }
            Met::Record(op, content, range) => {
                self.declare(op, content, opened.place(place.clone(), &range));
            }
            Met::Gap(range) if opened.is_told(&range) => {}
            Met::Gap(_) => self.damage(Damage::new(DamageKind::Garbled, place.clone())),
        });
        self.found.tiles.push(tile);
        Ok(())
    }

    fn count(&mut self, channel: u16, time: u64, bytes: u64) {
        let count = self.counts.entry(channel).or_default();
        count.records += 1;
        *count.bytes.get_or_insert(0) += bytes;
        let time = TimeRange::from_timestamp(timestamp(time));
        count.time = Some(count.time.map_or(time, |known| known.cover(&time)));
    }

    /// Steps over what is no record at `at`, and says where reading goes on.
    fn damaged(
        &mut self,
        window: &mut WindowReader<'_>,
        at: u64,
        len: u64,
    ) -> Result<u64> {
        let next = match self.found.gaps.len() < MAX_GAPS {
            true => resync::search(window, at + 1, len)?,
            false => None,
        };
        let end = next.unwrap_or(len);
        let head = wire::head(&window.at(at, HEAD_LEN)?);
        let is_known = |(op, _): (u8, u64)| (1..=op::DATA_END).contains(&op);
        let is_cut = next.is_none() && head.is_none_or(is_known);
        let sight = window.at(at, resync::SIGHT)?;
        let is_short = end - at <= chunk::most(self.options);
        let is_marked = is_short && chunk::marked(&sight).is_some();
        if is_marked || is_cut && head.is_some_and(|(op, _)| op == op::CHUNK) {
            // Its records may be there, or the first of them.
            self.close(at);
            self.chunk(window, at, end - at)?;
            return Ok(end);
        }
        let kind = if is_cut { DamageKind::Truncated } else { DamageKind::Garbled };
        self.lose(Damage::new(kind, at..end));
        Ok(end)
    }

    /// Notes that there is nothing to be read where `damage` is.
    fn lose(&mut self, damage: Damage) {
        // A gap is read, and told, where it lies in a stretch.
        self.open.get_or_insert_with(|| tile(damage.bytes.start, false));
        self.found.gaps.push(damage.clone());
        self.damage(damage);
    }

    fn damage(&mut self, damage: Damage) {
        damage.add_to(&mut self.found.damage);
    }

    /// Ends the stretch without chunks that is going on.
    fn close(&mut self, at: u64) {
        if let Some(mut tile) = self.open.take() {
            tile.bytes.end = at;
            self.found.tiles.push(tile);
        }
    }
}

fn tile(at: u64, is_chunk: bool) -> Tile {
    let channels = Some(BTreeSet::new());
    Tile { bytes: at..at, is_chunk, channels, time: TimeRange::EMPTY }
}

impl Tile {
    fn saw(&mut self, channel: u16, time: u64) {
        self.time = self.time.cover(&TimeRange::from_timestamp(timestamp(time)));
        if let Some(channels) = &mut self.channels {
            channels.insert(channel);
        }
    }
}

/// How long the chunk at `at` is whose head contradicts itself: by the length of the record,
/// or by that of what is packed, whichever other records follow on, or the end.
fn misstated(window: &mut WindowReader<'_>, at: u64, len: u64) -> Result<Option<u64>> {
    let sight = window.at(at, resync::SIGHT)?;
    let sight = sight.get(..resync::SIGHT).unwrap_or(&sight).to_vec();
    let Some((op, content)) = wire::head(&sight).filter(|(op, _)| *op <= op::LAST)
    else {
        return Ok(None);
    };
    let chunk = sight.get(HEAD_LEN..).and_then(wire::Chunk::parse);
    let is_known =
        |chunk: &wire::Chunk<'_>| Compression::of(chunk.compression).is_some();
    let Some(chunk) = chunk.filter(is_known) else { return Ok(None) };
    let by_packed = chunk.packed_len.checked_add(chunk.packed_start() as u64);
    // Of another kind of record, both have to agree.
    let lens = match op == op::CHUNK {
        true => [Some(content), by_packed],
        false => [by_packed.filter(|len| *len == content), None],
    };
    for content in lens.into_iter().flatten() {
        let all = content.checked_add(HEAD_LEN as u64).filter(|all| *all <= len - at);
        let Some(all) = all else { continue };
        let next = window.peek(at + all, resync::SIGHT)?;
        let next = next.get(..resync::SIGHT).unwrap_or(&next);
        let is_end = at + all + MAGIC.len() as u64 == len && *next == MAGIC;
        if is_end || resync::record(next, len - at - all).is_some() {
            return Ok(Some(all));
        }
    }
    Ok(None)
}

/// How long the record at `at` is, if it is of a kind that is not known here, which readers
/// are to skip ("Unknown opcodes", and those from 0x80 on, which belong to applications:
/// specification of MCAP, "Records"): known ones have to follow, or the end.
fn unknown(window: &mut WindowReader<'_>, at: u64, len: u64) -> Result<Option<u64>> {
    let mut next = at;
    for _ in 0..MAX_UNKNOWN {
        let sight = window.at(next, resync::SIGHT)?;
        let sight = sight.get(..resync::SIGHT).unwrap_or(&sight);
        let is_end = next + MAGIC.len() as u64 == len && *sight == MAGIC;
        if next > at && (is_end || resync::record(sight, len - next).is_some()) {
            let first = window.at(at, HEAD_LEN)?;
            return Ok(wire::head(&first).map(|(_, content)| HEAD_LEN as u64 + content));
        }
        let all = wire::head(sight)
            .filter(|(op, _)| *op > op::LAST)
            .and_then(|(_, content)| content.checked_add(HEAD_LEN as u64))
            .filter(|all| *all <= len - next);
        let Some(all) = all else { return Ok(None) };
        next += all;
    }
    Ok(None)
}
