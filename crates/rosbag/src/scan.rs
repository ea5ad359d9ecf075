//! Finding the chunks of a bag without its index, by going from record to record.

mod displaced_chunks;

use std::ops::Range;

use logtool_core::{Damage, DamageKind, Result, TimeRange};

use crate::{
    bag::Bag,
    chunk_extent::is_unfinished,
    connection::{Connection, Raw},
    connection_trust::Trust,
    encryption::Lock,
    head::Head,
    packing::Packing,
    part_messages::Told,
    probe::{Collecting, Content, Count},
    table::Table,
    toplevel::{ChunkHead, Top, TopKind, Tops},
    walk::{Plain, Visitor as _},
    wire,
};

/// Stretches of messages outside chunks are cut into tiles of about this length.
const TILE: u32 = 512 << 10;

/// A stretch of the file: a chunk and its index, or some messages outside chunks.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    pub(crate) bytes: Range<u64>,
    /// What it holds, where the file tells.
    pub(crate) told: Option<Told>,
    /// When, where the file tells that of all that it holds.
    pub(crate) time: Option<TimeRange>,
}

/// What a scan found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// In the order of the file; what is between two tiles belongs to no part.
    pub(crate) tiles: Vec<Tile>,
    pub(crate) packing: Packing,
    /// What is lost outside tiles.
    pub(crate) damage: Vec<Damage>,
    pub(crate) remarks: Vec<String>,
    /// Connections outside chunks that are not to be believed if there is another copy,
    /// and where each lies.
    pub(crate) unsound: Vec<(Raw, Range<u64>)>,
    /// How many chunks there are, or were where the index tells of them; and how many
    /// chunk infos.
    pub(crate) chunks: u64,
    pub(crate) infos: u64,
    /// The longest zeros that were taken for padding.
    pub(crate) padding: Range<u64>,
    /// The tile that is not yet at its end.
    open: Option<Tile>,
    is_in_index: bool,
}

/// Goes from record to record of `bag`; what connections lie outside chunks is put into
/// `table`.
pub(crate) fn scan(bag: &Bag, head: &Head, table: &mut Table) -> Result<Scan> {
    let (mut scan, mut tops) = (Scan::default(), Tops::new(bag.source.clone()));
    let (mut at, len) = (head.records_at, bag.source.len());
    // The index of an encrypted bag is encrypted too: it looks like no record.
    let is_sealed =
        !matches!(bag.lock, Lock::Open) && (at..len).contains(&head.index_at);
    let end = if is_sealed { head.index_at } else { len };
    while at < end {
        at = scan.step(bag, &mut tops, at, table)?.max(at + 1);
    }
    scan.close(end, is_sealed);
    Ok(scan)
}

impl Scan {
    /// Takes what is at `at`; says where the next is.
    fn step(
        &mut self,
        bag: &Bag,
        tops: &mut Tops,
        at: u64,
        table: &mut Table,
    ) -> Result<u64> {
        let len = tops.len();
        if bag.head.is_v1() {
            return self.stretch(bag, at, table);
        }
        let top = tops.look(at)?;
        let is_lost = match &top {
            None => true,
            Some(Top { kind: TopKind::Padding, data }) => {
                !displaced_chunks::places(bag, tops, at..data.end)?.is_empty()
            }
            Some(_) => false,
        };
        let Some(Top { kind, data }) = top.filter(|_| !is_lost) else {
            let next = tops.find_record(at + 1..len)?.unwrap_or(len);
            let lost = Damage::new(DamageKind::Garbled, at..next);
            self.unreadable(lost, displaced_chunks::places(bag, tops, at..next)?);
            return Ok(next);
        };
        if let Some(damage) = kind.damage()
            && let Some(next) = tops.record_in(&kind, &data, len)?
        {
            let lost = Damage::new(damage, at..next);
            self.unreadable(lost, displaced_chunks::places(bag, tops, at..next)?);
            return Ok(next);
        }
        match kind {
            TopKind::Chunk(chunk) => return self.chunk(tops, at, chunk, data),
            TopKind::Message => return self.stretch(bag, at, table),
            _ if data.end > len => {
                self.is_in_index |=
                    matches!(kind, TopKind::ChunkInfo(_) | TopKind::Connection { .. });
                let is_index =
                    matches!(kind, TopKind::Index { .. }) || self.is_in_index;
                let cut = match is_index {
                    true => DamageKind::Index,
                    false => DamageKind::Truncated,
                };
                self.lost(Damage::new(cut, at..len));
                return Ok(len);
            }
            TopKind::Index { connection, count, version } => {
                let entries = tops.data(&data)?.unwrap_or_default();
                let is_told =
                    version == 1 && entries.len() as u64 == u64::from(count) * 12;
                self.index(connection, is_told.then_some(&entries));
            }
            TopKind::Connection { id, topic } => {
                self.close(at, true);
                if let Some(header) = tops.data(&data)? {
                    let raw = Raw::new(id, &topic, &header);
                    match Trust::of(&Connection::new(raw.clone())) {
                        Trust::Sound => Collecting::new(table, at).connection(raw),
                        _ => self.unsound.push((raw, at..data.end)),
                    }
                }
            }
            TopKind::ChunkInfo(_) => {
                self.close(at, true);
                self.is_in_index = true;
                self.infos += 1;
            }
            TopKind::Padding => {
                if bag.head.is_cut_off(&data, len) {
                    let zeros = len - at;
                    self.remarks.push(format!(
                        "the last {zeros} bytes are zeros: nobody knows what was \
                         recorded there"
                    ));
                    self.lost(Damage::new(DamageKind::Garbled, at..len));
                }
                if data.end - at > self.padding.end - self.padding.start {
                    self.padding = at..data.end;
                }
            }
            TopKind::Other => self.doubt(),
        }
        Ok(data.end)
    }

    fn chunk(
        &mut self,
        tops: &mut Tops,
        at: u64,
        chunk: ChunkHead,
        data: Range<u64>,
    ) -> Result<u64> {
        let len = tops.len();
        self.close(at, true);
        self.is_in_index = false;
        self.chunks += 1;
        self.packing.add(&chunk, data.end.min(len) - data.start.min(len));
        let told = Some(Told::Content(Content::default()));
        self.open = Some(Tile { bytes: at..at, told, time: None });
        let is_unfinished = is_unfinished(tops, &chunk, &data)?;
        if data.end < len && !is_unfinished && tops.goes_on(data.end, len)? {
            return Ok(data.end);
        }
        // Its length is wrong if other chunks follow before its end.
        self.doubt();
        let end = if is_unfinished { len } else { data.end.min(len) };
        Ok(tops.find_chunk(data.start.min(end)..end)?.unwrap_or(end))
    }

    /// Cuts the messages from `at` on into tiles.
    fn stretch(&mut self, bag: &Bag, at: u64, table: &mut Table) -> Result<u64> {
        self.close(at, true);
        self.is_in_index = false;
        let bytes = at..bag.source.len();
        let mut plain =
            Plain { bytes, is_cut: true, is_outside: true, is_v1: bag.head.is_v1() };
        let mut options = bag.options;
        options.block_bytes = TILE;
        let mut start = at;
        loop {
            let mut collecting = Collecting::new(table, at);
            let more = plain.read(&*bag.source, options, &mut collecting)?;
            let content = collecting.content;
            if plain.bytes.start > start {
                let bytes = start..plain.bytes.start;
                start = plain.bytes.start;
                let told = Some(Told::Content(content));
                self.tiles.push(Tile { bytes, told, time: None });
            }
            if !more || plain.bytes.is_empty() {
                return Ok(start);
            }
        }
    }

    /// The open chunk has messages of `connection`, told in `entries`.
    fn index(&mut self, connection: u32, entries: Option<&bytes::Bytes>) {
        let told = self.open.as_mut().and_then(|tile| tile.told.as_mut());
        let (Some(Told::Content(content)), Some(entries)) = (told, entries) else {
            return self.doubt();
        };
        let times = wire::index_entries(entries)
            .map(|(time, _)| TimeRange::from_timestamp(time));
        let records = (entries.len() / 12) as u64;
        let time = times.reduce(|all, next| all.cover(&next));
        let count = Count { records, bytes: None, time };
        content.counts.insert(connection, count);
    }

    /// What the file tells of the open tile is not all that it holds.
    fn doubt(&mut self) {
        if let Some(tile) = &mut self.open {
            tile.told = None;
        }
    }

    /// The open tile ends at `end`; `is_whole` says whether its index does too.
    fn close(&mut self, end: u64, is_whole: bool) {
        let Some(mut tile) = self.open.take() else { return };
        tile.bytes.end = end;
        let has_index =
            tile.told.as_ref().is_some_and(|told| told.counts().next().is_some());
        if !is_whole || !has_index {
            tile.told = None;
        }
        self.tiles.push(tile);
    }

    /// Nothing can be read where `damage` is, and the index tells of the chunks at
    /// `places` there: a tile begins with each, so that who reads it finds out what is
    /// lost.
    fn unreadable(&mut self, damage: Damage, places: Vec<u64>) {
        let Range { start, end } = damage.bytes;
        let before = start..places.first().copied().unwrap_or(end);
        if !before.is_empty() {
            self.lost(damage.at(before));
        }
        for place in places {
            self.close(place, true);
            self.is_in_index = false;
            self.chunks += 1;
            self.open = Some(Tile { bytes: place..place, told: None, time: None });
        }
    }

    fn lost(&mut self, damage: Damage) {
        if self.is_in_index {
            let (start, end) = (damage.bytes.start, damage.bytes.end);
            self.remarks.push(format!("bytes {start}..{end} of the index are broken"));
            return;
        }
        self.doubt();
        if self.open.is_none() {
            self.damage.push(damage);
        }
    }
}

/// Where tiles begin, and where the last ends.
pub(crate) fn bounds(tiles: &[Tile]) -> Vec<u64> {
    let starts = tiles.iter().map(|tile| tile.bytes.start);
    starts.chain(tiles.last().map(|tile| tile.bytes.end)).collect()
}
