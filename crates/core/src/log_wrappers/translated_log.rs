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
    log::{Columns, Cursor, Decoder, Log, RowGroup, no_excerpts_error},
    log_wrappers::translated_log::{
        context::{ChainedCursor, TranslationContext},
        row_groups::RowGroups,
    },
    model::{
        excerpt::Excerpt,
        manifest::{Manifest, Part, Selection},
        time::Clock,
        topic::{MetadataKeys, Stream, Topic, TopicId},
        value::Value,
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

/// The stream of the translated log, by translated topic and stream of the source log.
type StreamMap = BTreeMap<(TopicId, u32), u32>;

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
        let topic_map = TopicMap::new(source_manifest.topics.len(), &translations);
        let (mut streams, mut time_margins) = (Vec::new(), BTreeMap::new());
        for (id, translation) in (0..).map(TopicId).zip(&translations) {
            streams.push(translation.stream(id));
            let margin = source_manifest.time_margins.get(&translation.source_topic);
            time_margins.extend(margin.map(|margin| (id, *margin)));
        }
        let manifest = Manifest {
            format: source_manifest.format.clone(),
            bytes: source_manifest.bytes,
            access: source_manifest.access,
            topics: translations
                .iter()
                .map(|translation| translation.topic.clone())
                .collect(),
            streams,
            parts: source_manifest
                .parts
                .iter()
                .map(|part| topic_map.to_translated(part, offset_nanos))
                .collect(),
            time_margins,
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
            offset_nanos,
            row_groups: None,
            stream_map: Default::default(),
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
        let source_manifest = self.context.log.manifest();
        let topic_map =
            TopicMap::new(source_manifest.topics.len(), &self.context.translations);
        let mut sorted_streams: Vec<(TopicId, u32, &Stream)> = Vec::new();
        for (source_stream, stream) in (0..).zip(&source_manifest.streams) {
            for topic in topic_map.translated_topics(stream.topic) {
                sorted_streams.push((*topic, source_stream, stream));
            }
        }
        sorted_streams
            .sort_by_key(|(topic, source_stream, _)| (*topic, *source_stream));
        let (mut streams, mut stream_map) = (Vec::new(), StreamMap::new());
        for (topic, source_stream, stream) in sorted_streams {
            stream_map.insert((topic, source_stream), streams.len() as u32);
            streams.push(Stream { topic, ..stream.clone() });
        }
        for (id, topic) in (0..).map(TopicId).zip(&mut self.manifest.topics) {
            topic.latched = topic
                .latched
                .iter()
                .filter_map(|source_stream| stream_map.get(&(id, *source_stream)))
                .copied()
                .collect();
        }
        self.manifest.streams = streams;
        self.context.stream_map = Arc::new(stream_map);
        self
    }

    /// Joins all parts into one, for messages that combine records of different parts.
    /// The bytes are released while the part is read.
    #[must_use]
    pub fn with_one_part(mut self) -> Self {
        let parts = std::mem::take(&mut self.manifest.parts);
        let joined_part = parts.into_iter().reduce(Part::extended_by);
        self.manifest.parts = joined_part.into_iter().collect();
        self.context.row_groups = Some(Arc::default());
        self
    }

    /// Splits the log into parts that can be read independently, if messages combine the
    /// rows of [row groups](Log::row_groups), which are passed by source topic. Each group is
    /// translated with the part in which it starts, and its message has a time of that
    /// part. The bytes are released while a part is read.
    #[must_use]
    pub fn with_row_groups(self, groups: BTreeMap<TopicId, Vec<RowGroup>>) -> Self {
        self.with_row_groups_in_parts(groups, PART_BYTES)
    }

    fn with_row_groups_in_parts(
        mut self,
        groups: BTreeMap<TopicId, Vec<RowGroup>>,
        part_bytes: u64,
    ) -> Self {
        let row_groups = RowGroups::new(groups);
        let grouped_topics = row_groups.topics();
        let TranslationContext { log, translations, offset_nanos, .. } = &self.context;
        let ungrouped_topics = translations
            .iter()
            .map(|translation| translation.source_topic)
            .filter(|topic| !grouped_topics.contains(*topic))
            .collect();
        let topic_map = TopicMap::new(log.manifest().topics.len(), translations);
        self.manifest.parts = row_groups
            .parts(&**log, &ungrouped_topics, part_bytes)
            .iter()
            .map(|part| topic_map.to_translated(part, *offset_nanos))
            .collect();
        for (id, translation) in self.context.topics() {
            if grouped_topics.contains(translation.source_topic) {
                self.manifest.time_margins.remove(&id); // messages have the times of their parts
            }
        }
        self.context.row_groups = Some(Arc::new(row_groups));
        self
    }
}

impl Log for TranslatedLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        if self.context.row_groups.is_none() {
            return Ok(Box::new(self.context.read(part, selection)?));
        }
        // Each row group is translated with the part in which it starts, so joined parts
        // are read separately.
        let indices = self.manifest.parts_within(&part.bytes);
        let parts = self.manifest.parts.get(indices).unwrap_or_default().to_vec();
        let context = self.context.clone();
        Ok(Box::new(ChainedCursor::new(context, parts, selection.clone())))
    }

    /// Returns a decoder of the messages as bytes. Only the target format can decode them
    /// further.
    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.manifest.topic(topic)?;
        Ok(Box::new(RawDecoder::new("ns", columns)?))
    }

    fn excerpt(&self, _: &Selection, _: &[Part]) -> Result<Excerpt> {
        Err(no_excerpts_error())
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.context.log.source()
    }
}

/// The topics of the translated log that are created from each topic of the source log.
struct TopicMap {
    by_source_topic: Vec<Vec<TopicId>>,
}

impl TopicMap {
    fn new(source_topic_count: usize, translations: &[Translation]) -> Self {
        let mut by_source_topic = vec![Vec::new(); source_topic_count];
        for (id, translation) in (0..).map(TopicId).zip(translations) {
            let source_index = translation.source_topic.index();
            if let Some(topics) = by_source_topic.get_mut(source_index) {
                topics.push(id);
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
        let source_topics = part.topics.ids(self.by_source_topic.len());
        Part {
            bytes: part.bytes.clone(),
            topics: source_topics
                .flat_map(|topic| self.translated_topics(topic))
                .copied()
                .collect(),
            time: part.time.shifted_by(offset_nanos),
        }
    }
}

impl Translation {
    /// Returns the stream of the translated topic, whose id is `topic`.
    fn stream(&self, topic: TopicId) -> Stream {
        let metadata = self
            .topic
            .metadata
            .iter()
            .map(|(key, text)| (key.clone(), Value::Text(text.clone())))
            .collect();
        Stream { topic, metadata, metadata_keys: MetadataKeys::Format }
    }
}

impl fmt::Debug for TranslatedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranslatedLog")
            .field("offset_nanos", &self.context.offset_nanos)
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
