//! An open bag.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use logtool_core::{
    Columns, Cursor, Decoder, Error, ErrorKind, Excerpt, Findings, Inspection, Log,
    Manifest, Part, Result, Selection, Source, TimeRange, Timestamp, TopicId, TopicSet,
    Value,
};
use logtool_rosmsg::RecordDefinition;

use crate::{
    check::{CheckedBag, ChunkChecker, check},
    connections::{
        connection::Connection, connection_table::ConnectionTable,
        derived_topics::derived_topics, schema,
    },
    file::{bag::Bag, file_header::FileHeader},
    format_state::{FORMAT_NAME, FormatState},
    manifest::{chunk_statistics, manifest_builder::build_manifest},
    options::RosbagOptions,
    read::cursor::PartReader,
};

/// An open bag: a [`Log`] with access to its connections.
pub struct RosbagLog {
    manifest: Arc<Manifest>,
    parts: PartReader,
    /// The definition of the records of each topic; computed on first use.
    record_definitions: Vec<OnceLock<Result<RecordDefinition>>>,
    /// The [defining entry](Self::defining_entry) of each topic; computed on first use.
    defining_entries: Vec<OnceLock<Option<u32>>>,
    /// The topics with too many columns.
    too_wide: TopicSet,
    /// The reason why nothing can be read, if no chunk can be decompressed.
    unreadable_reason: Option<String>,
}

/// The number of parts whose starts an excerpt of the manifest contains before each of its parts,
/// because the first chunk of a part may begin before the part. More are needed only if an index
/// lists several positions inside one chunk.
const BOUNDS_BEFORE: usize = 2;

/// Checks the content of the chunks of a bag while they are read.
struct BagInspection {
    parts: PartReader,
    checker: Arc<ChunkChecker>,
}

impl RosbagLog {
    /// Opens a bag. If the index is sound, only the index is read.
    ///
    /// # Errors
    /// `Unrecognized` if this is not a bag, `Malformed` if the bag was transferred as text,
    /// `Unsupported` if its version is not supported, `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: RosbagOptions) -> Result<Self> {
        let (manifest, format_state) = build_manifest(&source, options)?;
        Ok(Self::new(source, Arc::new(manifest), format_state, options))
    }

    /// Opens a bag with a known manifest, without reading anything.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from a bag.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: RosbagOptions,
    ) -> Result<Self> {
        let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, format_state, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        format_state: FormatState,
        options: RosbagOptions,
    ) -> Self {
        let FormatState {
            file_header,
            connections,
            all_ids,
            too_wide,
            unreadable_reason,
            bounds,
            point_columns,
        } = format_state;
        let table = ConnectionTable::restore(connections).with_all_ids(all_ids);
        let record_definitions =
            std::iter::repeat_with(OnceLock::new).take(table.topic_count()).collect();
        let defining_entries = vec![OnceLock::new(); table.topic_count()];
        let derived =
            Arc::new(derived_topics(&table).with_point_columns(point_columns));
        let bag = Bag::new(source, file_header, &options);
        let starts = manifest.parts.iter().map(|part| part.bytes.start);
        let end = manifest.parts.last().map(|part| part.bytes.end);
        let bounds =
            if bounds.is_empty() { starts.chain(end).collect() } else { bounds.into() };
        let table = Arc::new(table);
        let parts = PartReader { bag, table, derived, bounds, checker: None };
        Self {
            manifest,
            parts,
            record_definitions,
            defining_entries,
            too_wide,
            unreadable_reason,
        }
    }

    /// Returns all connections in the order in which the bag declares them. The
    /// [stream](logtool_core::Record::stream) of a record is an index into this sequence.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.parts.table.entries.iter().map(|entry| &entry.connection)
    }

    /// Returns the connections of `topic` in the order of their ids.
    pub fn connections_of(&self, topic: TopicId) -> impl Iterator<Item = &Connection> {
        self.parts.table.topic_entries(topic).map(|entry| &entry.connection)
    }

    /// Returns the definition of the records of `topic`, or `None` if there is no such topic or
    /// none of the definitions in its connections can be used.
    pub fn record_definition(&self, topic: TopicId) -> Option<&RecordDefinition> {
        self.record_definition_result(topic)?.as_ref().ok()
    }

    fn record_definition_result(
        &self,
        topic: TopicId,
    ) -> Option<&Result<RecordDefinition>> {
        let cell = self.record_definitions.get(topic.index())?;
        Some(cell.get_or_init(|| {
            if self.too_wide.contains(topic) {
                return Err(Error::new(ErrorKind::Limit, "too many columns"));
            }
            schema::topic_schema(self.connections_of(topic))
                .map(|(_, record_definition)| record_definition)
        }))
    }

    /// Returns the index of the connection whose definition describes the records of `topic`, or
    /// of the first connection of the topic if no definition can be used.
    fn defining_entry(&self, topic: TopicId) -> Option<u32> {
        let cell = self.defining_entries.get(topic.index())?;
        *cell.get_or_init(|| {
            let table = &self.parts.table;
            let topic_schema = schema::topic_schema(self.connections_of(topic)).ok();
            let is_defining = |entry: &u32| {
                let entry = table.entries.get(*entry as usize);
                topic_schema.as_ref().is_none_or(|(definition, _)| {
                    entry
                        .is_some_and(|entry| entry.connection.definition == *definition)
                })
            };
            table.entry_indices(topic).iter().copied().find(is_defining)
        })
    }

    /// Returns the starts of the parts that a reader of `part` uses: those of the parts within
    /// it, of some parts before it, and of one part after it.
    fn bounds_around(&self, part: &Part) -> &[u64] {
        let bounds = &*self.parts.bounds;
        let first = bounds.partition_point(|bound| *bound < part.bytes.start);
        let end = bounds.partition_point(|bound| *bound <= part.bytes.end);
        let bounds_range =
            first.saturating_sub(BOUNDS_BEFORE)..(end + 1).min(bounds.len());
        bounds.get(bounds_range).unwrap_or_default()
    }

    /// Returns the version of the format, e.g. `(2, 0)`, or `None` if the first line is damaged.
    pub fn version(&self) -> Option<(u32, u32)> {
        self.parts.bag.file_header.version
    }
}

impl Log for RosbagLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        if let Some(reason) = &self.unreadable_reason {
            return Err(Error::new(ErrorKind::Unsupported, reason.clone()));
        }
        Ok(Box::new(self.parts.read(part.bytes.clone(), selection)?))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some(decoder) = self.parts.derived.decoder(self, topic, columns) {
            return decoder;
        }
        match self.record_definition_result(topic) {
            Some(record_definition) => schema::decoder(record_definition, columns),
            None => {
                let message =
                    format!("the bag has no topic with the index {}", topic.0);
                Err(Error::new(ErrorKind::NoSuch, message))
            }
        }
    }

    fn excerpt(&self, selection: &Selection, parts: &[Part]) -> Result<Excerpt> {
        let PartReader { bag, table, derived, bounds: all_bounds, .. } = &self.parts;
        let topics = &selection.topics;
        let mut bounds: Vec<u64> = all_bounds.last().copied().into_iter().collect();
        let mut ranges = Vec::new();
        for part in parts {
            let part_bounds = self.bounds_around(part);
            let start = part_bounds.first().copied().unwrap_or(part.bytes.start);
            ranges.push(start..part.bytes.end);
            bounds.extend(part_bounds);
        }
        bounds.sort_unstable();
        bounds.dedup();
        // The ids of derived topics follow from the topics that they are derived from, so those
        // are included too.
        let selected_topics = derived.with_relatives(topics);
        let mut entries = table.entries_within(&selected_topics, &ranges);
        let selected_ids = selected_topics.ids(table.topic_count());
        entries.extend(selected_ids.filter_map(|topic| self.defining_entry(topic)));
        entries.sort_unstable();
        entries.dedup();
        let entry_topics = entries.iter().filter_map(|entry| table.topic(*entry));
        let mut included_topics = derived.with_relatives(&entry_topics.collect());
        included_topics.extend(&selected_topics);
        let state = FormatState {
            file_header: FileHeader::clone(&bag.file_header),
            connections: table.store_excerpt(&entries, &included_topics),
            all_ids: table.all_ids().clone(),
            too_wide: self.too_wide.positions_within(&included_topics),
            unreadable_reason: self.unreadable_reason.clone(),
            bounds,
            point_columns: derived.point_columns(self, topics, &included_topics)?,
        };
        let mut excerpt = self.manifest.excerpt(topics, included_topics, parts);
        excerpt.manifest = excerpt.manifest.without_definitions();
        excerpt.manifest.format_state = Manifest::encode_state(&state)?;
        Ok(excerpt)
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.parts.bag.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let inspection = self.inspect(findings)?;
        inspection.map_or(Ok(()), |inspection| inspection.finish(findings))
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        let PartReader { bag, table, .. } = self.parts.clone();
        let checked_bag = CheckedBag { bag, table };
        let Some(checker) = check(checked_bag, findings)? else { return Ok(None) };
        let checker = Arc::new(checker);
        let parts = PartReader { checker: Some(checker.clone()), ..self.parts.clone() };
        Ok(Some(Box::new(BagInspection { parts, checker })))
    }

    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> Result<bool> {
        chunk_statistics::times(&self.parts.bag, &self.parts.table, part, times)
    }

    fn part_times(&self) -> Vec<TimeRange> {
        self.parts.derived.times_without_margin(&self.manifest.parts)
    }

    fn file_structure(&self) -> Result<BTreeMap<String, Value>> {
        chunk_statistics::file_structure(&self.parts.bag, &self.manifest.parts)
    }
}

impl Inspection for BagInspection {
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        Ok(Box::new(self.parts.read(part.bytes.clone(), selection)?))
    }

    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()> {
        let chunk_findings = self.checker.finish()?;
        chunk_findings.iter().for_each(|finding| findings.add(finding.clone()));
        Ok(())
    }
}

impl fmt::Debug for RosbagLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RosbagLog").finish_non_exhaustive()
    }
}
