//! Writes an MCAP file that contains selections of logs: unchanged messages, or
//! messages of ROS 1 translated for ROS 2, with one channel for each stream.

mod chunk_read_ahead;
mod doubtful_records;
mod options;
mod verbatim_chunks;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use logtool_core::{
    ByteReader, ClockTransform, Damage, DoubtfulRecords, Error, ErrorKind, LogSlice,
    Manifest, Output, Part, Record, RecordSink, Result, Source, Stream, Topic, TopicId,
    TopicOrigin, TopicSet, Value, WriteOptions,
};
use logtool_rosmsg::Transcoder;

use crate::{
    declaration::Declaration,
    format_state::{FORMAT_NAME, FormatState, STREAM_KEYS},
    messages::{
        cdr::CDR,
        ros2::{self, Translation},
    },
    schema_encoding::schema_encoding,
    sink::{
        chunk_read_ahead::ChunkReadAhead,
        doubtful_records::DoubtfulNotes,
        options::{check_names, compression, may_copy, profile},
        verbatim_chunks::VerbatimChunks,
    },
    wire::{Channel, PAYLOAD_HEADER_LEN, Schema, timestamp},
    write::{
        ChannelHandle, ChecksumMode, SchemaHandle, Writer, WriterOptions,
        has_valid_checksum, shifted_time,
    },
};

/// Writes the messages of several selections.
pub(crate) struct McapSink<'w> {
    writer: Writer<Box<dyn Output + 'w>>,
    extracts: Vec<SelectionState>,
    remarks: Vec<String>,
    /// A buffer for translated messages.
    translated: Vec<u8>,
    /// Whether the checksums of attachments are verified.
    is_careful: bool,
    doubtful: DoubtfulNotes,
}

/// The state of one selection.
struct SelectionState {
    /// The output channel of each selected stream of each topic.
    channels: BTreeMap<(TopicId, u32), OutputChannel>,
    is_derived: Vec<bool>,
    /// The transcoders of the topics whose messages are translated.
    translations: BTreeMap<TopicId, Transcoder>,
    left_out: Vec<Damage>,
    /// The byte ranges of attachment records.
    attachments: Vec<Range<u64>>,
    /// The clock offset of this selection.
    shift: ClockTransform,
    /// The chunks that can be copied unchanged, if there are any.
    verbatim: Option<Arc<VerbatimChunks>>,
    /// Those of them that are read in advance.
    read_ahead: Option<ChunkReadAhead>,
}

/// The output channel of a stream.
struct OutputChannel {
    channel: ChannelHandle,
    header_len: u32,
    is_mcap: bool,
    /// The sequence number of the next message without one.
    sequence: u32,
}

impl<'w> McapSink<'w> {
    /// Starts a file in `out` that contains `extracts`.
    ///
    /// # Errors
    /// `Unsupported` for messages with an unknown encoding or for an unknown
    /// compression; `NoSuch` if a topic to be renamed does not exist.
    pub(crate) fn new(
        out: Box<dyn Output + 'w>,
        extracts: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        check_names(extracts, options)?;
        let mut writing = WriterOptions::default();
        if let Some(name) = &options.compression {
            writing.compression = compression(name)?;
        }
        let states = extracts.iter().map(|extract| {
            let is_mcap = extract.manifest.format == FORMAT_NAME;
            is_mcap
                .then(|| extract.manifest.decode_state::<FormatState>(FORMAT_NAME))
                .transpose()
        });
        let states = states.collect::<Result<Vec<_>>>()?;
        writing.profile = profile(extracts, &states, options);
        let translations =
            extracts.iter().map(|extract| translations(extract, options));
        let translations = translations.collect::<Result<Vec<_>>>()?;
        let mut writer = Writer::new(out, writing)?;
        let (mut state, mut remarks) = (Vec::new(), Vec::new());
        for ((extract, format_state), translations) in
            extracts.iter().zip(states).zip(translations)
        {
            remarks.extend(
                translations
                    .values()
                    .filter_map(|translation| translation.remark.clone()),
            );
            let mcap_state =
                format_state.as_ref().filter(|_| may_copy(extracts, options));
            state.push(SelectionState::new(
                &mut writer,
                extract,
                translations,
                options,
                mcap_state,
            )?);
            for (name, metadata) in
                format_state.iter().flat_map(|format_state| &format_state.metadata)
            {
                writer.metadata(name, metadata)?;
            }
            let attachments = format_state
                .map(|format_state| format_state.attachments)
                .unwrap_or_default();
            if let Some(state) = state.last_mut() {
                state.attachments = attachments;
            }
        }
        for (state, shift) in state.iter_mut().zip(&options.shifts) {
            state.shift = *shift;
        }
        // New metadata records follow the existing ones, e.g. those about the origin of
        // the file.
        for (name, metadata) in &options.metadata {
            writer.metadata(name, metadata)?;
        }
        Ok(Self {
            writer,
            extracts: state,
            remarks,
            translated: Vec::new(),
            is_careful: options.is_repair,
            doubtful: DoubtfulNotes::new(extracts),
        })
    }
}

impl RecordSink for McapSink<'_> {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        let Some(state) = self.extracts.get_mut(slice_index) else {
            let message = format!("there is no selection {slice_index}");
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        let key = (record.topic, record.stream);
        let Some(output) = state.channels.get_mut(&key) else {
            if state.is_derived.get(record.topic.index()) == Some(&true) {
                return Ok(());
            }
            let (topic, stream) = (record.topic.0, record.stream);
            let message = format!("stream {stream} of topic {topic} is not selected");
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        let data =
            record.payload.get(output.header_len as usize..).ok_or_else(|| {
                Error::new(
                    ErrorKind::Malformed,
                    "the message is shorter than its header",
                )
                .with_offset(record.offset)
            })?;
        let (sequence, published) = match output.message_header(&record) {
            Some((sequence, published)) => {
                (sequence, timestamp(shifted_time(published, state.shift)))
            }
            None => {
                output.sequence = output.sequence.wrapping_add(1);
                (output.sequence.wrapping_sub(1), record.time)
            }
        };
        let data = match state.translations.get(&record.topic) {
            None => data,
            Some(transcoder) => {
                self.translated.clear();
                if !transcoder.to_cdr(data, &mut self.translated) {
                    record.undecodable_damage().add_to(&mut state.left_out);
                    return Ok(());
                }
                &self.translated
            }
        };
        self.writer.write(output.channel, sequence, record.time, published, data)
    }

    fn copies_parts(&self, slice_index: usize) -> bool {
        self.extracts.get(slice_index).is_some_and(|state| state.verbatim.is_some())
    }

    fn expect_parts(
        &mut self,
        slice_index: usize,
        parts: Vec<Part>,
        source: &Arc<dyn Source>,
    ) {
        let Some(state) = self.extracts.get_mut(slice_index) else { return };
        state.read_ahead = state.verbatim.as_ref().map(|verbatim| {
            ChunkReadAhead::new(verbatim.clone(), source.clone(), parts)
        });
    }

    fn copy_part_verbatim(
        &mut self,
        slice_index: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        let Some(state) = self.extracts.get_mut(slice_index) else { return Ok(None) };
        let Some(verbatim) = &state.verbatim else { return Ok(None) };
        let read_ahead = state.read_ahead.as_mut();
        let chunk =
            match read_ahead.and_then(|read_ahead| read_ahead.take(part.bytes.start)) {
                Some(chunk) => chunk?,
                None => verbatim.chunk(part, source)?,
            };
        match chunk {
            Some(chunk) => self.writer.copy(chunk).map(Some),
            None => Ok(None),
        }
    }

    fn copy_attachments(
        &mut self,
        slice_index: usize,
        source: &dyn Source,
    ) -> Result<()> {
        let Some(state) = self.extracts.get(slice_index) else { return Ok(()) };
        let positions = state.attachments.clone();
        let shift = state.shift;
        for position in positions {
            let is_doubtful =
                self.is_careful && !has_valid_checksum(source, &position)?;
            let sum = if is_doubtful { ChecksumMode::Drop } else { ChecksumMode::Keep };
            let name = self.writer.attach(source, position.clone(), shift, sum)?;
            if is_doubtful {
                self.doubtful.attachment(name, &position);
            }
        }
        Ok(())
    }

    fn note_doubtful(&mut self, slice_index: usize, records: &DoubtfulRecords) {
        self.doubtful.records(slice_index, records);
    }

    fn dropped_records(&self, slice_index: usize) -> &[Damage] {
        self.extracts.get(slice_index).map_or(&[], |state| &state.left_out)
    }

    fn remarks(&self) -> Vec<String> {
        let translations =
            self.extracts.iter().flat_map(|selected| selected.translations.values());
        let unrepresentable: u64 = translations.map(Transcoder::times_after_2038).sum();
        let remark = format!(
            "{unrepresentable} times are after 2038-01-19, which ROS 2 cannot represent; readers \
             take them as times before 1970"
        );
        let remark = (unrepresentable > 0).then_some(remark);
        let doubtful = self.doubtful.remarks();
        self.remarks.iter().cloned().chain(remark).chain(doubtful).collect()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.doubtful.write(&mut self.writer)?;
        self.writer.finish().map(drop)
    }
}

impl OutputChannel {
    /// Returns the sequence number and the publish time of `record`, if it has them.
    fn message_header(&self, record: &Record<'_>) -> Option<(u32, u64)> {
        if !self.is_mcap || self.header_len != PAYLOAD_HEADER_LEN {
            return None;
        }
        let mut reader = ByteReader::new(record.payload);
        let (sequence, _, published) = (reader.u32()?, reader.u64()?, reader.u64()?);
        Some((sequence, published))
    }
}

impl SelectionState {
    fn new<W: Output>(
        writer: &mut Writer<W>,
        extract: &LogSlice<'_>,
        translations: BTreeMap<TopicId, Translation>,
        options: &WriteOptions,
        mcap_state: Option<&FormatState>,
    ) -> Result<Self> {
        let LogSlice { manifest, selection } = extract;
        let mut verbatim = match mcap_state {
            Some(format_state) => VerbatimChunks::new(extract, format_state, options)?,
            None => None,
        };
        let mut channels = BTreeMap::new();
        let is_mcap = manifest.format == FORMAT_NAME;
        for (stream, id, metadata) in streams(manifest) {
            let topic = manifest.topic(id)?;
            let is_wanted =
                topic.origin != TopicOrigin::Derived && selection.topics.contains(id);
            if !is_wanted {
                if let Some(verbatim) = &mut verbatim
                    && topic.origin != TopicOrigin::Derived
                {
                    verbatim.set_channel(stream, None);
                }
                continue;
            }
            let name = options.rename.get(&*topic.label()).unwrap_or(&topic.name);
            let channel = match translations.get(&id) {
                Some(Translation { type_name, definition, .. }) => {
                    let (encoding, schema_encoding) = CDR;
                    let schema = writer.schema(
                        type_name,
                        schema_encoding,
                        definition.as_bytes(),
                    )?;
                    let is_latched = topic.is_latched(stream);
                    let words = ros2::channel_metadata(&metadata, is_latched);
                    writer.channel(name, schema, encoding, words)?
                }
                None => {
                    let ids =
                        verbatim.as_ref().and_then(|verbatim| verbatim.ids(stream));
                    let mcap_state =
                        ids.and_then(|ids| same_channel(writer, topic, ids, &metadata));
                    if let Some(verbatim) = &mut verbatim {
                        verbatim.set_channel(stream, mcap_state.as_ref().map(|_| id));
                    }
                    match mcap_state {
                        Some((mcap_state, declarations)) => {
                            if let Some(verbatim) = &mut verbatim {
                                verbatim.declare(declarations);
                            }
                            mcap_state
                        }
                        None => {
                            let schema = schema(writer, manifest, topic)?;
                            writer.channel(name, schema, &topic.encoding, metadata)?
                        }
                    }
                }
            };
            let header_len = topic.header_len;
            let output = OutputChannel { channel, header_len, is_mcap, sequence: 0 };
            channels.insert((id, stream), output);
        }
        let topics = manifest.topics.iter();
        let is_derived = topics.map(|topic| topic.origin == TopicOrigin::Derived);
        let translations = translations.into_iter();
        let translations =
            translations.map(|(id, translation)| (id, translation.transcoder));
        Ok(Self {
            channels,
            is_derived: is_derived.collect(),
            translations: translations.collect(),
            left_out: Vec::new(),
            attachments: Vec::new(),
            shift: ClockTransform::default(),
            verbatim: verbatim.map(Arc::new),
            read_ahead: None,
        })
    }
}

/// Declares the channel of `topic` and its schema with the same ids as in the source
/// file. Returns the channel and both declarations, or `None` if an id is not free.
fn same_channel<W: Output>(
    writer: &mut Writer<W>,
    topic: &Topic,
    (id, schema): (u16, u16),
    metadata: &BTreeMap<String, String>,
) -> Option<(ChannelHandle, Vec<Declaration>)> {
    let mut declarations = Vec::new();
    if schema != 0 {
        let schema = Schema {
            id: schema,
            name: topic.type_name.clone(),
            encoding: schema_encoding(topic)?.to_owned(),
            data: topic.definition_bytes().to_vec(),
        };
        declarations.push(Declaration::from_schema(&schema));
        writer.same_schema(schema)?;
    }
    let (name, encoding) = (topic.name.clone(), topic.encoding.clone());
    let metadata = metadata.clone();
    let channel = Channel { id, schema, topic: name, encoding, metadata };
    declarations.push(Declaration::from_channel(&channel));
    Some((writer.same_channel(channel)?, declarations))
}

/// Declares the unchanged schema of `topic`; returns no schema if the topic has none.
fn schema<W: Output>(
    writer: &mut Writer<W>,
    manifest: &Manifest,
    topic: &Topic,
) -> Result<SchemaHandle> {
    let encoding = required_schema_encoding(manifest, topic)?;
    let definition = topic.definition_bytes();
    if topic.type_name.is_empty() && definition.is_empty() {
        return Ok(SchemaHandle::default());
    }
    writer.schema(&topic.type_name, &encoding, definition)
}

/// Returns the translations of the selected topics of `extract`, if a translation is
/// requested.
fn translations(
    extract: &LogSlice<'_>,
    options: &WriteOptions,
) -> Result<BTreeMap<TopicId, Translation>> {
    let Some(encoding) = &options.payload_encoding else { return Ok(BTreeMap::new()) };
    let topics = extract.manifest.topics().filter(|(id, topic)| {
        topic.origin != TopicOrigin::Derived && extract.selection.topics.contains(*id)
    });
    let translations = topics.map(|(id, topic)| {
        Ok(Translation::new(topic, encoding)?.map(|translation| (id, translation)))
    });
    translations.filter_map(Result::transpose).collect()
}

/// Returns the streams of `manifest`: index, topic and metadata. A topic without
/// streams is one stream.
fn streams(manifest: &Manifest) -> Vec<(u32, TopicId, BTreeMap<String, String>)> {
    let properties = (0..).zip(&manifest.streams);
    let mut streams_of_topics: Vec<_> = properties
        .map(|(number, stream)| (number, stream.topic, channel_metadata(stream)))
        .collect();
    let has_streams: TopicSet =
        manifest.streams.iter().map(|stream| stream.topic).collect();
    let topics_without_streams =
        manifest.topics().filter(|(id, _)| !has_streams.contains(*id));
    streams_of_topics
        .extend(topics_without_streams.map(|(id, _)| (0, id, BTreeMap::new())));
    streams_of_topics
}

/// Returns the channel metadata of `stream`, without the properties that the channel
/// record itself has.
fn channel_metadata(stream: &Stream) -> BTreeMap<String, String> {
    let properties = stream.metadata.iter();
    let properties = properties.filter(|(key, _)| !STREAM_KEYS.contains(&key.as_str()));
    let properties = properties.filter_map(|(key, value)| match value {
        Value::Text(text) => Some((key.clone(), text.clone())),
        _ => None,
    });
    properties.collect()
}

/// Returns the schema encoding of `topic`.
fn required_schema_encoding(manifest: &Manifest, topic: &Topic) -> Result<String> {
    if let Some(encoding) = schema_encoding(topic) {
        return Ok(encoding.to_owned());
    }
    match topic.encoding.as_str() {
        "ros1" => Ok("ros1msg".to_owned()),
        encoding => {
            let (label, format) = (topic.label(), &manifest.format);
            let message = format!(
                "the topic {label:?} of a {format} log cannot be written to MCAP: its \
                 encoding {encoding:?} is unknown"
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}
