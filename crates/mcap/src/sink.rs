//! Writes an MCAP file that contains selections of logs: unchanged messages, or
//! messages of ROS 1 translated for ROS 2, with one channel for each stream.

mod chunk_read_ahead;
mod doubtful_records;
mod options;
mod topic_names;
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
        cdr,
        ros2::{self, Translation},
    },
    metadata_name,
    schema_encoding::schema_encoding,
    sink::{
        chunk_read_ahead::ChunkReadAhead,
        doubtful_records::DoubtfulNotes,
        options::{check_renamed_topics, compression, may_copy_chunks, profile},
        topic_names::TopicNames,
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
    slices: Vec<SliceState>,
    remarks: Vec<String>,
    /// A buffer for translated messages.
    translated: Vec<u8>,
    /// Whether the checksums of attachments are verified.
    verifies_attachments: bool,
    doubtful: DoubtfulNotes,
}

/// The state of writing one of the selections.
struct SliceState {
    /// The output channel of each selected stream of each topic.
    channels: BTreeMap<(TopicId, u32), OutputChannel>,
    /// Whether each topic is derived from another one.
    is_derived: Vec<bool>,
    /// The transcoders of the topics whose messages are translated.
    transcoders: BTreeMap<TopicId, Transcoder>,
    /// The messages that were dropped because they cannot be translated.
    dropped: Vec<Damage>,
    /// The byte ranges of attachment records in the source file.
    attachments: Vec<Range<u64>>,
    /// The change of the times of this selection.
    shift: ClockTransform,
    /// The chunks of the source file, if some may be copied unchanged.
    verbatim: Option<Arc<VerbatimChunks>>,
    /// The reader of these chunks, if the caller announced which parts it will copy.
    read_ahead: Option<ChunkReadAhead>,
}

/// The output channel of a stream.
struct OutputChannel {
    channel: ChannelHandle,
    /// The number of bytes in each payload before the message.
    header_len: u32,
    /// Whether the stream is from an MCAP file.
    is_mcap: bool,
    /// The sequence number of the next message without one.
    next_sequence: u32,
}

impl<'w> McapSink<'w> {
    /// Starts a file in `out` that contains `slices`.
    ///
    /// # Errors
    /// `Unsupported` for messages with an unknown encoding or for an unknown
    /// compression; `NoSuch` if a topic to be renamed does not exist.
    pub(crate) fn new(
        out: Box<dyn Output + 'w>,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        check_renamed_topics(slices, options)?;
        let mut writer_options = WriterOptions::default();
        if let Some(name) = &options.compression {
            writer_options.compression = compression(name)?;
        }
        let format_states = slices.iter().map(|slice| {
            let is_mcap = slice.manifest.format == FORMAT_NAME;
            is_mcap
                .then(|| slice.manifest.decode_state::<FormatState>(FORMAT_NAME))
                .transpose()
        });
        let format_states = format_states.collect::<Result<Vec<_>>>()?;
        writer_options.profile = profile(slices, &format_states, options);
        // Nothing is written if a topic cannot be translated.
        let translations = slices.iter().map(|slice| translations(slice, options));
        let translations = translations.collect::<Result<Vec<_>>>()?;
        let mut writer = Writer::new(out, writer_options)?;
        let topic_names = TopicNames::new(slices, &translations, options);
        let (mut states, mut remarks) = (Vec::new(), Vec::new());
        remarks.extend(topic_names.remark());
        for ((slice, format_state), translations) in
            slices.iter().zip(format_states).zip(translations)
        {
            remarks.extend(
                translations
                    .values()
                    .filter_map(|translation| translation.remark.clone()),
            );
            let verbatim = match &format_state {
                Some(format_state) if may_copy_chunks(slices, options) => {
                    VerbatimChunks::new(slice, format_state, options)?
                }
                _ => None,
            };
            let mut state = SliceState::new(
                &mut writer,
                slice,
                translations,
                &topic_names,
                verbatim,
            )?;
            if let Some(format_state) = format_state {
                for (name, metadata) in &format_state.metadata {
                    writer.metadata(name, metadata)?;
                }
                state.attachments = format_state.attachments;
            }
            states.push(state);
        }
        for (state, shift) in states.iter_mut().zip(&options.shifts) {
            state.shift = *shift;
        }
        // New metadata records, e.g. the provenance, follow those of the source files.
        for (name, metadata) in &options.metadata {
            writer.metadata(&metadata_name::with_checksum(name, metadata), metadata)?;
        }
        Ok(Self {
            writer,
            slices: states,
            remarks,
            translated: Vec::new(),
            verifies_attachments: options.is_repair,
            doubtful: DoubtfulNotes::new(slices),
        })
    }
}

impl RecordSink for McapSink<'_> {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        let Some(slice) = self.slices.get_mut(slice_index) else {
            let message = format!("there is no selection {slice_index}");
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        let key = (record.topic, record.stream);
        let Some(output) = slice.channels.get_mut(&key) else {
            if slice.is_derived.get(record.topic.index()) == Some(&true) {
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
        let (sequence, publish_time) = match output.message_header(&record) {
            Some((sequence, publish_time)) => {
                (sequence, timestamp(shifted_time(publish_time, slice.shift)))
            }
            None => {
                let sequence = output.next_sequence;
                output.next_sequence = sequence.wrapping_add(1);
                (sequence, record.time)
            }
        };
        let data = match slice.transcoders.get(&record.topic) {
            None => data,
            Some(transcoder) => {
                self.translated.clear();
                if !transcoder.to_cdr(data, &mut self.translated) {
                    record.undecodable_damage().add_to(&mut slice.dropped);
                    return Ok(());
                }
                &self.translated
            }
        };
        self.writer.write(output.channel, sequence, record.time, publish_time, data)
    }

    fn copies_parts(&self, slice_index: usize) -> bool {
        self.slices.get(slice_index).is_some_and(|slice| slice.verbatim.is_some())
    }

    fn expect_parts(
        &mut self,
        slice_index: usize,
        parts: Vec<Part>,
        source: &Arc<dyn Source>,
    ) {
        let Some(slice) = self.slices.get_mut(slice_index) else { return };
        slice.read_ahead = slice.verbatim.as_ref().map(|verbatim| {
            ChunkReadAhead::new(verbatim.clone(), source.clone(), parts)
        });
    }

    fn copy_part_verbatim(
        &mut self,
        slice_index: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        let Some(slice) = self.slices.get_mut(slice_index) else { return Ok(None) };
        let Some(verbatim) = &slice.verbatim else { return Ok(None) };
        let read_ahead = slice.read_ahead.as_mut();
        let chunk =
            match read_ahead.and_then(|read_ahead| read_ahead.take(part.bytes.start)) {
                Some(chunk) => chunk?,
                None => verbatim.chunk(part, source)?,
            };
        chunk.map(|chunk| self.writer.copy_chunk(chunk)).transpose()
    }

    fn copy_attachments(
        &mut self,
        slice_index: usize,
        source: &dyn Source,
    ) -> Result<()> {
        let Some(slice) = self.slices.get(slice_index) else { return Ok(()) };
        for position in &slice.attachments {
            let is_doubtful =
                self.verifies_attachments && !has_valid_checksum(source, position)?;
            let checksum_mode =
                if is_doubtful { ChecksumMode::Remove } else { ChecksumMode::Keep };
            let name = self.writer.copy_attachment(
                source,
                position.clone(),
                slice.shift,
                checksum_mode,
            )?;
            if is_doubtful {
                self.doubtful.add_attachment(name, position);
            }
        }
        Ok(())
    }

    fn note_doubtful(&mut self, slice_index: usize, records: &DoubtfulRecords) {
        self.doubtful.add_records(slice_index, records);
    }

    fn dropped_records(&self, slice_index: usize) -> &[Damage] {
        self.slices.get(slice_index).map_or(&[], |slice| &slice.dropped)
    }

    fn remarks(&self) -> Vec<String> {
        let transcoders =
            self.slices.iter().flat_map(|slice| slice.transcoders.values());
        let late_times: u64 = transcoders.map(Transcoder::times_after_2038).sum();
        let (times_are, them) = match late_times {
            1 => ("1 time is".to_owned(), "it as a time"),
            count => (format!("{count} times are"), "them as times"),
        };
        let late_times_remark = (late_times > 0).then(|| {
            format!(
                "{times_are} after 2038-01-19, which ROS 2 cannot represent; readers take {them} \
                 before 1970"
            )
        });
        let remarks = self.remarks.iter().cloned().chain(late_times_remark);
        remarks.chain(self.doubtful.remarks()).collect()
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
        let (sequence, _log_time, publish_time) =
            (reader.u32()?, reader.u64()?, reader.u64()?);
        Some((sequence, publish_time))
    }
}

impl SliceState {
    /// Adds the channels of the selected streams of `slice` to the file, with `topic_names`. `verbatim` are the chunks that may be copied.
    fn new<W: Output>(
        writer: &mut Writer<W>,
        slice: &LogSlice<'_>,
        translations: BTreeMap<TopicId, Translation>,
        topic_names: &TopicNames<'_>,
        mut verbatim: Option<VerbatimChunks>,
    ) -> Result<Self> {
        let LogSlice { manifest, selection } = slice;
        let mut channels = BTreeMap::new();
        let is_mcap = manifest.format == FORMAT_NAME;
        for (stream, id, metadata) in streams(manifest) {
            let topic = manifest.topic(id)?;
            if topic.origin == TopicOrigin::Derived {
                continue;
            }
            if !selection.topics.contains(id) {
                if let Some(verbatim) = &mut verbatim {
                    verbatim.set_channel(stream, None);
                }
                continue;
            }
            let name = topic_names.name(topic);
            let copied_channel = verbatim.as_mut().and_then(|verbatim| {
                channel_with_same_ids(writer, verbatim, stream, (id, topic), &metadata)
            });
            let channel = match (copied_channel, translations.get(&id)) {
                (Some(channel), _) => channel,
                (None, Some(Translation { type_name, definition, .. })) => {
                    let schema = writer.schema(
                        type_name,
                        cdr::SCHEMA_ENCODING,
                        definition.as_bytes(),
                    )?;
                    let is_latched = topic.is_latched(stream);
                    let metadata = ros2::channel_metadata(&metadata, is_latched);
                    writer.channel(name, schema, cdr::MESSAGE_ENCODING, metadata)?
                }
                (None, None) => {
                    let schema = unchanged_schema(writer, manifest, topic)?;
                    writer.channel(name, schema, &topic.encoding, metadata)?
                }
            };
            let header_len = topic.header_len;
            let output =
                OutputChannel { channel, header_len, is_mcap, next_sequence: 0 };
            channels.insert((id, stream), output);
        }
        let topics = manifest.topics.iter();
        let is_derived = topics.map(|topic| topic.origin == TopicOrigin::Derived);
        let transcoders = translations.into_iter();
        let transcoders =
            transcoders.map(|(id, translation)| (id, translation.transcoder));
        Ok(Self {
            channels,
            is_derived: is_derived.collect(),
            transcoders: transcoders.collect(),
            dropped: Vec::new(),
            attachments: Vec::new(),
            shift: ClockTransform::default(),
            verbatim: verbatim.map(Arc::new),
            read_ahead: None,
        })
    }
}

/// Adds the channel of `stream` and its schema with the same ids as in the source file.
/// Stores in `verbatim` whether this was possible. Returns `None` if an id is not free.
fn channel_with_same_ids<W: Output>(
    writer: &mut Writer<W>,
    verbatim: &mut VerbatimChunks,
    stream: u32,
    (topic_id, topic): (TopicId, &Topic),
    metadata: &BTreeMap<String, String>,
) -> Option<ChannelHandle> {
    let ids = verbatim.ids(stream);
    let added = ids.and_then(|ids| add_with_ids(writer, topic, ids, metadata));
    verbatim.set_channel(stream, added.as_ref().map(|_| topic_id));
    let (channel, declarations) = added?;
    verbatim.declare(declarations);
    Some(channel)
}

/// Adds the channel of `topic` and its schema with these ids of the channel and of the
/// schema. Returns the channel and both declarations, or `None` if an id is not free.
fn add_with_ids<W: Output>(
    writer: &mut Writer<W>,
    topic: &Topic,
    (channel_id, schema_id): (u16, u16),
    metadata: &BTreeMap<String, String>,
) -> Option<(ChannelHandle, Vec<Declaration>)> {
    let mut declarations = Vec::new();
    if schema_id != 0 {
        let schema = Schema {
            id: schema_id,
            name: topic.type_name.clone(),
            encoding: schema_encoding(topic)?.to_owned(),
            data: topic.definition_bytes().to_vec(),
        };
        declarations.push(Declaration::from_schema(&schema));
        writer.schema_with_id(schema)?;
    }
    let channel = Channel {
        id: channel_id,
        schema: schema_id,
        topic: topic.name.clone(),
        encoding: topic.encoding.clone(),
        metadata: metadata.clone(),
    };
    declarations.push(Declaration::from_channel(&channel));
    Some((writer.channel_with_id(channel)?, declarations))
}

/// Adds the unchanged schema of `topic`. Returns no schema if the topic has none.
fn unchanged_schema<W: Output>(
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

/// Returns the translations of the selected topics of `slice` that are of ROS 1, if a
/// translation is requested.
fn translations(
    slice: &LogSlice<'_>,
    options: &WriteOptions,
) -> Result<BTreeMap<TopicId, Translation>> {
    let Some(encoding) = &options.payload_encoding else { return Ok(BTreeMap::new()) };
    let topics = slice.manifest.topics().filter(|(id, topic)| {
        topic.origin != TopicOrigin::Derived && slice.selection.topics.contains(*id)
    });
    let translations = topics.map(|(id, topic)| {
        Ok(Translation::new(topic, encoding)?.map(|translation| (id, translation)))
    });
    translations.filter_map(Result::transpose).collect()
}

/// Returns the streams of `manifest`: index, topic and metadata. A topic without
/// streams is one stream.
fn streams(manifest: &Manifest) -> Vec<(u32, TopicId, BTreeMap<String, String>)> {
    let streams = (0..).zip(&manifest.streams);
    let mut streams: Vec<_> = streams
        .map(|(index, stream)| (index, stream.topic, channel_metadata(stream)))
        .collect();
    let topics_with_streams: TopicSet =
        manifest.streams.iter().map(|stream| stream.topic).collect();
    let topics_without_streams =
        manifest.topics().filter(|(id, _)| !topics_with_streams.contains(*id));
    streams.extend(topics_without_streams.map(|(id, _)| (0, id, BTreeMap::new())));
    streams
}

/// Returns the channel metadata of `stream`, without the entries that are other fields of
/// the channel record.
fn channel_metadata(stream: &Stream) -> BTreeMap<String, String> {
    let entries = stream.metadata.iter();
    let entries = entries.filter(|(key, _)| !STREAM_KEYS.contains(&key.as_str()));
    let entries = entries.filter_map(|(key, value)| match value {
        Value::Text(text) => Some((key.clone(), text.clone())),
        _ => None,
    });
    entries.collect()
}

/// Returns the schema encoding of `topic`, or an error if it is unknown.
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
