//! Translating a log into another encoding: the records of the translated log are created
//! from those of a source log while it is read.
//!
//! So a writer gets records that it can write unchanged, whether they are read in order
//! or merged, and the translation runs on all cores, like reading.

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
    log::{Columns, Cursor, Decoder, Log, RowGroup, without_excerpts},
    log_wrappers::translated_log::{
        context::{ChainedCursor, TranslationContext},
        row_groups::RowGroups,
    },
    model::{
        excerpt::Excerpt,
        manifest::{Manifest, Part, Selection},
        time::Clock,
        topic::{MetadataKeys, Stream, Topic, TopicId},
    },
    record::block::Run,
};

pub use self::{message_buffer::MessageBuffer, row_translator::RowTranslator};

/// The minimum size of parts with row groups in bytes, unless a single part is longer.
/// For each part, some of the next part of the source log is read twice.
const PART_BYTES: u64 = 1 << 20;

/// A translator from the records of one topic to messages of another.
pub trait Translate: Send {
    /// Restricts the translation to the row groups with these indices: the others are
    /// translated with the part in which they start. This is called first, and only for
    /// topics with [row groups](TranslatedLog::with_row_groups).
    fn restrict_to(&mut self, groups: Range<u32>) {
        let _ = groups;
    }

    /// Appends the messages of the records in `run` to `messages`: none, one or several
    /// per record.
    ///
    /// # Errors
    /// Errors of reading. A record that does not match its topic is not an error: it is
    /// [reported](MessageBuffer::discard).
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()>;

    /// Appends the remaining messages at the end of a part, for translators that combine
    /// several records. The messages get the time of the last record, or [their
    /// own](MessageBuffer::end_message_at).
    ///
    /// # Errors
    /// Like [`translate`](Self::translate).
    fn finish(&mut self, messages: &mut MessageBuffer) -> Result<()> {
        let _ = messages;
        Ok(())
    }
}

/// A topic of the translated log, and how its messages are created.
#[derive(Clone)]
pub struct Translation {
    /// The topic of the source log.
    pub source_topic: TopicId,
    /// The topic of the translated log.
    pub topic: Topic,
    /// Creates a translator. Each reader of a part calls it.
    pub new_translator: Arc<dyn Fn() -> Result<Box<dyn Translate>> + Send + Sync>,
}

/// A log translated into another encoding.
pub struct TranslatedLog {
    manifest: Manifest,
    context: TranslationContext,
}

/// The streams of the translated log, by translated topic and source stream.
type Streams = BTreeMap<(TopicId, u32), u32>;

impl TranslatedLog {
    /// Returns `log` with the topics of `translations` instead of its own. `offset_nanos`
    /// is added to each time, on the clock of `log`. Each topic has one stream with the metadata
    /// of the topic.
    ///
    /// Damage found while reading refers to the topics of `log`.
    pub fn new(
        log: Arc<dyn Log>,
        translations: Vec<Translation>,
        offset_nanos: i64,
    ) -> Self {
        let source_manifest = log.manifest();
        let ids = || (0..).map(TopicId);
        let topic_map = TopicMap::new(source_manifest.topics.len(), &translations);
        let parts = source_manifest.parts.iter();
        let parts = parts.map(|part| topic_map.to_translated(part, offset_nanos));
        let streams =
            ids().zip(&translations).map(|(id, translation)| translation.stream(id));
        let margins = ids().zip(&translations);
        let margins = margins.filter_map(|(id, translation)| {
            Some((id, *source_manifest.time_margins.get(&translation.source_topic)?))
        });
        let manifest = Manifest {
            format: source_manifest.format.clone(),
            bytes: source_manifest.bytes,
            access: source_manifest.access,
            topics: translations
                .iter()
                .map(|translation| translation.topic.clone())
                .collect(),
            streams: streams.collect(),
            parts: parts.collect(),
            time_margins: margins.collect(),
            clock: source_manifest.clock.clone(),
            time: source_manifest.time.map(|time| time.shifted_by(offset_nanos)),
            oldest: source_manifest.oldest.map(|time| time.shifted_by(offset_nanos)),
            metadata: source_manifest.metadata.clone(),
            damage: source_manifest.damage.clone(),
            remarks: source_manifest.remarks.clone(),
            format_state: String::new(),
        };
        let context = TranslationContext {
            log,
            translations: translations.into(),
            offset: offset_nanos,
            groups: None,
            streams: Default::default(),
        };
        Self { manifest, context }
    }

    /// Sets the clock of the translated times. The default is the clock of the source log.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.manifest.clock = clock;
        self
    }

    /// Keeps the streams of the source log, with their metadata, for each translated
    /// topic. This is for translations that create one message per record.
    #[must_use]
    pub fn with_streams(mut self) -> Self {
        let (mut renumbered, mut streams) = (Vec::new(), Streams::new());
        let source_manifest = self.context.log.manifest();
        let topic_map =
            TopicMap::new(source_manifest.topics.len(), &self.context.translations);
        let old_streams = (0..).zip(&source_manifest.streams);
        let new_streams = old_streams.flat_map(|(old, stream)| {
            let ids = topic_map.translated_topics(stream.topic).iter();
            ids.map(move |id| (*id, old, stream))
        });
        let mut new_streams: Vec<(TopicId, u32, &Stream)> = new_streams.collect();
        new_streams.sort_by_key(|(id, old, _)| (*id, *old));
        for (id, old, stream) in new_streams {
            streams.insert((id, old), renumbered.len() as u32);
            renumbered.push(Stream { topic: id, ..stream.clone() });
        }
        for (id, topic) in (0..).map(TopicId).zip(&mut self.manifest.topics) {
            let latched =
                topic.latched.iter().filter_map(|old| streams.get(&(id, *old)));
            topic.latched = latched.copied().collect();
        }
        (self.manifest.streams, self.context.streams) = (renumbered, Arc::new(streams));
        self
    }

    /// Joins all parts into one, for messages that combine records of different parts.
    /// The bytes are released while the part is read.
    #[must_use]
    pub fn with_one_part(mut self) -> Self {
        let parts = std::mem::take(&mut self.manifest.parts);
        self.manifest.parts =
            parts.into_iter().reduce(Part::extended_by).into_iter().collect();
        self.context.groups = Some(Arc::default());
        self
    }

    /// Splits the log into parts that can be read independently, if messages combine the
    /// rows of [row groups](Log::groups), which are passed by source topic. Each group is
    /// translated with the part in which it starts, and its message has a time of that
    /// part. The bytes are released while a part is read.
    #[must_use]
    pub fn with_row_groups(self, groups: BTreeMap<TopicId, Vec<RowGroup>>) -> Self {
        self.parts_of_groups(groups, PART_BYTES)
    }

    fn parts_of_groups(
        mut self,
        groups: BTreeMap<TopicId, Vec<RowGroup>>,
        part_bytes: u64,
    ) -> Self {
        let groups = RowGroups::new(groups);
        let grouped = groups.topics();
        let TranslationContext { log, translations, offset, .. } = &self.context;
        let source_topics =
            translations.iter().map(|translation| translation.source_topic);
        let ungrouped =
            source_topics.filter(|topic| !grouped.contains(*topic)).collect();
        let topic_map = TopicMap::new(log.manifest().topics.len(), translations);
        let parts = groups.parts(&**log, &ungrouped, part_bytes).into_iter();
        let parts = parts.map(|part| topic_map.to_translated(&part, *offset));
        self.manifest.parts = parts.collect();
        for (id, translation) in self.context.topics() {
            if grouped.contains(translation.source_topic) {
                self.manifest.time_margins.remove(&id); // messages have the times of their parts
            }
        }
        self.context.groups = Some(Arc::new(groups));
        self
    }
}

impl Log for TranslatedLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        if self.context.groups.is_none() {
            return Ok(Box::new(self.context.read(part, selection)?));
        }
        let parts_in_order = &self.manifest.parts;
        let first = parts_in_order
            .partition_point(|part_groups| part_groups.bytes.start < part.bytes.start);
        let parts = parts_in_order.iter().skip(first);
        let parts =
            parts.take_while(|part_groups| part_groups.bytes.end <= part.bytes.end);
        let (context, parts) = (self.context.clone(), parts.cloned().collect());
        Ok(Box::new(ChainedCursor::new(context, parts, selection.clone())))
    }

    /// Returns a decoder of the messages as bytes. Only the target format can decode them
    /// further.
    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.manifest.topic(topic)?;
        Ok(Box::new(RawDecoder::new("ns", columns)?))
    }

    fn excerpt(&self, _: &Selection, _: &[Part]) -> Result<Excerpt> {
        Err(without_excerpts())
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.context.log.source()
    }
}

/// Maps each topic of the source log to the topics that are created from it.
struct TopicMap {
    by_source_topic: Vec<Vec<TopicId>>,
}

impl TopicMap {
    fn new(topics: usize, translations: &[Translation]) -> Self {
        let mut by_source_topic = vec![Vec::new(); topics];
        for (id, translation) in (0..).map(TopicId).zip(translations) {
            if let Some(ids) = by_source_topic.get_mut(translation.source_topic.index())
            {
                ids.push(id);
            }
        }
        Self { by_source_topic }
    }

    /// Returns the topics that are created from `topic`.
    fn translated_topics(&self, topic: TopicId) -> &[TopicId] {
        self.by_source_topic.get(topic.index()).map_or(&[], Vec::as_slice)
    }

    /// Converts a part of the source log to the translated log, `offset_nanos` later.
    fn to_translated(&self, part: &Part, offset_nanos: i64) -> Part {
        let ids = part.topics.ids(self.by_source_topic.len());
        Part {
            bytes: part.bytes.clone(),
            topics: ids.flat_map(|id| self.translated_topics(id)).copied().collect(),
            time: part.time.shifted_by(offset_nanos),
        }
    }
}

impl Translation {
    fn stream(&self, topic: TopicId) -> Stream {
        let texts = self.topic.metadata.iter();
        let texts = texts.map(|(key, text)| {
            (key.clone(), crate::model::value::Value::Text(text.clone()))
        });
        Stream { topic, metadata: texts.collect(), metadata_keys: MetadataKeys::Format }
    }
}

impl fmt::Debug for TranslatedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranslatedLog")
            .field("offset", &self.context.offset)
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
