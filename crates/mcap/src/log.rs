//! An open MCAP file.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    ops::Range,
    sync::Arc,
};

use logtool_core::{
    Block, Columns, Cursor, Damage, Decoder, Error, ErrorKind, Excerpt, Findings,
    Inspection, Log, Manifest, OpenOptions, Part, Result, Selection, Source, TimeRange,
    TopicId, damage_within,
};

use crate::{
    channels::Channels,
    check::{self, CheckInput, ChunkInspection},
    cursor::McapCursor,
    format_state::{FORMAT_NAME, FormatState},
    index::build_manifest,
    messages::{
        self,
        json::IntegerTypes,
        lookahead,
        null_time::{self, NullTimeDecoder},
    },
};

/// An open MCAP file.
#[derive(Clone)]
pub struct McapLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    options: OpenOptions,
    channels: Arc<Channels>,
    damaged_ranges: Arc<[Damage]>,
    /// The offsets of the chunks.
    chunks: Vec<u64>,
    profile: String,
    /// The reason why no message can be read, if that is the case.
    unreadable: Option<String>,
    /// The types of integers in JSON messages that their schemas do not imply.
    integers: Arc<BTreeMap<u32, IntegerTypes>>,
    /// Whether there may be messages whose time cannot be represented.
    may_have_null_times: bool,
}

impl McapLog {
    /// Opens a file. If it has a valid summary, this reads only the summary and the
    /// headers of the records outside chunks; otherwise it reads the whole file.
    ///
    /// # Errors
    /// `Unrecognized` if the file is not MCAP, `Io` if reading fails.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        let (manifest, format_state) = build_manifest(&source, options)?;
        let log = Self::new(source, Arc::new(manifest), format_state, options);
        log.with_integer_types()
    }

    /// Opens a file whose manifest is known, without reading the file.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from an MCAP file.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, format_state, options))
    }

    /// Examines the integers in the first JSON messages, because schemas do not declare
    /// their size. Stores the types of those that do not fit the default type in the
    /// manifest.
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
        let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
        manifest.format_state = Manifest::encode_state(&FormatState {
            integers: integers.clone(),
            ..format_state
        })?;
        (self.manifest, self.integers) = (Arc::new(manifest), integers.into());
        Ok(self)
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        format_state: FormatState,
        options: OpenOptions,
    ) -> Self {
        let parts = manifest.parts.iter().zip(&format_state.chunks);
        let chunks = parts.filter(|(_, is_chunk)| **is_chunk);
        let chunks = chunks.map(|(part, _)| part.bytes.start).collect();
        let FormatState {
            channels,
            known_channels,
            damaged_ranges,
            profile,
            unreadable,
            integers,
            may_have_null_times,
            point_columns,
            ..
        } = format_state;
        let channels = Channels::new(&channels, &manifest.topics);
        let channels = channels.with_point_columns(point_columns);
        let channels = Arc::new(match known_channels.is_empty() {
            true => channels,
            false => channels.with_known(known_channels),
        });
        let damaged_ranges = damaged_ranges.into();
        let mut parts = manifest.parts.iter();
        let may_have_null_times =
            may_have_null_times || parts.any(|part| null_time::may_be_in(&part.time));
        Self {
            source,
            manifest,
            options,
            channels,
            damaged_ranges,
            chunks,
            profile,
            unreadable,
            integers: integers.into(),
            may_have_null_times,
        }
    }

    /// Returns the profile of the file, e.g. `ros1`.
    pub fn profile(&self) -> &str {
        &self.profile
    }
}

impl Log for McapLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        if let Some(reason) = &self.unreadable {
            return Err(Error::new(ErrorKind::Unsupported, reason.clone()));
        }
        Ok(Box::new(ChainedCursor { cursors: self.cursors(part, selection).collect() }))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        let decoder = match self.channels.derived.decoder(self, topic, columns) {
            Some(decoder) => decoder?,
            None => {
                let integers = self.integers.get(&topic.0);
                messages::decoder(self.manifest.topic(topic)?, columns, integers)?
            }
        };
        Ok(if self.may_have_null_times {
            Box::new(NullTimeDecoder(decoder))
        } else {
            decoder
        })
    }

    fn excerpt(&self, selection: &Selection, parts: &[Part]) -> Result<Excerpt> {
        let topics = &selection.topics;
        let derived = &self.channels.derived;
        // Readers number derived topics by the topics that they are derived from.
        let included = derived.with_relatives(topics);
        let ids: Vec<TopicId> = included.ids(self.manifest.topics.len()).collect();
        let channels = ids.iter().zip((0..).map(TopicId)).flat_map(|(id, topic)| {
            self.channels.of_topic(*id).map(move |channel| (channel, topic))
        });
        let channels = channels.collect();
        let integers = ids
            .iter()
            .zip(0..)
            .filter_map(|(id, topic)| Some((topic, self.integers.get(&id.0)?.clone())));
        let integers = integers.collect();
        let point_columns = derived.point_columns(self, topics, &included)?;
        let mut excerpt = self.manifest.excerpt(&included, included.clone(), parts);
        let starts = excerpt.manifest.parts.iter().map(|part| part.bytes.start);
        let is_chunk = |start| self.chunks.binary_search(&start).is_ok();
        excerpt.manifest.format_state = Manifest::encode_state(&FormatState {
            profile: self.profile.clone(),
            channels,
            known_channels: self.channels.known().clone(),
            schemas: Vec::new(),
            chunks: starts.map(is_chunk).collect(),
            damaged_ranges: damage_within(&self.damaged_ranges, parts),
            metadata: Vec::new(),
            attachments: Vec::new(),
            integers,
            unreadable: self.unreadable.clone(),
            may_have_null_times: self.may_have_null_times,
            point_columns,
        })?;
        Ok(excerpt)
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn part_times(&self) -> Vec<TimeRange> {
        self.channels.derived.times_without_margin(&self.manifest.parts)
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let inspection = self.inspect(findings)?;
        inspection.map_or(Ok(()), |inspection| inspection.finish(findings))
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        check::schemas(&self.manifest, findings);
        let (source, damaged_ranges) =
            (self.source.clone(), self.damaged_ranges.clone());
        let starts = self.chunks.iter();
        let chunks = starts.filter_map(|start| {
            let parts = &self.manifest.parts;
            let index = parts.binary_search_by_key(start, |part| part.bytes.start);
            Some(parts.get(index.ok()?)?.bytes.clone())
        });
        let chunks = chunks.collect();
        let input =
            CheckInput { source, options: self.options, damaged_ranges, chunks };
        let inspection = Arc::new(check::check(input, findings)?);
        Ok(Some(Box::new(McapInspection { log: self.clone(), inspection })))
    }
}

/// A file that is checked while it is read.
struct McapInspection {
    log: McapLog,
    inspection: Arc<ChunkInspection>,
}

impl Inspection for McapInspection {
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let cursors = self.log.cursors(part, selection);
        let cursors =
            cursors.map(|cursor| cursor.with_inspection(self.inspection.clone()));
        Ok(Box::new(ChainedCursor { cursors: cursors.collect() }))
    }

    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()> {
        self.inspection.finish(findings)
    }
}

impl McapLog {
    /// Returns the cursors of all parts of the manifest in `part`.
    fn cursors(
        &self,
        part: &Part,
        selection: &Selection,
    ) -> impl Iterator<Item = McapCursor> {
        let parts = &self.manifest.parts;
        let first = parts
            .partition_point(|inner_part| inner_part.bytes.start < part.bytes.start);
        let inner_parts = parts.get(first..).unwrap_or_default().iter();
        let inner_parts = inner_parts
            .take_while(move |inner_part| inner_part.bytes.end <= part.bytes.end);
        inner_parts.map(|inner_part| self.cursor(inner_part.bytes.clone(), selection))
    }

    fn cursor(&self, bytes: Range<u64>, selection: &Selection) -> McapCursor {
        let (channels, selection) = (self.channels.clone(), selection.clone());
        let (source, options) = (&self.source, self.options);
        match self.chunks.binary_search(&bytes.start) {
            Ok(_) => McapCursor::chunk(source, bytes, channels, selection, options),
            Err(_) => {
                let damaged_ranges = self.damaged_ranges.clone();
                McapCursor::records(
                    source,
                    bytes,
                    damaged_ranges,
                    channels,
                    selection,
                    options,
                )
            }
        }
    }
}

/// Reads several parts, one after the other.
struct ChainedCursor {
    cursors: VecDeque<McapCursor>,
}

impl Cursor for ChainedCursor {
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
