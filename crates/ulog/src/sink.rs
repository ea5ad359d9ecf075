//! Writing the records of a log into a new one: as they are, none lost.

use std::{collections::BTreeMap, io::Write};

use logtool_core::{
    Error, ErrorKind, Extract, Record, RecordSink, Result, TopicId, TopicOrigin,
    WriteOptions,
};

use crate::{
    notes::Notes,
    registry::Declaration,
    wire::kind,
    write::{TopicHandle, Writer},
};

/// Writes records of the topics of a manifest.
pub(crate) struct UlogSink<W> {
    writer: Writer<W>,
    /// What a record of each topic becomes.
    topics: Vec<Becomes>,
}

/// What a record of a topic becomes in the file.
#[derive(Clone, Copy, Debug)]
enum Becomes {
    /// A data message.
    Data(TopicHandle),
    /// The message that it is.
    Itself,
    /// Nothing: it is made of other records.
    Nothing,
}

impl<W: Write + Send> UlogSink<W> {
    /// Starts a log in `out` that holds what the manifest of the only one of `extracts`
    /// does.
    ///
    /// # Errors
    /// `Unsupported` if there are several, if it is of another format, or for `options`
    /// that a ULog cannot follow.
    pub(crate) fn new(
        out: W,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let unsupported = |what| Err(Error::new(ErrorKind::Unsupported, what));
        let [Extract { manifest, .. }] = extracts else {
            return unsupported("several logs in one ULog");
        };
        if options.compression.is_some() {
            return unsupported("compression of a ULog");
        }
        if !options.rename.is_empty() {
            return unsupported("topics of new names in a ULog");
        }
        if manifest.format != "ulog" {
            let what = format!("records of {} as a ULog", manifest.format);
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let notes = Notes::from_manifest(manifest)?;
        let start = notes.head.start.as_nanos() / 1_000;
        let mut writer = Writer::new(out, u64::try_from(start).unwrap_or(0));
        let mut handles: BTreeMap<TopicId, TopicHandle> = BTreeMap::new();
        for declaration in &notes.declarations {
            match declaration {
                Declaration::Format(name, fields) => {
                    writer
                        .message(kind::FORMAT, format!("{name}:{fields}").as_bytes())?;
                }
                Declaration::Subscription { name, instance, topic, .. } => {
                    if handles.contains_key(topic) {
                        continue;
                    }
                    // There are no more topics than ids: the registry sees to that.
                    let id = u16::try_from(handles.len()).unwrap_or(u16::MAX);
                    handles.insert(*topic, writer.topic_by_id(id));
                    let [low, high] = id.to_le_bytes();
                    let head = [*instance, low, high];
                    let payload = [&head, name.as_bytes()].concat();
                    writer.message(kind::SUBSCRIPTION, &payload)?;
                }
                // A change is a record.
                Declaration::Metadata { change: Some(_), .. } => {}
                Declaration::Metadata { kind, payload, .. } => {
                    writer.message(*kind, payload)?;
                }
            }
        }
        let becomes = |(id, topic): (TopicId, &logtool_core::Topic)| match topic.origin
        {
            TopicOrigin::Logged => handles
                .get(&id)
                .map_or(Becomes::Nothing, |handle| Becomes::Data(*handle)),
            TopicOrigin::BuiltIn => Becomes::Itself,
            TopicOrigin::Derived => Becomes::Nothing,
        };
        let topics = manifest.topics().map(becomes).collect();
        Ok(Self { writer, topics })
    }
}

impl<W: Write + Send> RecordSink for UlogSink<W> {
    fn write(&mut self, _: usize, record: Record<'_>) -> Result<()> {
        match self.topics.get(record.topic.index()) {
            Some(Becomes::Data(topic)) => {
                let micros = u64::try_from(record.time.as_nanos()).unwrap_or(0) / 1_000;
                self.writer.data(*topic, micros, record.payload).map(drop)
            }
            Some(Becomes::Itself) => match record.payload.split_first() {
                Some((kind, payload)) => self.writer.message(*kind, payload),
                None => {
                    Err(Error::new(ErrorKind::Malformed, "a message without a type"))
                }
            },
            Some(Becomes::Nothing) => Ok(()),
            None => {
                let what = format!("the log has no topic number {}", record.topic.0);
                Err(Error::new(ErrorKind::NoSuch, what))
            }
        }
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().map(drop)
    }
}
