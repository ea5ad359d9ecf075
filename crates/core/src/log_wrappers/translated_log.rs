//! A log as another encoding has it: a log like any other, whose records are made of those
//! of the log beneath as they are read.
//!
//! So a writer of logs meets records that it can take as they are, in whatever order they
//! are read or merged, and what makes them runs on all cores, where reading does.

mod context;
mod cursor;
mod message_buffer;
mod row_groups;
mod row_translator;
mod source_reader;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

use crate::{
    decode::raw_decoder::RawDecoder,
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log, RowGroup},
    log_wrappers::translated_log::{
        context::{InTurn, Making},
        row_groups::Groups,
    },
    model::{
        manifest::{Manifest, Part, Selection},
        time::{Clock, ClockZero},
        topic::{Stream, Topic, TopicId},
    },
    record::block::Run,
};

pub use self::{message_buffer::MessageBuffer, row_translator::RowTranslator};

/// Parts with groups are as long together as this, or as one is: what is read twice is a part
/// of the log beneath and some of the next.
const PART_BYTES: u64 = 1 << 20;

/// Makes records of one topic into messages of another.
pub trait Translate: Send {
    /// From now on, makes messages only of the groups of rows with these numbers: the others are
    /// made by who reads the part in which they begin. Told of topics with
    /// [groups](TranslatedLog::in_groups), and before all else.
    fn only(&mut self, groups: Range<u32>) {
        let _ = groups;
    }

    /// Adds to `messages` what the records of `run` become: of each none, one or several.
    ///
    /// # Errors
    /// Whatever ends the reading. A record that is not what its topic says does not: it is
    /// [told](Messages::lose).
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()>;

    /// Adds what is still to be told when a part of the log is at its end: of who makes
    /// messages of several records. They are of the time of the last record, or of
    /// [their own](Messages::end_at).
    ///
    /// # Errors
    /// As of [`translate`](Self::translate).
    fn finish(&mut self, messages: &mut MessageBuffer) -> Result<()> {
        let _ = messages;
        Ok(())
    }
}

/// A topic of the new log, and how its records are made.
#[derive(Clone)]
pub struct Translation {
    /// The topic beneath.
    pub from: TopicId,
    /// The new one.
    pub topic: Topic,
    /// Begins to translate; each reader of a part does.
    pub begin: Arc<dyn Fn() -> Result<Box<dyn Translate>> + Send + Sync>,
}

/// See the module.
pub struct TranslatedLog {
    manifest: Manifest,
    making: Making,
}

/// The streams of topics by those that they are made of.
type Streams = BTreeMap<(TopicId, u32), u32>;

impl TranslatedLog {
    /// `log` with the topics of `translations` instead of its own, each record
    /// `offset_nanos` later than it was; with `is_unix` that is Unix time. Each topic is
    /// one stream, of which is told what the topic's metadata say.
    ///
    /// Damage that is met names topics of `log`.
    pub fn new(
        log: Arc<dyn Log>,
        translations: Vec<Translation>,
        offset_nanos: i64,
        is_unix: bool,
    ) -> Self {
        let beneath = log.manifest();
        let ids = || (0..).map(TopicId);
        let becoming = Becoming::new(beneath.topics.len(), &translations);
        let parts = beneath.parts.iter();
        let parts = parts.map(|part| becoming.moved(part, offset_nanos));
        let streams = ids().zip(&translations).map(|(id, one)| one.stream(id));
        let reach = ids().zip(&translations);
        let reach = reach
            .filter_map(|(id, one)| Some((id, *beneath.time_margins.get(&one.from)?)));
        let unix = Clock { zero: ClockZero::Unix, to_unix: None };
        let manifest = Manifest {
            format: beneath.format.clone(),
            bytes: beneath.bytes,
            access: beneath.access,
            topics: translations.iter().map(|one| one.topic.clone()).collect(),
            streams: streams.collect(),
            parts: parts.collect(),
            time_margins: reach.collect(),
            clock: if is_unix { unix } else { beneath.clock.clone() },
            time: beneath.time.map(|time| time.shifted_by(offset_nanos)),
            oldest: beneath.oldest.map(|time| time.shifted_by(offset_nanos)),
            metadata: beneath.metadata.clone(),
            damage: beneath.damage.clone(),
            remarks: beneath.remarks.clone(),
            format_state: String::new(),
        };
        let making = Making {
            log,
            translations: translations.into(),
            offset: offset_nanos,
            groups: None,
            streams: Default::default(),
        };
        Self { manifest, making }
    }

    /// The same with the streams that the log beneath has, of each topic those of the one
    /// that it is made of, and what is told of them: for messages one for one.
    #[must_use]
    pub fn with_streams(mut self) -> Self {
        let (mut all, mut streams) = (Vec::new(), Streams::new());
        let beneath = self.making.log.manifest();
        let becoming = Becoming::new(beneath.topics.len(), &self.making.translations);
        let told = (0..).zip(&beneath.streams);
        let made = told.flat_map(|(old, stream)| {
            let made = becoming.of(stream.topic).iter();
            made.map(move |id| (*id, old, stream))
        });
        let mut made: Vec<(TopicId, u32, &Stream)> = made.collect();
        made.sort_by_key(|(id, old, _)| (*id, *old));
        for (id, old, stream) in made {
            streams.insert((id, old), all.len() as u32);
            all.push(Stream { topic: id, ..stream.clone() });
        }
        for (id, topic) in (0..).map(TopicId).zip(&mut self.manifest.topics) {
            let latched =
                topic.latched.iter().filter_map(|old| streams.get(&(id, *old)));
            topic.latched = latched.copied().collect();
        }
        (self.manifest.streams, self.making.streams) = (all, Arc::new(streams));
        self
    }

    /// The same in one part: where messages are made of several records, which may lie in
    /// different parts. It lets go of what is read as it goes.
    #[must_use]
    pub fn in_one_part(mut self) -> Self {
        let parts = std::mem::take(&mut self.manifest.parts);
        self.manifest.parts =
            parts.into_iter().reduce(Part::with).into_iter().collect();
        self.making.groups = Some(Arc::default());
        self
    }

    /// The same in parts that can be read one without the other, where messages are made of the
    /// rows of [groups](Log::groups): these, of topics beneath. Each is made by who reads the
    /// part in which it begins, and is of its time. It lets go of what is read as it goes.
    #[must_use]
    pub fn in_groups(self, groups: BTreeMap<TopicId, Vec<RowGroup>>) -> Self {
        self.in_groups_of(groups, PART_BYTES)
    }

    fn in_groups_of(
        mut self,
        groups: BTreeMap<TopicId, Vec<RowGroup>>,
        part_bytes: u64,
    ) -> Self {
        let groups = Groups::new(groups);
        let grouped = groups.topics();
        let Making { log, translations, offset, .. } = &self.making;
        let froms = translations.iter().map(|one| one.from);
        let others = froms.filter(|from| !grouped.contains(*from)).collect();
        let becoming = Becoming::new(log.manifest().topics.len(), translations);
        let parts = groups.parts(&**log, &others, part_bytes).into_iter();
        let parts = parts.map(|part| becoming.moved(&part, *offset));
        self.manifest.parts = parts.collect();
        for (id, one) in self.making.topics() {
            if grouped.contains(one.from) {
                self.manifest.time_margins.remove(&id); // messages are of the times of their parts
            }
        }
        self.making.groups = Some(Arc::new(groups));
        self
    }
}

impl Log for TranslatedLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        if self.making.groups.is_none() {
            return Ok(Box::new(self.making.read(part, selection)?));
        }
        let all = &self.manifest.parts;
        let first = all.partition_point(|own| own.bytes.start < part.bytes.start);
        let parts = all.iter().skip(first);
        let parts = parts.take_while(|own| own.bytes.end <= part.bytes.end);
        let (making, parts) = (self.making.clone(), parts.cloned().collect());
        Ok(Box::new(InTurn::new(making, parts, selection.clone())))
    }

    /// The bytes of the messages: to decode is for the new log's format.
    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.manifest.get(topic)?;
        Ok(Box::new(RawDecoder::new("ns", columns)?))
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.making.log.source()
    }
}

/// Maps each topic of the source log to the topics that are made from it.
struct Becoming {
    of_topics: Vec<Vec<TopicId>>,
}

impl Becoming {
    fn new(topics: usize, translations: &[Translation]) -> Self {
        let mut of_topics = vec![Vec::new(); topics];
        for (id, one) in (0..).map(TopicId).zip(translations) {
            if let Some(made) = of_topics.get_mut(one.from.index()) {
                made.push(id);
            }
        }
        Self { of_topics }
    }

    /// The topics that are made of `topic`.
    fn of(&self, topic: TopicId) -> &[TopicId] {
        self.of_topics.get(topic.index()).map_or(&[], Vec::as_slice)
    }

    /// Converts a part of the source log to the new log, `offset_nanos` later.
    fn moved(&self, part: &Part, offset_nanos: i64) -> Part {
        let held = part.topics.ids(self.of_topics.len());
        Part {
            bytes: part.bytes.clone(),
            topics: held.flat_map(|id| self.of(id)).copied().collect(),
            time: part.time.shifted_by(offset_nanos),
        }
    }
}

impl Translation {
    fn stream(&self, topic: TopicId) -> Stream {
        let words = self.topic.metadata.iter();
        let words = words.map(|(key, word)| {
            (key.clone(), crate::model::value::Value::Text(word.clone()))
        });
        Stream { topic, metadata: words.collect() }
    }
}

impl fmt::Debug for TranslatedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranslatedLog")
            .field("offset", &self.making.offset)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Translation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Translation")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}
