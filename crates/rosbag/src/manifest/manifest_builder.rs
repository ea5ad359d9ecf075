//! Building the manifest of a bag.

mod recording_time;
mod remarks;
pub(crate) mod topics;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::Range,
    sync::Arc,
};

use logtool_core::{
    Clock, Damage, DamageKind, Error, ErrorKind, IdSet, LogAccess, Manifest, Part,
    Result, Source, TimeRange, TopicSet,
};

use crate::{
    codec::{
        compression::Compression,
        encryption::{Encryption, Key},
    },
    connections::{
        connection::{Connection, RawConnection},
        connection_table::ConnectionTable,
        connection_trust::{HeaderTrust, is_truncated},
        derived_topics::derived_topics,
        v1_definitions::with_definitions,
    },
    file::{
        bag::Bag,
        compression_stats::CompressionStats,
        file_header::FileHeader,
        index::{self, Index},
        toplevel_record::TopLevelReader,
    },
    format_state::{FORMAT_NAME, FormatState},
    manifest::scan::{self, PartDraft, Scan},
    options::{OpenMode, RosbagOptions},
    read::{
        part_content::{ConnectionConflicts, MessageCount, read_content},
        part_messages::PartMessages,
    },
};

/// Bags up to this length are read completely when they are opened, unless they decompress to more
/// than [`MAX_DECOMPRESSED_BYTES`] bytes, or their bz2 chunks to more than [`MAX_BZ2_BYTES`] bytes.
/// (Bz2 takes 20 times as long as other compressions.)
const SMALL_BAG_BYTES: u64 = 128 << 10;
const MAX_DECOMPRESSED_BYTES: u64 = 32 << 20;
const MAX_BZ2_BYTES: u64 = 64 << 10;

/// The reason why the type of a topic of version 1.2 is doubtful.
const UNDEFINED_TYPE: &str =
    "no record defines the type of this topic; only its messages name it";
/// The number of chunks with which a key is tried.
const MAX_KEY_TRIALS: usize = 8;

/// The collected facts about a bag, from which the manifest is built.
#[derive(Default)]
struct ManifestBuilder {
    table: ConnectionTable,
    drafts: Vec<PartDraft>,
    /// The messages of each draft, if they are known.
    contents: Vec<Option<PartMessages>>,
    compression: CompressionStats,
    access: LogAccess,
    /// The damage so far. Until [`finish`](Self::finish), its topics are indices of connection
    /// entries.
    damage: Vec<Damage>,
    remarks: Vec<String>,
    conflicts: ConnectionConflicts,
    /// Connections outside chunks that are used only if no chunk has a better copy, and the byte
    /// range of each.
    unsound_connections: Vec<(RawConnection, Range<u64>)>,
    /// Topics whose records have too many columns.
    too_wide: TopicSet,
    /// Whether the bag is encrypted and cannot be decrypted.
    is_locked: bool,
    /// The reason why nothing can be read, if no chunk can be decompressed.
    unreadable_reason: Option<String>,
    /// The damage for missing chunks. It is reported only if there is no other loss.
    missing_chunks: Option<Damage>,
}

/// Builds the manifest of the bag in `source`.
pub(crate) fn build_manifest(
    source: &Arc<dyn Source>,
    options: RosbagOptions,
) -> Result<(Manifest, FormatState)> {
    let mut remarks = Vec::new();
    let file_header = FileHeader::read(source, options.open, &mut remarks)?;
    let bag = Bag::new(source.clone(), file_header.clone(), &options);
    let mut builder = ManifestBuilder {
        remarks,
        too_wide: TopicSet::EMPTY,
        ..ManifestBuilder::default()
    };

    let uses_index = options.mode != OpenMode::Scan && !file_header.is_v1();
    let is_thorough = options.open.compare_index;
    let read = || index::read(source, &file_header, &bag.encryption, is_thorough);
    match uses_index.then(read).transpose()? {
        Some(Ok(index)) => builder.use_index(index, &file_header),
        Some(Err(reason)) => builder.use_scan(&bag, &file_header, Some(reason))?,
        None => builder.use_scan(&bag, &file_header, None)?,
    }
    if file_header.version.is_none() && builder.drafts.is_empty() {
        let message = "the file does not begin like a bag, and contains no chunk";
        return Err(Error::new(ErrorKind::Unrecognized, message).with_offset(0));
    }
    let bz2_bytes = builder.compression.uncompressed_bytes(Compression::Bz2);
    // A small bag that declares more than the maximum is read too: up to the maximum, which shows
    // that it is a decompression bomb.
    let is_slow = (MAX_BZ2_BYTES + 1..=MAX_DECOMPRESSED_BYTES).contains(&bz2_bytes);
    let is_short = source.len() <= SMALL_BAG_BYTES && !is_slow;
    let budget = match options.mode {
        OpenMode::Full => u64::MAX,
        OpenMode::Auto if is_short => MAX_DECOMPRESSED_BYTES,
        OpenMode::Auto | OpenMode::Index | OpenMode::Scan => 0,
    };
    builder.unreadable_reason =
        builder.compression.unreadable_reason(builder.drafts.len());
    match &bag.encryption {
        Encryption::Locked(_, reason) => {
            let reason = reason.clone();
            builder.use_declared_contents();
            builder.is_locked = true;
            builder.remarks.push(reason);
        }
        _ if builder.unreadable_reason.is_some() => builder.use_declared_contents(),
        Encryption::Key(key) => {
            builder.try_key(&bag, key)?;
            builder.read_contents(&bag, budget)?;
        }
        Encryption::None => builder.read_contents(&bag, budget)?,
    }
    builder.finish(source.len(), file_header)
}

/// Returns the damage for chunks that the scan did not find, according to the number of chunks in
/// the bag header, or else in the index. (If the index is complete, `scan` has a draft for each
/// chunk, also for lost ones.)
fn find_missing_chunks(
    bag: &Bag,
    file_header: &FileHeader,
    scan: &Scan,
) -> Result<Option<Damage>> {
    let (chunk_infos, chunks, len) = (scan.chunk_infos, scan.chunks, bag.source.len());
    if file_header.version.is_some()
        && file_header.records_at >= len
        && !file_header.has_header
    {
        let damage = Damage::new(DamageKind::Truncated, len..len);
        return Ok(Some(damage.with_reason("nothing follows the first line")));
    }
    let is_index_complete =
        chunk_infos > 0 && bag.listed_chunks()?.len() as u64 == chunk_infos;
    let declared =
        if file_header.has_header { file_header.chunks.into() } else { chunk_infos };
    if is_index_complete || chunks >= declared {
        return Ok(None);
    }
    // Most likely, the chunks were in the longest range of zeros that was taken for padding.
    let bytes = if scan.longest_padding.is_empty() {
        len..len
    } else {
        scan.longest_padding.clone()
    };
    let reason =
        format!("the bag should have {declared} chunks, and {chunks} were found");
    Ok(Some(Damage::new(DamageKind::Garbled, bytes).with_reason(reason)))
}

impl ManifestBuilder {
    /// Uses the connections and chunks of the index.
    fn use_index(&mut self, index: Index, file_header: &FileHeader) {
        let Index { connections, chunks, compression, remarks } = index;
        let mut sound_definitions = HashSet::new();
        for (raw, bytes) in connections {
            let Connection { type_name, md5sum, definition, .. } =
                Connection::new(raw.clone());
            // Many connections have the same type, and its MD5 sum is computed only once.
            let key = (type_name, md5sum, definition);
            let is_sound = sound_definitions.contains(&key)
                || HeaderTrust::from_connection(&Connection::new(raw.clone()))
                    == HeaderTrust::Sound;
            if is_sound {
                self.table.register(raw, 0);
                sound_definitions.insert(key);
            } else {
                self.unsound_connections.push((raw, bytes));
            }
        }
        let ends =
            chunks.iter().skip(1).map(|chunk| chunk.at).chain([file_header.index_at]);
        let ends: Vec<u64> = ends.collect();
        let draft = |(chunk, end): (index::IndexedChunk, u64)| PartDraft {
            bytes: chunk.at..end,
            messages: Some(PartMessages::Counts(chunk.counts)),
            time: Some(chunk.time),
        };
        self.drafts = chunks.into_iter().zip(ends).map(draft).collect();
        self.compression = compression;
        self.access = LogAccess::Indexed;
        self.remarks.extend(remarks);
    }

    /// Scans the file for chunks, because the index cannot be used for this `reason`, or must not
    /// be used.
    fn use_scan(
        &mut self,
        bag: &Bag,
        file_header: &FileHeader,
        reason: Option<String>,
    ) -> Result<()> {
        let scan = scan::scan(bag, file_header, &mut self.table)?;
        self.access = LogAccess::Damaged;
        let len = bag.source.len();
        self.missing_chunks = find_missing_chunks(bag, file_header, &scan)?;
        let Scan {
            drafts,
            compression,
            damage,
            remarks,
            unsound_connections,
            chunk_infos,
            ..
        } = scan;
        // If the index is complete, only its position in the header is wrong.
        if file_header.has_header
            && file_header.index_at > len
            && chunk_infos < u64::from(file_header.chunks).max(1)
        {
            let cut_off = Damage::new(DamageKind::Truncated, len..file_header.index_at);
            let reason =
                "the bag is cut off: by its header, the index begins after its end";
            self.damage.push(cut_off.with_reason(reason));
        }
        self.unsound_connections = unsound_connections;
        if let Some(reason) = reason {
            let parts = drafts.len();
            self.remarks.push(format!(
                "the index is not used: {reason}; {parts} parts were found by scanning the file"
            ));
        }
        (self.drafts, self.compression) = (drafts, compression);
        self.damage.extend(damage);
        self.remarks.extend(remarks);
        Ok(())
    }

    /// Returns an error if there are chunks and none of the first few can be decrypted with
    /// `key`.
    fn try_key(&self, bag: &Bag, key: &Key) -> Result<()> {
        let mut toplevel = TopLevelReader::new(bag.source.clone());
        let mut failed_trials = 0;
        for draft in self.drafts.iter().take(MAX_KEY_TRIALS) {
            let Some((chunk_header, data)) = toplevel.chunk(draft.bytes.start)? else {
                continue;
            };
            let is_complete = data.end <= bag.source.len()
                && data.end - data.start <= bag.options.record_bytes.into();
            let Ok(compression) = chunk_header.compression else { continue };
            if !is_complete || data.is_empty() {
                continue;
            }
            let decrypted = key.decrypt(&bag.source.read_at(data)?);
            if decrypted.is_some_and(|bytes| {
                bytes.is_empty() || compression.can_start_with(&bytes)
            }) {
                return Ok(());
            }
            failed_trials += 1;
        }
        if failed_trials == 0 {
            return Ok(());
        }
        let message =
            "the key is wrong: the chunks of this bag cannot be decrypted with it";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Uses the message counts in the index, because the chunks cannot be read.
    fn use_declared_contents(&mut self) {
        self.contents =
            self.drafts.iter_mut().map(|draft| draft.messages.take()).collect();
    }

    /// Reads the drafts whose messages are not known, and also the other drafts until `budget`
    /// bytes are decompressed.
    fn read_contents(&mut self, bag: &Bag, mut budget: u64) -> Result<()> {
        let bounds: Arc<[u64]> = scan::bounds(&self.drafts).into();
        for draft in &mut self.drafts {
            let messages = draft.messages.take().filter(|messages| {
                let mut ids = messages.counts().map(|(id, _)| id);
                budget == 0
                    && ids.all(|id| self.table.lookup(id, draft.bytes.start).is_some())
            });
            let messages = match messages {
                Some(messages) => messages,
                None => {
                    let (part, table) = (draft.bytes.clone(), &mut self.table);
                    PartMessages::Content(read_content(
                        bag,
                        &bounds,
                        part,
                        table,
                        &mut self.conflicts,
                    )?)
                }
            };
            if let PartMessages::Content(content) = &messages {
                budget = budget.saturating_sub(content.decompressed_len);
                self.damage.extend(content.damage.iter().cloned());
            }
            self.contents.push(Some(messages));
        }
        Ok(())
    }

    /// Returns the manifest of a bag of `bytes` bytes, and the private state of the format.
    fn finish(
        mut self,
        bytes: u64,
        file_header: FileHeader,
    ) -> Result<(Manifest, FormatState)> {
        self.add_unsound_connections();
        let is_loss_reported = self.damage.iter().any(|damage| damage.kind.is_loss());
        self.damage.extend(self.missing_chunks.take().filter(|_| !is_loss_reported));
        self.table.finish();
        let undefined_ids =
            if file_header.is_v1() { self.add_definitions() } else { BTreeSet::new() };
        self.assign_topics_of_damage();
        let mut totals: Vec<Option<MessageCount>> =
            vec![None; self.table.topic_count()];
        let derived = derived_topics(&self.table);
        let has_reused_ids = self.table.has_reused_ids();
        let (mut parts, mut are_incomplete) = (Vec::new(), Vec::new());
        let mut undeclared_ids: BTreeSet<u32> = BTreeSet::new();
        let drafts = std::mem::take(&mut self.drafts);
        let contents = std::mem::take(&mut self.contents);
        for (draft, messages) in drafts.iter().zip(contents) {
            let mut topics = TopicSet::EMPTY;
            let messages = messages.unwrap_or(PartMessages::Counts(Vec::new()));
            let is_read = messages.counts().all(|(_, count)| count.bytes.is_some());
            for (id, count) in messages.counts() {
                let Some(entry) = self.table.lookup(id, draft.bytes.start) else {
                    undeclared_ids.insert(id);
                    if is_read {
                        let (bytes, records) = (draft.bytes.clone(), count.records);
                        let lost = Damage::new(DamageKind::UnknownTopic, bytes);
                        let len = messages.share_of(&count, lost.lost_bytes);
                        self.damage.push(
                            lost.with_records(records, None).with_lost_bytes(len),
                        );
                    }
                    continue;
                };
                let Some(topic) = self.table.topic(entry) else { continue };
                if undefined_ids.contains(&id) {
                    let damage = Damage::new(DamageKind::Doubtful, draft.bytes.clone());
                    let damage = damage.with_records(count.records, Some(topic));
                    self.damage.push(damage.with_reason(UNDEFINED_TYPE));
                }
                topics.insert(topic);
                if let Some(derived_topic) = derived.child(topic) {
                    topics.insert(derived_topic);
                }
                if let Some(total) = totals.get_mut(topic.index()) {
                    *total = Some(total.map_or(count, |total| total.add(count)));
                }
            }
            // If data are damaged, or an id refers to several connections, a cursor may find more
            // messages than were counted here, because all connections are registered by then.
            are_incomplete.push(has_reused_ids || messages.is_damaged());
            let time = messages.time().or(draft.time).unwrap_or(TimeRange::ALL);
            parts.push(Part { bytes: draft.bytes.clone(), topics, time });
        }
        self.add_warnings(&undeclared_ids);
        let topics = self.topics(&totals, &derived, &drafts)?;
        let time = recording_time::robust_range(&parts, &mut self.remarks);
        for (part, _) in parts
            .iter_mut()
            .zip(are_incomplete)
            .filter(|(_, is_incomplete)| *is_incomplete)
        {
            (part.topics, part.time) = (TopicSet::All, TimeRange::ALL);
        }
        derived.add_time_margin(&mut parts);
        let streams = self.table.streams();
        let metadata = self.metadata(&file_header);
        self.damage.sort_by_key(|damage| damage.bytes.start);
        let (connections, too_wide) = (self.table.store(), self.too_wide);
        let unreadable_reason = self.unreadable_reason.take();
        let (bounds, point_columns) = (Vec::new(), Vec::new());
        let format_state = FormatState {
            file_header,
            connections,
            all_ids: IdSet::default(),
            too_wide,
            unreadable_reason,
            bounds,
            point_columns,
        };
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
            format_state: Manifest::encode_state(&format_state)?,
        };
        Ok((manifest, format_state))
    }

    /// Replaces the connection entries in the damage by their topics, and merges damage of the same
    /// bytes and topic.
    fn assign_topics_of_damage(&mut self) {
        let (mut merged, mut of_same_range) = (Vec::new(), Vec::<Damage>::new());
        for mut damage in std::mem::take(&mut self.damage) {
            damage.topic = damage.topic.and_then(|entry| self.table.topic(entry.0));
            if of_same_range.first().is_some_and(|first| first.bytes != damage.bytes) {
                merged.append(&mut of_same_range);
            }
            damage.add_to(&mut of_same_range);
        }
        merged.append(&mut of_same_range);
        self.damage = merged;
    }

    /// Adds the definitions of a bag of version 1.2 to its connections, and returns the ids of
    /// the connections whose topic no record defines.
    fn add_definitions(&mut self) -> BTreeSet<u32> {
        let contents = self.contents.iter().flatten();
        let ids_with_messages =
            contents.flat_map(PartMessages::counts).map(|(id, _)| id).collect();
        let (table, undefined_ids) = with_definitions(&self.table, &ids_with_messages);
        self.table = table;
        undefined_ids
    }

    /// Adds the unsound connections that no chunk declares. Reports the connections that have only
    /// truncated copies.
    fn add_unsound_connections(&mut self) {
        let mut ranges_by_id = BTreeMap::new();
        for (raw, bytes) in std::mem::take(&mut self.unsound_connections) {
            let connection = Connection::new(raw.clone());
            let entry = self.table.lookup(connection.id, u64::MAX);
            let entry = entry.and_then(|entry| self.table.entries.get(entry as usize));
            match entry.map(|entry| &entry.connection) {
                Some(registered)
                    if is_truncated(registered) || *registered == connection => {}
                Some(_) => {
                    self.damage.push(Damage::new(DamageKind::Index, bytes.clone()))
                }
                None => {
                    self.table.register(raw, 0);
                }
            }
            ranges_by_id.insert(connection.id, bytes);
        }
        let drafts = self.drafts.iter().map(|draft| (draft.bytes.start, draft));
        let drafts: BTreeMap<u64, &PartDraft> = drafts.collect();
        let entries = self.table.entries.iter();
        for entry in entries.filter(|entry| is_truncated(&entry.connection)) {
            let Connection { id, topic, .. } = &entry.connection;
            let len = entry.connection.header().len() as u64;
            let declaring_part =
                || drafts.get(&entry.declared_at).map(|draft| draft.bytes.clone());
            let bytes = ranges_by_id.get(id).cloned().or_else(declaring_part);
            let bytes = bytes.unwrap_or(entry.declared_at..entry.declared_at);
            let damage = Damage::new(DamageKind::Garbled, bytes);
            let len = len.min(damage.lost_bytes);
            let reason = format!("the connection {id}, of {topic:?}, is truncated");
            self.damage.push(damage.with_lost_bytes(len).with_reason(reason));
        }
    }
}
