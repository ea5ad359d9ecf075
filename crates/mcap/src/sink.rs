//! Writing an MCAP file that holds extracts of logs: their messages as they are, or those
//! of ROS 1 as ROS 2 has them, each still of its own channel.

mod doubtful;
mod options;
mod verbatim_chunks;

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{
    ByteReader, ClockTransform, Damage, DoubtfulRecords, Error, ErrorKind, LogSlice,
    Manifest, Output, Part, Record, RecordSink, Result, Source, Stream, Topic, TopicId,
    TopicOrigin, TopicSet, Value, WriteOptions,
};

use logtool_rosmsg::Transcoder;

use crate::{
    cdr::CDR,
    notes::{FORMAT_NAME, Notes, STREAM_KEYS},
    ros2::{self, Translation},
    sink::{
        doubtful::DoubtfulNotes,
        options::{check_names, may_copy, named, profile},
        verbatim_chunks::{Declaration, Whole},
    },
    wire::{Channel, ENVELOPE, SCHEMA_ENCODING, Schema, timestamp},
    write::{
        ChannelHandle, SchemaHandle, Sum, Writer, WriterOptions, has_right_sum, moved,
    },
};

/// Writes messages of the topics of some extracts.
pub(crate) struct McapSink<'w> {
    writer: Writer<Box<dyn Output + 'w>>,
    extracts: Vec<Taken>,
    remarks: Vec<String>,
    /// A message that is being translated.
    translated: Vec<u8>,
    /// Whether the checksums of attachments are compared.
    is_careful: bool,
    doubtful: DoubtfulNotes,
}

/// An extract of which messages are taken.
struct Taken {
    /// What becomes of each stream of each topic that is wanted.
    channels: BTreeMap<(TopicId, u32), Taking>,
    is_derived: Vec<bool>,
    /// How those messages are translated that are not written as they are.
    translations: BTreeMap<TopicId, Transcoder>,
    left_out: Vec<Damage>,
    /// Where the records are of files that are attached.
    attached: Vec<Range<u64>>,
    /// What its clock is moved by.
    shift: ClockTransform,
    /// The chunks that can be copied as they are, if some can.
    whole: Option<Whole>,
}

/// What becomes of a stream.
struct Taking {
    channel: ChannelHandle,
    envelope: u32,
    is_mcap: bool,
    /// The sequence number of the next message that has none.
    sequence: u32,
}

impl<'w> McapSink<'w> {
    /// Starts a file in `out` that holds `extracts`.
    ///
    /// # Errors
    /// `Unsupported` if one has messages of an encoding that nothing is known of, or for
    /// an unknown compression; `NoSuch` if no topic has a name that is to be changed.
    pub(crate) fn new(
        out: Box<dyn Output + 'w>,
        extracts: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        check_names(extracts, options)?;
        let mut writing = WriterOptions::default();
        if let Some(name) = &options.compression {
            writing.compression = named(name)?;
        }
        let noted = extracts.iter().map(|extract| {
            let is_mcap = extract.manifest.format == FORMAT_NAME;
            is_mcap
                .then(|| extract.manifest.decode_state::<Notes>(FORMAT_NAME))
                .transpose()
        });
        let noted = noted.collect::<Result<Vec<_>>>()?;
        writing.profile = profile(extracts, &noted, options);
        let translations =
            extracts.iter().map(|extract| translations(extract, options));
        let translations = translations.collect::<Result<Vec<_>>>()?;
        let mut writer = Writer::new(out, writing)?;
        let (mut taken, mut remarks) = (Vec::new(), Vec::new());
        for ((extract, notes), translations) in
            extracts.iter().zip(noted).zip(translations)
        {
            remarks.extend(translations.values().filter_map(|one| one.remark.clone()));
            let same = notes.as_ref().filter(|_| may_copy(extracts, options));
            taken.push(Taken::new(&mut writer, extract, translations, options, same)?);
            for (name, words) in notes.iter().flat_map(|notes| &notes.metadata) {
                writer.metadata(name, words)?;
            }
            let attached = notes.map(|notes| notes.attached).unwrap_or_default();
            if let Some(taken) = taken.last_mut() {
                taken.attached = attached;
            }
        }
        for (taken, shift) in taken.iter_mut().zip(&options.shifts) {
            taken.shift = *shift;
        }
        // What is said now is behind what was said before, as where it is from.
        for (name, words) in &options.words {
            writer.metadata(name, words)?;
        }
        Ok(Self {
            writer,
            extracts: taken,
            remarks,
            translated: Vec::new(),
            is_careful: options.careful,
            doubtful: DoubtfulNotes::new(extracts),
        })
    }
}

impl RecordSink for McapSink<'_> {
    fn write(&mut self, from: usize, record: Record<'_>) -> Result<()> {
        let Some(taken) = self.extracts.get_mut(from) else {
            let what = format!("no extract number {from} was asked for");
            return Err(Error::new(ErrorKind::NoSuch, what));
        };
        let key = (record.topic, record.stream);
        let Some(taking) = taken.channels.get_mut(&key) else {
            if taken.is_derived.get(record.topic.index()) == Some(&true) {
                return Ok(());
            }
            let (topic, stream) = (record.topic.0, record.stream);
            let what =
                format!("no stream {stream} of the topic number {topic} was asked for");
            return Err(Error::new(ErrorKind::NoSuch, what));
        };
        let data = record.payload.get(taking.envelope as usize..).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "a message shorter than its envelope")
                .at(record.offset)
        })?;
        let (sequence, published) = match taking.envelope_of(&record) {
            Some((sequence, published)) => {
                (sequence, timestamp(moved(published, taken.shift)))
            }
            None => {
                taking.sequence = taking.sequence.wrapping_add(1);
                (taking.sequence.wrapping_sub(1), record.time)
            }
        };
        let data = match taken.translations.get(&record.topic) {
            None => data,
            Some(transcoder) => {
                self.translated.clear();
                if !transcoder.to_cdr(data, &mut self.translated) {
                    record.undecodable().add_to(&mut taken.left_out);
                    return Ok(());
                }
                &self.translated
            }
        };
        self.writer.write(taking.channel, sequence, record.time, published, data)
    }

    fn copies_parts(&self, from: usize) -> bool {
        self.extracts.get(from).is_some_and(|taken| taken.whole.is_some())
    }

    fn copy_part_verbatim(
        &mut self,
        from: usize,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<u64>> {
        let whole = self.extracts.get(from).and_then(|taken| taken.whole.as_ref());
        let Some(whole) = whole else { return Ok(None) };
        match whole.chunk(part, source)? {
            Some(chunk) => self.writer.copy(chunk).map(Some),
            None => Ok(None),
        }
    }

    fn copy_attachments(&mut self, from: usize, source: &dyn Source) -> Result<()> {
        let Some(taken) = self.extracts.get(from) else { return Ok(()) };
        let places = taken.attached.clone();
        let shift = taken.shift;
        for place in places {
            let is_doubtful = self.is_careful && !has_right_sum(source, &place)?;
            let sum = if is_doubtful { Sum::Dropped } else { Sum::Kept };
            let name = self.writer.attach(source, place.clone(), shift, sum)?;
            if is_doubtful {
                self.doubtful.attachment(name, &place);
            }
        }
        Ok(())
    }

    fn note_doubtful(&mut self, from: usize, records: &DoubtfulRecords) {
        self.doubtful.records(from, records);
    }

    fn dropped_records(&self, from: usize) -> &[Damage] {
        self.extracts.get(from).map_or(&[], |taken| &taken.left_out)
    }

    fn remarks(&self) -> Vec<String> {
        let translations = self.extracts.iter().flat_map(|of| of.translations.values());
        let beyond: u64 = translations.map(Transcoder::beyond).sum();
        let remark = format!(
            "{beyond} times are after 2038-01-19, for which ROS 2 has no number: it reads \
             them as before 1970"
        );
        let remark = (beyond > 0).then_some(remark);
        let doubtful = self.doubtful.remarks();
        self.remarks.iter().cloned().chain(remark).chain(doubtful).collect()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.doubtful.write(&mut self.writer)?;
        self.writer.finish().map(drop)
    }
}

impl Taking {
    /// The sequence number and the publish time of `record`, if it has them.
    fn envelope_of(&self, record: &Record<'_>) -> Option<(u32, u64)> {
        if !self.is_mcap || self.envelope != ENVELOPE {
            return None;
        }
        let mut cut = ByteReader::new(record.payload);
        let (sequence, _, published) = (cut.u32()?, cut.u64()?, cut.u64()?);
        Some((sequence, published))
    }
}

impl Taken {
    fn new<W: Output>(
        writer: &mut Writer<W>,
        extract: &LogSlice<'_>,
        translations: BTreeMap<TopicId, Translation>,
        options: &WriteOptions,
        same: Option<&Notes>,
    ) -> Result<Self> {
        let LogSlice { manifest, selection } = extract;
        let mut whole = match same {
            Some(notes) => Whole::new(extract, notes, options)?,
            None => None,
        };
        let mut channels = BTreeMap::new();
        let is_mcap = manifest.format == FORMAT_NAME;
        for (stream, id, metadata) in streams(manifest) {
            let topic = manifest.get(id)?;
            let is_wanted =
                topic.origin != TopicOrigin::Derived && selection.topics.contains(id);
            if !is_wanted {
                if let Some(whole) = &mut whole
                    && topic.origin != TopicOrigin::Derived
                {
                    whole.keep(stream, None);
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
                    let words = ros2::words(&metadata, is_latched);
                    writer.channel(name, schema, encoding, words)?
                }
                None => {
                    let numbers =
                        whole.as_ref().and_then(|whole| whole.numbers(stream));
                    let same = numbers.and_then(|numbers| {
                        same_channel(writer, topic, numbers, &metadata)
                    });
                    if let Some(whole) = &mut whole {
                        whole.keep(stream, same.as_ref().map(|_| id));
                    }
                    match same {
                        Some((same, declarations)) => {
                            if let Some(whole) = &mut whole {
                                whole.declare(declarations);
                            }
                            same
                        }
                        None => {
                            let schema = schema(writer, manifest, topic)?;
                            writer.channel(name, schema, &topic.encoding, metadata)?
                        }
                    }
                }
            };
            let envelope = topic.envelope;
            let taking = Taking { channel, envelope, is_mcap, sequence: 0 };
            channels.insert((id, stream), taking);
        }
        let topics = manifest.topics.iter();
        let is_derived = topics.map(|topic| topic.origin == TopicOrigin::Derived);
        let translations = translations.into_iter();
        let translations = translations.map(|(id, one)| (id, one.transcoder));
        Ok(Self {
            channels,
            is_derived: is_derived.collect(),
            translations: translations.collect(),
            left_out: Vec::new(),
            attached: Vec::new(),
            shift: ClockTransform::default(),
            whole,
        })
    }
}

/// A channel of `topic` that has the same numbers as in another file: its own, and that of its
/// schema; and what is declared of both.
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
            encoding: topic.metadata.get(SCHEMA_ENCODING)?.clone(),
            data: topic.definition_bytes().to_vec(),
        };
        declarations.push(Declaration::of_schema(&schema));
        writer.same_schema(schema)?;
    }
    let (name, encoding) = (topic.name.clone(), topic.encoding.clone());
    let metadata = metadata.clone();
    let channel = Channel { id, schema, topic: name, encoding, metadata };
    declarations.push(Declaration::of_channel(&channel));
    Some((writer.same_channel(channel)?, declarations))
}

/// The schema of `topic`, as it is; none where nothing is told of it.
fn schema<W: Output>(
    writer: &mut Writer<W>,
    manifest: &Manifest,
    topic: &Topic,
) -> Result<SchemaHandle> {
    let encoding = schema_encoding(manifest, topic)?;
    let definition = topic.definition_bytes();
    if topic.type_name.is_empty() && definition.is_empty() {
        return Ok(SchemaHandle::default());
    }
    writer.schema(&topic.type_name, &encoding, definition)
}

/// How the messages are translated of those topics of `extract` that are wanted, if they
/// are to be translated.
fn translations(
    extract: &LogSlice<'_>,
    options: &WriteOptions,
) -> Result<BTreeMap<TopicId, Translation>> {
    let Some(encoding) = &options.transcode else { return Ok(BTreeMap::new()) };
    let wanted = extract.manifest.topics().filter(|(id, topic)| {
        topic.origin != TopicOrigin::Derived && extract.selection.topics.contains(*id)
    });
    let translations = wanted
        .map(|(id, topic)| Ok(Translation::of(topic, encoding)?.map(|one| (id, one))));
    translations.filter_map(Result::transpose).collect()
}

/// The streams of `manifest`: their numbers, topics, and what is told of them. A topic
/// that has none is one.
fn streams(manifest: &Manifest) -> Vec<(u32, TopicId, BTreeMap<String, String>)> {
    let told = (0..).zip(&manifest.streams);
    let mut all: Vec<_> =
        told.map(|(number, stream)| (number, stream.topic, words(stream))).collect();
    let has_streams: TopicSet =
        manifest.streams.iter().map(|stream| stream.topic).collect();
    let without = manifest.topics().filter(|(id, _)| !has_streams.contains(*id));
    all.extend(without.map(|(id, _)| (0, id, BTreeMap::new())));
    all
}

/// What a channel's metadata say of `stream`: all but what the channel says itself.
fn words(stream: &Stream) -> BTreeMap<String, String> {
    let told = stream.metadata.iter();
    let told = told.filter(|(key, _)| !STREAM_KEYS.contains(&key.as_str()));
    let told = told.filter_map(|(key, value)| match value {
        Value::Text(text) => Some((key.clone(), text.clone())),
        _ => None,
    });
    told.collect()
}

/// How the schema of `topic` is written.
fn schema_encoding(manifest: &Manifest, topic: &Topic) -> Result<String> {
    if let Some(told) = topic.metadata.get(SCHEMA_ENCODING) {
        return Ok(told.clone());
    }
    match topic.encoding.as_str() {
        "ros1" => Ok("ros1msg".to_owned()),
        encoding => {
            let (label, format) = (topic.label(), &manifest.format);
            let what = format!(
                "the topic {label:?} of a {format} log in an MCAP file: its encoding, \
                 {encoding:?}, is none that MCAP knows"
            );
            Err(Error::new(ErrorKind::Unsupported, what))
        }
    }
}
