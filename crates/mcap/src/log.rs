//! An open MCAP file.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};

use logtool_core::{
    Block, ChunkLimits, Columns, Cursor, Damage, Decoder, Error, ErrorKind, Excerpt,
    Findings, Inspection, Log, Manifest, OpenOptions, Part, Result, Selection, Source,
    TimeRange, TopicId, damage_within,
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
    wire,
};

/// An open MCAP file.
#[derive(Clone)]
pub struct McapLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    options: OpenOptions,
    /// The limits of the decompressed chunks.
    limits: ChunkLimits,
    channels: Arc<Channels>,
    /// The damaged ranges between records outside chunks.
    damaged_ranges: Arc<[Damage]>,
    /// The offsets of the chunks, in ascending order.
    chunk_starts: Vec<u64>,
    profile: String,
    /// The reason why no message can be read, if that is the case.
    unreadable: Option<String>,
    /// The types of the integers in JSON messages that differ from the types that the
    /// schema implies, by topic.
    integer_types: Arc<BTreeMap<u32, IntegerTypes>>,
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
        let mut log = Self::new(source, Arc::new(manifest), format_state, options);
        if log.may_have_null_times && log.unreadable.is_none() {
            log.manifest = Arc::new(null_time::with_representable_times(&log)?);
        }
        log.with_integer_types()
    }

    /// Opens a file for which `manifest` was built before, without reading the file.
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
    /// their size. If some do not fit in the default type, their types are stored in the
    /// manifest.
    fn with_integer_types(mut self) -> Result<Self> {
        let integer_types = lookahead::integer_types(&self);
        if integer_types.is_empty() {
            return Ok(self);
        }
        let mut manifest = Manifest::clone(&self.manifest);
        for (topic, types) in &integer_types {
            if let Some(topic) = manifest.topics.get_mut(*topic as usize) {
                let columns = Columns::default();
                let decoder = messages::decoder(topic, &columns, Some(types))?;
                topic.schema = decoder.schema().clone();
            }
        }
        let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
        manifest.format_state = Manifest::encode_state(&FormatState {
            integer_types: integer_types.clone(),
            ..format_state
        })?;
        self.manifest = Arc::new(manifest);
        self.integer_types = integer_types.into();
        Ok(self)
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        format_state: FormatState,
        options: OpenOptions,
    ) -> Self {
        let parts = manifest.parts.iter().zip(&format_state.is_chunk);
        let chunks = parts.filter(|(_, is_chunk)| **is_chunk);
        let chunk_starts = chunks.map(|(part, _)| part.bytes.start).collect();
        let mut channels = Channels::new(&format_state.channels, &manifest.topics)
            .with_point_columns(format_state.point_columns);
        if !format_state.all_channel_ids.is_empty() {
            channels = channels.with_all_ids(format_state.all_channel_ids);
        }
        let may_have_null_times = format_state.may_have_null_times
            || manifest.parts.iter().any(|part| null_time::is_in_range(&part.time));
        Self {
            source,
            manifest,
            options,
            limits: ChunkLimits::new(options, wire::chunk_headers),
            channels: Arc::new(channels),
            damaged_ranges: format_state.damaged_ranges.into(),
            chunk_starts,
            profile: format_state.profile,
            unreadable: format_state.unreadable,
            integer_types: format_state.integer_types.into(),
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
        let derived_decoder = self.channels.derived.decoder(self, topic, columns);
        let decoder = match derived_decoder {
            Some(decoder) => decoder?,
            None => {
                let integer_types = self.integer_types.get(&topic.0);
                messages::decoder(self.manifest.topic(topic)?, columns, integer_types)?
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
        // The ids of derived topics follow from the logged topics when the excerpt is
        // opened, so a topic is included together with the topics derived from it, and with
        // the topic that it is derived from.
        let included = derived.with_relatives(topics);
        let ids: Vec<TopicId> = included.ids(self.manifest.topics.len()).collect();
        let ids_in_excerpt = || (0..).map(TopicId);
        let channels =
            ids.iter().zip(ids_in_excerpt()).flat_map(|(id, id_in_excerpt)| {
                self.channels.of_topic(*id).map(move |channel| (channel, id_in_excerpt))
            });
        let channels = channels.collect();
        let integer_types =
            ids.iter().zip(ids_in_excerpt()).filter_map(|(id, id_in_excerpt)| {
                let types = self.integer_types.get(&id.0)?;
                Some((id_in_excerpt.0, types.clone()))
            });
        let integer_types = integer_types.collect();
        let point_columns = derived.point_columns(self, topics, &included)?;
        let mut excerpt = self.manifest.excerpt(&included, included.clone(), parts);
        let starts = excerpt.manifest.parts.iter().map(|part| part.bytes.start);
        let is_chunk = |start| self.chunk_starts.binary_search(&start).is_ok();
        excerpt.manifest.format_state = Manifest::encode_state(&FormatState {
            profile: self.profile.clone(),
            channels,
            all_channel_ids: self.channels.all_ids().clone(),
            schema_ids: Vec::new(),
            is_chunk: starts.map(is_chunk).collect(),
            damaged_ranges: damage_within(&self.damaged_ranges, parts),
            metadata: Vec::new(),
            attachments: Vec::new(),
            integer_types,
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
        check::check_schemas(&self.manifest, findings);
        let chunk_parts = self.manifest.parts.iter().filter(|part| self.is_chunk(part));
        let input = CheckInput {
            source: self.source.clone(),
            options: self.options,
            limits: self.limits.clone(),
            damaged_ranges: self.damaged_ranges.clone(),
            chunks: chunk_parts.map(|part| part.bytes.clone()).collect(),
        };
        let chunk_inspection = Arc::new(check::check_outside_chunks(input, findings)?);
        Ok(Some(Box::new(McapInspection { log: self.clone(), chunk_inspection })))
    }
}

/// An inspection of a file, whose chunks are checked while they are read.
struct McapInspection {
    log: McapLog,
    chunk_inspection: Arc<ChunkInspection>,
}

impl Inspection for McapInspection {
    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let cursors = self.log.cursors(part, selection);
        let cursors =
            cursors.map(|cursor| cursor.with_inspection(self.chunk_inspection.clone()));
        Ok(Box::new(ChainedCursor { cursors: cursors.collect() }))
    }

    fn finish(self: Box<Self>, findings: &mut Findings) -> Result<()> {
        self.chunk_inspection.finish(findings)
    }
}

impl McapLog {
    /// Returns true if `part` of the manifest is a chunk.
    fn is_chunk(&self, part: &Part) -> bool {
        self.chunk_starts.binary_search(&part.bytes.start).is_ok()
    }

    /// Returns the cursors of the parts of the manifest that `part` consists of.
    fn cursors(
        &self,
        part: &Part,
        selection: &Selection,
    ) -> impl Iterator<Item = McapCursor> {
        let indices = self.manifest.parts_within(&part.bytes);
        let parts = self.manifest.parts.get(indices).unwrap_or_default();
        parts.iter().map(|part| self.cursor(part, selection))
    }

    /// Returns the cursor of `part` of the manifest.
    fn cursor(&self, part: &Part, selection: &Selection) -> McapCursor {
        let (channels, selection) = (self.channels.clone(), selection.clone());
        let (source, bytes) = (&self.source, part.bytes.clone());
        let options = self.options;
        if self.is_chunk(part) {
            let limits = self.limits.clone();
            McapCursor::chunk(source, bytes, limits, channels, selection, options)
        } else {
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

/// Reads several parts one after the other.
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
