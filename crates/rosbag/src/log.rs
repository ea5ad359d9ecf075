//! A bag that is open.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use logtool_core::{
    Columns, Cursor, Decoder, Error, ErrorKind, Findings, Inspection, Log, Manifest,
    Part, Result, Selection, Source, TimeRange, Timestamp, TopicId, TopicSet, Value,
};
use logtool_rosmsg::Described;

use crate::{
    bag::Bag,
    check::{Checked, Inside, check},
    connection::Connection,
    cursor::Parts,
    derived::derived_of,
    notes::{FORMAT_NAME, Notes},
    options::RosbagOptions,
    overview, schema,
    survey::survey,
    table::Table,
};

/// A bag that is open: a [`Log`], and what only bags have.
pub struct RosbagLog {
    manifest: Arc<Manifest>,
    parts: Parts,
    /// What the records of each topic look like; found out when first needed.
    described: Vec<OnceLock<Result<Described>>>,
    /// The topics of which there are too many columns.
    too_wide: TopicSet,
    /// Why nothing can be read, if no chunk can be unpacked.
    unreadable: Option<String>,
}

/// Looks into the chunks of a bag as they are read.
struct BagInspection {
    parts: Parts,
    inside: Arc<Inside>,
}

impl RosbagLog {
    /// Opens a bag. Of a bag with a sound index only that is read.
    ///
    /// # Errors
    /// `Unrecognized` if it is no bag, `Malformed` if it is one that was transferred as
    /// text, `Unsupported` if it is of a version that is not known, `Io` if it cannot be
    /// read.
    pub fn open(source: Arc<dyn Source>, options: RosbagOptions) -> Result<Self> {
        let (manifest, notes) = survey(&source, options)?;
        Ok(Self::new(source, Arc::new(manifest), notes, options))
    }

    /// Opens a bag of which the manifest is known, reading nothing.
    ///
    /// # Errors
    /// `Malformed` if the manifest is none of a bag.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: RosbagOptions,
    ) -> Result<Self> {
        let notes: Notes = manifest.decode_state(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, notes, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        notes: Notes,
        options: RosbagOptions,
    ) -> Self {
        let Notes { head, connections, too_wide, unreadable } = notes;
        let table = Table::restore(connections);
        let cells = std::iter::repeat_with(OnceLock::new);
        let described = cells.take(table.topics()).collect();
        let derived = Arc::new(derived_of(&table));
        let bag = Bag::new(source, head, &options);
        let starts = manifest.parts.iter().map(|part| part.bytes.start);
        let end = manifest.parts.last().map(|part| part.bytes.end);
        let bounds = starts.chain(end).collect();
        let table = Arc::new(table);
        let parts = Parts { bag, table, derived, bounds, inside: None };
        Self { manifest, parts, described, too_wide, unreadable }
    }

    /// All connections, in the order in which the bag tells of them: the
    /// [stream](logtool_core::Record::stream) of a record is an index into them.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.parts.table.entries.iter().map(|entry| &entry.connection)
    }

    /// The connections of `topic`, by their numbers.
    pub fn connections_of(&self, topic: TopicId) -> impl Iterator<Item = &Connection> {
        self.parts.table.of_topic(topic).map(|entry| &entry.connection)
    }

    /// What the records of `topic` look like, if there is such a topic and that is known.
    pub fn description(&self, topic: TopicId) -> Option<&Described> {
        self.described(topic)?.as_ref().ok()
    }

    fn described(&self, topic: TopicId) -> Option<&Result<Described>> {
        let cell = self.described.get(topic.index())?;
        Some(cell.get_or_init(|| match self.too_wide.contains(topic) {
            true => Err(Error::new(ErrorKind::Limit, "too many columns")),
            false => {
                let told = schema::of_topic(self.connections_of(topic));
                told.map(|(_, described)| described)
            }
        }))
    }

    /// The version of the format, as `(2, 0)`; nothing where the first line is broken.
    pub fn version(&self) -> Option<(u32, u32)> {
        self.parts.bag.head.version
    }
}

impl Log for RosbagLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        if let Some(why) = &self.unreadable {
            return Err(Error::new(ErrorKind::Unsupported, why.clone()));
        }
        Ok(Box::new(self.parts.read(part.bytes.clone(), selection)?))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some(decoder) = self.parts.derived.decoder(self, topic, columns) {
            return decoder;
        }
        match self.described(topic) {
            Some(described) => schema::decoder(described, columns),
            None => {
                let what = format!("the bag has no topic number {}", topic.0);
                Err(Error::new(ErrorKind::NoSuch, what))
            }
        }
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.parts.bag.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let inspection = self.inspect(findings)?;
        inspection.map_or(Ok(()), |inspection| inspection.finish(findings))
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        let Parts { bag, table, .. } = self.parts.clone();
        let checked = Checked { bag, table };
        let Some(inside) = check(checked, findings)? else { return Ok(None) };
        let inside = Arc::new(inside);
        let parts = Parts { inside: Some(inside.clone()), ..self.parts.clone() };
        Ok(Some(Box::new(BagInspection { parts, inside })))
    }

    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> Result<bool> {
        overview::times(&self.parts.bag, &self.parts.table, part, times)
    }

    fn part_times(&self) -> Vec<TimeRange> {
        self.parts.derived.times_without_room(&self.manifest.parts)
    }

    fn layout(&self) -> Result<BTreeMap<String, Value>> {
        overview::layout(&self.parts.bag, &self.manifest.parts)
    }
}

impl Inspection for BagInspection {
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        Ok(Box::new(self.parts.read(part.bytes.clone(), selection)?))
    }

    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()> {
        let found = self.inside.finish()?;
        found.iter().for_each(|finding| findings.add(finding.clone()));
        Ok(())
    }
}

impl fmt::Debug for RosbagLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RosbagLog").finish_non_exhaustive()
    }
}
