//! The cursor that reads and translates records.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;

use crate::{
    error::{Error, ErrorKind, Result},
    io::source::Source,
    log::Cursor,
    log_wrappers::translated_log::{
        MessageBuffer, Streams, Translate, Translation, message_buffer::MessageOrigin,
        row_groups::PartRowGroups, source_reader::SourceReader,
    },
    model::{
        damage::{Damage, DamageKind},
        time::Timestamp,
        topic::TopicId,
    },
    record::block::{Block, Run, TopicSort},
};

/// The number of bytes to read before they are released.
const STRETCH: u64 = 16 << 20;

/// The reason that is reported for a record whose time no new log can represent.
const NO_TIME: &str = "its time is later than 2^63 - 2 ns, or is not known";

/// A cursor that translates the records of a source reader.
pub(super) struct TranslatedCursor {
    reader: SourceReader,
    /// The translators by source topic.
    translators: Vec<TopicTranslators>,
    offset: i64,
    read: Block,
    sort: TopicSort,
    messages: MessageBuffer,
    streams: Arc<Streams>,
    /// The time and the file offset of the last record.
    last: (Timestamp, u64),
    is_at_end: bool,
    /// The source whose bytes are released while they are read, and the end of the
    /// released bytes.
    source: Option<Arc<dyn Source>>,
    released: u64,
}

/// The translators of a source topic.
struct TopicTranslators {
    source_topic: TopicId,
    /// The row groups whose records are needed, if there are row groups.
    part_groups: Option<PartRowGroups>,
    topic_translators: Vec<TopicTranslator>,
}

/// The translator from a source topic to one translated topic.
struct TopicTranslator {
    topic: TopicId,
    new_translator: Arc<CreateTranslator>,
    /// `None` before the first record: a part can have few records of many topics.
    translate: Option<Box<dyn Translate>>,
}

/// Creates a translator.
type CreateTranslator = dyn Fn() -> Result<Box<dyn Translate>> + Send + Sync;

/// A translated message.
struct TranslatedMessage {
    /// The index of the source record.
    source_index: usize,
    topic: TopicId,
    stream: u32,
    /// The time on the new clock.
    time: Timestamp,
    bytes_range: Range<usize>,
}

impl TranslatedCursor {
    /// Creates a cursor that translates the records of `reader` with `translations`.
    /// Topics with row groups are limited to those in `part_groups`.
    pub(super) fn new(
        reader: SourceReader,
        translations: &[(TopicId, &Translation)],
        part_groups: &[(TopicId, PartRowGroups)],
        offset: i64,
        streams: &Arc<Streams>,
    ) -> Self {
        let part_groups: BTreeMap<_, _> = part_groups
            .iter()
            .map(|(topic, part_groups)| (topic, part_groups))
            .collect();
        let mut by_source_topic: BTreeMap<TopicId, TopicTranslators> = BTreeMap::new();
        for (topic, Translation { source_topic, new_translator, .. }) in translations {
            let translators =
                by_source_topic.entry(*source_topic).or_insert_with(|| {
                    TopicTranslators {
                        source_topic: *source_topic,
                        part_groups: part_groups
                            .get(source_topic)
                            .map(|part_groups| (*part_groups).clone()),
                        topic_translators: Vec::new(),
                    }
                });
            let (topic, new_translator) = (*topic, new_translator.clone());
            translators.topic_translators.push(TopicTranslator {
                topic,
                new_translator,
                translate: None,
            });
        }
        let translators = by_source_topic.into_values().collect();
        let (read, sort) = (Block::default(), TopicSort::default());
        let messages = MessageBuffer::default();
        Self {
            reader,
            translators,
            offset,
            read,
            sort,
            messages,
            streams: streams.clone(),
            last: Default::default(),
            is_at_end: false,
            source: None,
            released: 0,
        }
    }

    /// Releases the bytes of `source` from `start` on while they are read.
    pub(super) fn releasing(self, source: Option<Arc<dyn Source>>, start: u64) -> Self {
        Self { source, released: start, ..self }
    }

    fn release(&mut self) {
        let Some(source) = &self.source else { return };
        let (start, end) = (self.released, self.last.1);
        if end.saturating_sub(start) >= STRETCH {
            source.release(start..end);
            self.released = end;
        }
    }

    /// Fills `block` with the remaining messages at the end. Returns whether there are
    /// any.
    fn finish(&mut self, block: &mut Block) -> Result<bool> {
        if std::mem::replace(&mut self.is_at_end, true) {
            return Ok(false);
        }
        let (mut bytes, mut damage, mut translated) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut untimed = Vec::new();
        let (last, at) = self.last;
        let translators = self.translators.iter_mut();
        let translators = translators.flat_map(|translators| {
            translators
                .topic_translators
                .iter_mut()
                .map(|translator| (translators.source_topic, translator))
        });
        for (from, translator) in translators {
            let Some(translate) = &mut translator.translate else { continue };
            translate.finish(&mut self.messages)?;
            self.messages.drain(
                &mut bytes,
                &mut damage,
                |MessageOrigin { time, bytes_range, .. }| {
                    let time = time.unwrap_or(last).shifted_by(self.offset);
                    if time == Timestamp::MAX {
                        let lost = Damage::new(DamageKind::Undecodable, at..at);
                        untimed.push(
                            lost.with_records(1, Some(from)).with_reason(NO_TIME),
                        );
                        return;
                    }
                    let (topic, stream) = (translator.topic, translator.topic.0);
                    translated.push(TranslatedMessage {
                        source_index: 0,
                        topic,
                        stream,
                        time,
                        bytes_range,
                    });
                },
            );
        }
        damage.append(&mut untimed);
        let has_content = !translated.is_empty() || !damage.is_empty();
        fill_block(block, bytes, translated, |_| at)?;
        damage.into_iter().for_each(|damage| block.report(damage));
        Ok(has_content)
    }
}

impl TopicTranslators {
    /// Returns the records of `run` to translate, as runs with the index of their first
    /// record. These are all records of the part itself. In adjacent parts, they are the
    /// records of row groups that start in this part.
    fn runs_to_translate<'r>(
        &self,
        run: Run<'r>,
        is_own: bool,
    ) -> Vec<(usize, Run<'r>)> {
        if is_own {
            return vec![(0, run)];
        }
        let Some(part_groups) = &self.part_groups else { return Vec::new() };
        let needs = |run: &Run<'_>| {
            let first = run.records().next();
            first.is_some_and(|record| {
                part_groups.may_need(record.offset, record.payload.len())
            })
        };
        run.single_record_runs().enumerate().filter(|(_, run)| needs(run)).collect()
    }
}

impl TopicTranslator {
    /// Returns the translator, and creates it if necessary. It is restricted to the row
    /// groups in `part_groups`.
    fn get_or_create(
        &mut self,
        part_groups: Option<&PartRowGroups>,
    ) -> Result<&mut dyn Translate> {
        let translate = match self.translate.take() {
            Some(translate) => translate,
            None => {
                let mut translate = (self.new_translator)()?;
                if let Some(groups) = part_groups {
                    translate.restrict_to(groups.numbers.clone());
                }
                translate
            }
        };
        Ok(&mut **self.translate.insert(translate))
    }
}

/// Fills `block` with the messages `translated`, which are in `bytes` in the same order. `at`
/// returns the file offset of a source record.
fn fill_block(
    block: &mut Block,
    bytes: Vec<u8>,
    translated: Vec<TranslatedMessage>,
    at: impl Fn(usize) -> u64,
) -> Result<()> {
    check_len(bytes.len())?;
    let starts_and_offsets = translated.iter().map(|translated| {
        (translated.bytes_range.start as u32, at(translated.source_index))
    });
    block.reset_gathered(Bytes::from(bytes), starts_and_offsets.collect());
    let mut translated = translated;
    translated.sort_by_key(|translated| translated.source_index);
    for translated in translated {
        block.push_from_stream(
            translated.topic,
            translated.stream,
            translated.time,
            translated.bytes_range,
        );
    }
    Ok(())
}

/// Checks that the messages of one block of records fit in one block, even if it is
/// copied.
fn check_len(len: usize) -> Result<()> {
    match u32::try_from(len) {
        Ok(len) if len < u32::MAX => Ok(()),
        _ => {
            let message = format!("records become {len} bytes of messages at once");
            Err(Error::new(ErrorKind::Limit, message))
        }
    }
}

impl Cursor for TranslatedCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        if !self.reader.fill(&mut self.read)? {
            return self.finish(block);
        }
        let is_own = self.reader.is_own();
        let Self { translators, offset, read, sort, messages, streams, last, .. } =
            self;
        // The original index of each record: the sort by topic below is stable.
        let mut order: Vec<usize> = (0..read.len()).collect();
        order.sort_by_key(|index| read.get(*index).map(|record| record.topic));
        let (mut bytes, mut translated) = (Vec::new(), Vec::new());
        let mut damage = read.damage().to_vec();
        // The records without a message, because its time cannot be represented.
        let mut untimed = BTreeSet::new();
        let end = read.iter().last().map(|record| (record.time, record.offset));
        *last = end.unwrap_or(*last);
        let mut sorted = read.clone();
        sorted.sort_by_topic(sort);
        let mut before = 0;
        for run in sorted.runs() {
            let indices_to_translate =
                order.get(before..before + run.len()).unwrap_or_default();
            before += run.len();
            let index = translators.binary_search_by_key(&run.topic(), |translators| {
                translators.source_topic
            });
            let Some(translators) = index.ok().and_then(|at| translators.get_mut(at))
            else {
                continue;
            };
            let damage_len = damage.len();
            for (first, run) in translators.runs_to_translate(run, is_own) {
                for translator in &mut translators.topic_translators {
                    translator
                        .get_or_create(translators.part_groups.as_ref())?
                        .translate(run, messages)?;
                    messages.drain(
                        &mut bytes,
                        &mut damage,
                        |MessageOrigin { record, time, bytes_range }| {
                            let Some(index) = indices_to_translate.get(first + record)
                            else {
                                return;
                            };
                            let Some(record) = read.get(*index) else { return };
                            let time = time.unwrap_or(record.time).shifted_by(*offset);
                            if time == Timestamp::MAX {
                                untimed.insert(*index);
                                return;
                            }
                            let topic = translator.topic;
                            let stream = streams.get(&(topic, record.stream)).copied();
                            let stream = stream.unwrap_or(topic.0);
                            translated.push(TranslatedMessage {
                                source_index: *index,
                                topic,
                                stream,
                                time,
                                bytes_range,
                            });
                        },
                    );
                }
            }
            if !is_own {
                damage.truncate(damage_len); // reported when that part is read
            }
        }
        for record in untimed.into_iter().filter_map(|index| read.get(index)) {
            record.undecodable_damage().with_reason(NO_TIME).add_to(&mut damage);
        }
        let at = |index: usize| read.get(index).map_or(0, |record| record.offset);
        fill_block(block, bytes, translated, at)?;
        damage.into_iter().for_each(|damage| block.report(damage));
        if is_own {
            self.release();
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_do_not_fit_in_a_block_are_an_error() {
        assert!(check_len(u32::MAX as usize - 1).is_ok());
        let err = check_len(u32::MAX as usize).map_err(|err| err.kind());
        assert_eq!(err, Err(ErrorKind::Limit));
    }
}
