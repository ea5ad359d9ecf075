//! Writing an MCAP file that holds extracts of logs: their messages as they are, each
//! still of its own channel.

use std::collections::BTreeMap;

use logtool_core::{
    Cut, Error, ErrorKind, Extract, Manifest, Output, Record, RecordSink, Result,
    Stream, Timestamp, Topic, TopicId, TopicOrigin, Value, WriteOptions,
};

use crate::{
    chunk::Compression,
    cursor::timestamp,
    messages::SCHEMA_ENCODING,
    notes::{FORMAT_NAME, Notes},
    wire::ENVELOPE,
    write::{ChannelHandle, Writer, WriterOptions},
};

/// Writes messages of the topics of some extracts.
pub(crate) struct McapSink<'w> {
    writer: Writer<Box<dyn Output + 'w>>,
    extracts: Vec<Taken>,
    remarks: Vec<String>,
}

/// An extract of which messages are taken.
struct Taken {
    /// What becomes of each stream of each topic that is wanted.
    channels: BTreeMap<(TopicId, u32), Taking>,
    is_derived: Vec<bool>,
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
        extracts: &[Extract<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        check_names(extracts, options)?;
        let mut writing = WriterOptions::default();
        if let Some(name) = &options.compression {
            writing.compression = named(name)?;
        }
        let noted = extracts.iter().map(|extract| {
            let is_mcap = extract.manifest.format == FORMAT_NAME;
            is_mcap.then(|| extract.manifest.noted::<Notes>(FORMAT_NAME)).transpose()
        });
        let noted = noted.collect::<Result<Vec<_>>>()?;
        writing.profile = profile(extracts, &noted);
        let mut writer = Writer::new(out, writing)?;
        let (mut taken, mut remarks) = (Vec::new(), Vec::new());
        for (extract, notes) in extracts.iter().zip(noted) {
            taken.push(Taken::new(&mut writer, extract, options)?);
            for (name, words) in notes.iter().flat_map(|notes| &notes.metadata) {
                writer.metadata(name, words)?;
            }
            let attached = extract.manifest.metadata.get("attachments");
            if let Some(Value::UInt(attached @ 1..)) = attached {
                remarks
                    .push(format!("files that were attached are left out: {attached}"));
            }
        }
        Ok(Self { writer, extracts: taken, remarks })
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
            Some(told) => told,
            None => {
                taking.sequence = taking.sequence.wrapping_add(1);
                (taking.sequence.wrapping_sub(1), record.time)
            }
        };
        self.writer.write(taking.channel, sequence, record.time, published, data)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop)
    }
}

impl Taking {
    /// The sequence number and the publish time of `record`, if it has them.
    fn envelope_of(&self, record: &Record<'_>) -> Option<(u32, Timestamp)> {
        if !self.is_mcap || self.envelope != ENVELOPE {
            return None;
        }
        let mut cut = Cut::new(record.payload);
        let (sequence, _, published) = (cut.u32()?, cut.u64()?, cut.u64()?);
        Some((sequence, timestamp(published)))
    }
}

impl Taken {
    fn new<W: std::io::Write + std::io::Seek>(
        writer: &mut Writer<W>,
        extract: &Extract<'_>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let Extract { manifest, selection } = extract;
        let mut channels = BTreeMap::new();
        let is_mcap = manifest.format == FORMAT_NAME;
        for (stream, id, metadata) in streams(manifest) {
            let topic = manifest.get(id)?;
            let is_wanted =
                topic.origin != TopicOrigin::Derived && selection.topics.contains(id);
            if !is_wanted {
                continue;
            }
            let name = options.rename.get(&*topic.label()).unwrap_or(&topic.name);
            let schema_encoding = schema_encoding(manifest, topic)?;
            let schema = match topic.type_name.is_empty() && topic.definition.is_empty()
            {
                true => Default::default(),
                false => {
                    let definition = topic.definition.as_bytes();
                    writer.schema(&topic.type_name, &schema_encoding, definition)?
                }
            };
            let channel = writer.channel(name, schema, &topic.encoding, metadata)?;
            let envelope = topic.envelope;
            let taking = Taking { channel, envelope, is_mcap, sequence: 0 };
            channels.insert((id, stream), taking);
        }
        let topics = manifest.topics.iter();
        let is_derived = topics.map(|topic| topic.origin == TopicOrigin::Derived);
        Ok(Self { channels, is_derived: is_derived.collect() })
    }
}

/// The streams of `manifest`: their numbers, topics, and what is told of them. A topic
/// that has none is one.
fn streams(manifest: &Manifest) -> Vec<(u32, TopicId, BTreeMap<String, String>)> {
    let told = (0..).zip(&manifest.streams);
    let mut all: Vec<_> =
        told.map(|(number, stream)| (number, stream.topic, words(stream))).collect();
    for (id, _) in manifest.topics() {
        if !manifest.streams.iter().any(|stream| stream.topic == id) {
            all.push((0, id, BTreeMap::new()));
        }
    }
    all
}

/// What a channel's metadata say of `stream`: all but what the channel says itself.
fn words(stream: &Stream) -> BTreeMap<String, String> {
    let own = ["id", "topic", "type"];
    let told = stream.metadata.iter().filter(|(key, _)| !own.contains(&key.as_str()));
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

/// What a file that holds `extracts` says that it is.
fn profile(extracts: &[Extract<'_>], noted: &[Option<Notes>]) -> String {
    let own = extracts.iter().zip(noted).map(|(extract, notes)| match notes {
        Some(notes) => notes.profile.as_str(),
        None if extract.manifest.format == "rosbag" => "ros1",
        None => "",
    });
    let mut own = own.collect::<Vec<_>>();
    own.dedup();
    match own[..] {
        [one] => one.to_owned(),
        _ => String::new(),
    }
}

/// Checks that there is a topic for every new name, and that it is a name.
fn check_names(extracts: &[Extract<'_>], options: &WriteOptions) -> Result<()> {
    for (label, name) in &options.rename {
        let has = |extract: &Extract<'_>| extract.manifest.topic(label).is_ok();
        if !extracts.iter().any(has) {
            let what = format!("no topic {label:?}, which is to be called {name:?}");
            return Err(Error::new(ErrorKind::NoSuch, what));
        }
    }
    Ok(())
}

/// The compression that is called `name`.
fn named(name: &str) -> Result<Compression> {
    Compression::of(name.as_bytes()).ok_or_else(|| {
        let what = format!(
            "an MCAP file that is packed with {name:?}: \"none\", \"lz4\" or \"zstd\""
        );
        Error::new(ErrorKind::Unsupported, what)
    })
}
