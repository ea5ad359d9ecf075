//! An MCAP file that is open.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    ops::Range,
    sync::Arc,
};

use logtool_core::{
    Block, Columns, Cursor, Damage, Decoder, Error, ErrorKind, Findings, Inspection,
    Log, Manifest, OpenOptions, Part, Result, Selection, Source, TimeRange, TopicId,
};

use crate::{
    channels::Channels,
    check::{self, Checked, Inside},
    cursor::McapCursor,
    json::IntegerTypes,
    lookahead, messages,
    notes::{FORMAT_NAME, Notes},
    null_time::{self, Untold},
    survey::survey,
};

/// An MCAP file that is open.
#[derive(Clone)]
pub struct McapLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    options: OpenOptions,
    channels: Arc<Channels>,
    gaps: Arc<[Damage]>,
    /// Where chunks begin.
    chunks: Vec<u64>,
    profile: String,
    /// Why no message can be read, if none can.
    unreadable: Option<String>,
    /// The types of integers in JSON messages that their schemas do not imply.
    integers: Arc<BTreeMap<u32, IntegerTypes>>,
    /// Whether there may be messages of a time that cannot be represented.
    may_be_untold: bool,
}

impl McapLog {
    /// Opens a file. Of one with a sound summary only that is read, and the heads of the
    /// records that are in no chunk.
    ///
    /// # Errors
    /// `Unrecognized` if it is no MCAP file, `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        let (manifest, notes) = survey(&source, options)?;
        let log = Self::new(source, Arc::new(manifest), notes, options);
        log.with_integer_types()
    }

    /// Opens a file of which the manifest is known, reading nothing.
    ///
    /// # Errors
    /// `Malformed` if the manifest is none of an MCAP file.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let notes: Notes = manifest.decode_state(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, notes, options))
    }

    /// Examines the integers of the first JSON messages, whose schemas do not say how large
    /// they are, and notes in the manifest which of them need other types.
    fn with_integer_types(mut self) -> Result<Self> {
        let integers = lookahead::integer_types(&self);
        if integers.is_empty() {
            return Ok(self);
        }
        let mut manifest = Manifest::clone(&self.manifest);
        for (topic, types) in &integers {
            if let Some(topic) = manifest.topics.get_mut(*topic as usize) {
                let columns = Columns::default();
                let decoder = messages::decoder(topic, &columns, Some(types))?;
                topic.schema = decoder.schema().clone();
            }
        }
        let notes: Notes = manifest.decode_state(FORMAT_NAME)?;
        manifest.format_state =
            Manifest::encode_state(&Notes { integers: integers.clone(), ..notes })?;
        (self.manifest, self.integers) = (Arc::new(manifest), integers.into());
        Ok(self)
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        notes: Notes,
        options: OpenOptions,
    ) -> Self {
        let parts = manifest.parts.iter().zip(&notes.chunks);
        let chunks = parts.filter(|(_, is_chunk)| **is_chunk);
        let chunks = chunks.map(|(part, _)| part.bytes.start).collect();
        let channels = Arc::new(Channels::new(&notes.channels, &manifest.topics));
        let Notes { gaps, profile, unreadable, integers, .. } = notes;
        let gaps = gaps.into();
        let mut parts = manifest.parts.iter();
        let may_be_untold = parts.any(|part| null_time::may_be_in(&part.time));
        Self {
            source,
            manifest,
            options,
            channels,
            gaps,
            chunks,
            profile,
            unreadable,
            integers: integers.into(),
            may_be_untold,
        }
    }

    /// What the file says that it is, as `ros1`.
    pub fn profile(&self) -> &str {
        &self.profile
    }
}

impl Log for McapLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        if let Some(why) = &self.unreadable {
            return Err(Error::new(ErrorKind::Unsupported, why.clone()));
        }
        Ok(Box::new(Several { cursors: self.cursors(part, selection).collect() }))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        let decoder = match self.channels.derived.decoder(self, topic, columns) {
            Some(decoder) => decoder?,
            None => {
                let integers = self.integers.get(&topic.0);
                messages::decoder(self.manifest.get(topic)?, columns, integers)?
            }
        };
        Ok(match self.may_be_untold {
            true => Box::new(Untold(decoder)),
            false => decoder,
        })
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn part_times(&self) -> Vec<TimeRange> {
        self.channels.derived.times_without_room(&self.manifest.parts)
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let inspection = self.inspect(findings)?;
        inspection.map_or(Ok(()), |inspection| inspection.finish(findings))
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        check::schemas(&self.manifest, findings);
        let (source, gaps) = (self.source.clone(), self.gaps.clone());
        let starts = self.chunks.iter();
        let chunks = starts.filter_map(|start| {
            let parts = &self.manifest.parts;
            let found = parts.binary_search_by_key(start, |part| part.bytes.start);
            Some(parts.get(found.ok()?)?.bytes.clone())
        });
        let chunks = chunks.collect();
        let checked = Checked { source, options: self.options, gaps, chunks };
        let inside = Arc::new(check::check(checked, findings)?);
        Ok(Some(Box::new(Inspected { log: self.clone(), inside })))
    }
}

/// A file that is looked into as it is read.
struct Inspected {
    log: McapLog,
    inside: Arc<Inside>,
}

impl Inspection for Inspected {
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let cursors = self.log.cursors(part, selection);
        let cursors = cursors.map(|cursor| cursor.inspected(self.inside.clone()));
        Ok(Box::new(Several { cursors: cursors.collect() }))
    }

    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()> {
        self.inside.finish(findings)
    }
}

impl McapLog {
    /// The cursors of all that lies in `part`.
    fn cursors(
        &self,
        part: &Part,
        selection: &Selection,
    ) -> impl Iterator<Item = McapCursor> {
        let parts = &self.manifest.parts;
        let first = parts.partition_point(|one| one.bytes.start < part.bytes.start);
        let within = parts.get(first..).unwrap_or_default().iter();
        let within = within.take_while(move |one| one.bytes.end <= part.bytes.end);
        within.map(|one| self.cursor(one.bytes.clone(), selection))
    }

    fn cursor(&self, bytes: Range<u64>, selection: &Selection) -> McapCursor {
        let (channels, selection) = (self.channels.clone(), selection.clone());
        let (source, options) = (&self.source, self.options);
        match self.chunks.binary_search(&bytes.start) {
            Ok(_) => McapCursor::chunk(source, bytes, channels, selection, options),
            Err(_) => {
                let gaps = self.gaps.clone();
                McapCursor::records(source, bytes, gaps, channels, selection, options)
            }
        }
    }
}

/// Several parts, one after the other.
struct Several {
    cursors: VecDeque<McapCursor>,
}

impl Cursor for Several {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        while let Some(cursor) = self.cursors.front_mut() {
            if cursor.fill(block)? {
                return Ok(true);
            }
            self.cursors.pop_front();
        }
        Ok(false)
    }
}

impl fmt::Debug for McapLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McapLog").finish_non_exhaustive()
    }
}
