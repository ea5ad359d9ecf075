//! Finding out what a bag holds.

mod said;
mod times;
pub(crate) mod topics;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::Range,
    sync::Arc,
};

use logtool_core::{
    Clock, Damage, DamageKind, Error, ErrorKind, LogAccess, Manifest, Part, Result,
    Source, TimeRange, TopicSet,
};

use crate::{
    bag::Bag,
    connection::{Connection, Raw},
    connection_trust::{Trust, is_torn},
    defined::defined,
    derived::derived_of,
    encryption::{Key, Lock},
    head::Head,
    index::{self, Index},
    notes::{FORMAT_NAME, Notes},
    options::{RosbagOptions, Survey},
    packing::Packing,
    part_messages::Told,
    probe::{Conflicts, Count, probe},
    scan::{self, Scan, Tile},
    table::Table,
    toplevel::Tops,
};

/// Bags that are no longer than this are read through, unless they unpack to more than
/// that.
const SMALL: u64 = 128 << 10;
const UNPACKED: u64 = 32 << 20;

/// Why a topic of version 1.2 is doubtful.
const UNDEFINED: &str =
    "no record defines the type of this topic, which only messages tell";

/// With so many chunks a key is tried.
const TRIES: usize = 8;

/// What was found out.
#[derive(Default)]
struct Findings {
    table: Table,
    tiles: Vec<Tile>,
    /// What each tile holds, where it is known.
    contents: Vec<Option<Told>>,
    packing: Packing,
    access: LogAccess,
    damage: Vec<Damage>,
    remarks: Vec<String>,
    conflicts: Conflicts,
    /// Connections that are not to be believed if there is another copy of them in a
    /// chunk, and where each lies.
    unsound: Vec<(Raw, Range<u64>)>,
    /// Topics of which the records have too many columns.
    too_wide: TopicSet,
    /// Whether it is encrypted, and nobody gave a key.
    is_sealed: bool,
    /// Why nothing can be read, if no chunk can be unpacked.
    unreadable: Option<String>,
    /// Chunks that are not there: to be told where nothing else is lost.
    missing: Option<Damage>,
}

/// Surveys the bag in `source`.
pub(crate) fn survey(
    source: &Arc<dyn Source>,
    options: RosbagOptions,
) -> Result<(Manifest, Notes)> {
    let mut remarks = Vec::new();
    let head = Head::read(source, options.open, &mut remarks)?;
    let bag = Bag::new(source.clone(), head.clone(), &options);
    let mut findings =
        Findings { remarks, too_wide: TopicSet::EMPTY, ..Findings::default() };

    let uses_index = options.survey != Survey::Scan && !head.is_v1();
    let is_thorough = options.open.compare_index;
    let read = || index::read(source, &head, &bag.lock, is_thorough);
    match uses_index.then(read).transpose()? {
        Some(Ok(index)) => findings.take_index(index, &head),
        Some(Err(why)) => findings.take_scan(&bag, &head, Some(why))?,
        None => findings.take_scan(&bag, &head, None)?,
    }
    if head.version.is_none() && findings.tiles.is_empty() {
        let what = "it does not begin as a bag, and no chunk is found in it";
        return Err(Error::new(ErrorKind::Unrecognized, what).at(0));
    }
    let budget = match options.survey {
        Survey::Full => u64::MAX,
        Survey::Auto if source.len() <= SMALL => UNPACKED,
        Survey::Auto | Survey::Index | Survey::Scan => 0,
    };
    findings.unreadable = findings.packing.unreadable(findings.tiles.len());
    match &bag.lock {
        Lock::Shut(_, why) => {
            let why = why.clone();
            findings.take_told();
            findings.is_sealed = true;
            findings.remarks.push(why);
        }
        _ if findings.unreadable.is_some() => findings.take_told(),
        Lock::Key(key) => {
            findings.try_key(&bag, key)?;
            findings.probe(&bag, budget)?;
        }
        Lock::Open => findings.probe(&bag, budget)?,
    }
    findings.finish(source.len(), head)
}

/// What the counts of the header, or of an index that is not where it should be, say to
/// be missing of what `scan` found. (A whole index in its place names each chunk.)
fn missing(bag: &Bag, head: &Head, scan: &Scan) -> Result<Option<Damage>> {
    let (infos, found, len) = (scan.infos, scan.chunks, bag.source.len());
    if head.version.is_some() && head.records_at >= len && !head.has_header {
        let cut = Damage::new(DamageKind::Truncated, len..len);
        return Ok(Some(cut.with_reason("there is nothing behind its first line")));
    }
    let is_whole = infos > 0 && bag.told()?.len() as u64 == infos;
    let said = if head.has_header { head.chunks.into() } else { infos };
    if is_whole || found >= said {
        return Ok(None);
    }
    // Most likely they are where zeros were taken for padding.
    let bytes = if scan.padding.is_empty() { len..len } else { scan.padding.clone() };
    let why = format!("{said} chunks should be there, and {found} are");
    Ok(Some(Damage::new(DamageKind::Garbled, bytes).with_reason(why)))
}

impl Findings {
    fn take_index(&mut self, index: Index, head: &Head) {
        let Index { connections, chunks, packing, remarks } = index;
        let mut sound = HashSet::new();
        for (raw, bytes) in connections {
            let Connection { type_name, md5sum, definition, .. } =
                Connection::new(raw.clone());
            // Many connections are of one type.
            let told = (type_name, md5sum, definition);
            let is_sound = sound.contains(&told)
                || Trust::of(&Connection::new(raw.clone())) == Trust::Sound;
            match is_sound {
                true => {
                    self.table.meet(raw, 0);
                    sound.insert(told);
                }
                false => self.unsound.push((raw, bytes)),
            }
        }
        let ends = chunks.iter().skip(1).map(|chunk| chunk.at).chain([head.index_at]);
        let ends: Vec<u64> = ends.collect();
        let tile = |(chunk, end): (index::IndexedChunk, u64)| Tile {
            bytes: chunk.at..end,
            told: (!chunk.is_doubtful).then_some(Told::Counts(chunk.counts)),
            time: (!chunk.is_doubtful).then_some(chunk.time),
        };
        self.tiles = chunks.into_iter().zip(ends).map(tile).collect();
        self.packing = packing;
        self.access = LogAccess::Indexed;
        self.remarks.extend(remarks);
    }

    fn take_scan(&mut self, bag: &Bag, head: &Head, why: Option<String>) -> Result<()> {
        let scan = scan::scan(bag, head, &mut self.table)?;
        self.access = LogAccess::Damaged;
        let len = bag.source.len();
        self.missing = missing(bag, head, &scan)?;
        let Scan { tiles, packing, damage, remarks, unsound, infos, .. } = scan;
        // A whole index says that nothing is missing but the place where it is.
        if head.has_header
            && head.index_at > len
            && infos < u64::from(head.chunks).max(1)
        {
            let missing = Damage::new(DamageKind::Truncated, len..head.index_at);
            let why = "the bag was longer: its header says where its index began";
            self.damage.push(missing.with_reason(why));
        }
        self.unsound = unsound;
        if let Some(why) = why {
            let chunks = tiles.len();
            self.remarks.push(format!(
                "the index is not used: {why}; reading on without it, {chunks} parts \
                 were found"
            ));
        }
        (self.tiles, self.packing) = (tiles, packing);
        self.damage.extend(damage);
        self.remarks.extend(remarks);
        Ok(())
    }

    /// An error if none of the first chunks can be decrypted with `key`, and there are
    /// some.
    fn try_key(&self, bag: &Bag, key: &Key) -> Result<()> {
        let mut tops = Tops::new(bag.source.clone());
        let mut tried = 0;
        for tile in self.tiles.iter().take(TRIES) {
            let Some((head, data)) = tops.chunk(tile.bytes.start)? else { continue };
            let is_there = data.end <= bag.source.len()
                && data.end - data.start <= bag.options.record_bytes.into();
            let Ok(compression) = head.compression else { continue };
            if !is_there || data.is_empty() {
                continue;
            }
            let text = key.decrypt(&bag.source.read_at(data)?);
            if text.is_some_and(|text| text.is_empty() || compression.may_be(&text)) {
                return Ok(());
            }
            tried += 1;
        }
        if tried == 0 {
            return Ok(());
        }
        let what = "the key is wrong: it does not decrypt the chunks of this bag";
        Err(Error::new(ErrorKind::Unsupported, what))
    }

    /// Takes what the index tells, as nothing can be looked into.
    fn take_told(&mut self) {
        self.contents = self.tiles.iter_mut().map(|tile| tile.told.take()).collect();
    }

    /// Looks into the tiles of which the content is not known, and into the others too
    /// until `budget` bytes are unpacked.
    fn probe(&mut self, bag: &Bag, mut budget: u64) -> Result<()> {
        let bounds: Arc<[u64]> = scan::bounds(&self.tiles).into();
        for tile in &mut self.tiles {
            let told = tile.told.take().filter(|told| {
                let mut ids = told.counts().map(|(id, _)| id);
                budget == 0
                    && ids.all(|id| self.table.lookup(id, tile.bytes.start).is_some())
            });
            let told = match told {
                Some(told) => told,
                None => {
                    let (part, table) = (tile.bytes.clone(), &mut self.table);
                    Told::Content(probe(
                        bag,
                        &bounds,
                        part,
                        table,
                        &mut self.conflicts,
                    )?)
                }
            };
            if let Told::Content(content) = &told {
                budget = budget.saturating_sub(content.unpacked);
                self.damage.extend(content.damage.iter().cloned());
            }
            self.contents.push(Some(told));
        }
        Ok(())
    }

    /// The manifest of a bag of `bytes` bytes.
    fn finish(mut self, bytes: u64, head: Head) -> Result<(Manifest, Notes)> {
        self.take_unsound();
        let is_told = self.damage.iter().any(|damage| damage.kind.is_loss());
        self.damage.extend(self.missing.take().filter(|_| !is_told));
        self.table.finish();
        let undefined = if head.is_v1() { self.define() } else { BTreeSet::new() };
        let (mut told, mut of_one_place) = (Vec::new(), Vec::<Damage>::new());
        for mut damage in std::mem::take(&mut self.damage) {
            // So far, topics were the entries of connections.
            damage.topic = damage.topic.and_then(|entry| self.table.topic(entry.0));
            if of_one_place.first().is_some_and(|first| first.bytes != damage.bytes) {
                told.append(&mut of_one_place);
            }
            damage.add_to(&mut of_one_place);
        }
        told.append(&mut of_one_place);
        self.damage = told;
        let mut totals: Vec<Option<Count>> = vec![None; self.table.topics()];
        let derived = derived_of(&self.table);
        let is_disputed = self.table.is_disputed();
        let (mut parts, mut unsure) = (Vec::new(), Vec::new());
        let mut strangers: BTreeSet<u32> = BTreeSet::new();
        let tiles = std::mem::take(&mut self.tiles);
        let contents = std::mem::take(&mut self.contents);
        for (tile, told) in tiles.iter().zip(contents) {
            let mut topics = TopicSet::EMPTY;
            let told = told.unwrap_or(Told::Counts(Vec::new()));
            let is_read = told.counts().all(|(_, count)| count.bytes.is_some());
            for (id, count) in told.counts() {
                let Some(entry) = self.table.lookup(id, tile.bytes.start) else {
                    strangers.insert(id);
                    if is_read {
                        let (bytes, records) = (tile.bytes.clone(), count.records);
                        let lost = Damage::new(DamageKind::UnknownTopic, bytes);
                        let len = told.share_of(&count, lost.lost_bytes);
                        self.damage.push(
                            lost.with_records(records, None).with_lost_bytes(len),
                        );
                    }
                    continue;
                };
                let Some(topic) = self.table.topic(entry) else { continue };
                if undefined.contains(&id) {
                    let odd = Damage::new(DamageKind::Doubtful, tile.bytes.clone());
                    let odd = odd.with_records(count.records, Some(topic));
                    self.damage.push(odd.with_reason(UNDEFINED));
                }
                topics.insert(topic);
                if let Some(child) = derived.child(topic) {
                    topics.insert(child);
                }
                if let Some(total) = totals.get_mut(topic.index()) {
                    *total = Some(total.map_or(count, |total| total.and(count)));
                }
            }
            // In what is broken, and where numbers mean different connections, a cursor,
            // which knows all connections, may find more than was counted.
            unsure.push(is_disputed || told.is_damaged());
            let time = told.time().or(tile.time).unwrap_or(TimeRange::ALL);
            parts.push(Part { bytes: tile.bytes.clone(), topics, time });
        }
        self.remark(&strangers);
        let topics = self.topics(&totals, &derived, &tiles)?;
        let time = times::robust(&parts, &mut self.remarks);
        for (part, _) in parts.iter_mut().zip(unsure).filter(|(_, unsure)| *unsure) {
            (part.topics, part.time) = (TopicSet::All, TimeRange::ALL);
        }
        derived.make_room(&mut parts);
        let streams = self.table.streams();
        let metadata = self.metadata(&head);
        self.damage.sort_by_key(|damage| damage.bytes.start);
        let (connections, too_wide) = (self.table.store(), self.too_wide);
        let unreadable = self.unreadable.take();
        let notes = Notes { head, connections, too_wide, unreadable };
        let manifest = Manifest {
            format: FORMAT_NAME.to_owned(),
            bytes,
            access: self.access,
            topics,
            streams,
            parts,
            time_margins: BTreeMap::new(),
            oldest: None,
            clock: Clock::default(),
            time,
            metadata,
            damage: self.damage,
            remarks: self.remarks,
            format_state: Manifest::encode_state(&notes)?,
        };
        Ok((manifest, notes))
    }

    /// Puts the definitions of a bag of version 1.2 into its connections; says which have
    /// none.
    fn define(&mut self) -> BTreeSet<u32> {
        let contents = self.contents.iter().flatten();
        let have_messages = contents.flat_map(Told::counts).map(|(id, _)| id).collect();
        let (table, undefined) = defined(&self.table, &have_messages);
        self.table = table;
        undefined
    }

    /// Takes the connections that are not to be believed where nothing else tells of
    /// them, and tells of those that no copy tells whole.
    fn take_unsound(&mut self) {
        let mut places = BTreeMap::new();
        for (raw, bytes) in std::mem::take(&mut self.unsound) {
            let connection = Connection::new(raw.clone());
            let known = self.table.lookup(connection.id, u64::MAX);
            let known = known.and_then(|entry| self.table.entries.get(entry as usize));
            match known.map(|known| &known.connection) {
                Some(known) if is_torn(known) || *known == connection => {}
                Some(_) => {
                    self.damage.push(Damage::new(DamageKind::Index, bytes.clone()))
                }
                None => _ = self.table.meet(raw, 0),
            }
            places.insert(connection.id, bytes);
        }
        let tiles = self.tiles.iter().map(|tile| (tile.bytes.start, tile));
        let tiles: BTreeMap<u64, &Tile> = tiles.collect();
        let entries = self.table.entries.iter();
        for entry in entries.filter(|entry| is_torn(&entry.connection)) {
            let Connection { id, topic, .. } = &entry.connection;
            let len = entry.connection.header().len() as u64;
            let chunk = || tiles.get(&entry.told_at).map(|tile| tile.bytes.clone());
            let place = places.get(id).cloned().or_else(chunk);
            let bytes = place.unwrap_or(entry.told_at..entry.told_at);
            let torn = Damage::new(DamageKind::Garbled, bytes);
            let len = len.min(torn.lost_bytes);
            let why = format!("the connection {id}, of {topic:?}, breaks off");
            self.damage.push(torn.with_lost_bytes(len).with_reason(why));
        }
    }
}
