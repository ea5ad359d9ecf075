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
        MessageBuffer, StreamMap, Translate, Translation,
        message_buffer::MessageOrigin, row_groups::PartRowGroups,
        source_reader::SourceReader,
    },
    model::{
        damage::{Damage, DamageKind},
        time::Timestamp,
        topic::TopicId,
    },
    record::block::{Block, Run, TopicSort},
};

/// The number of bytes to read before they are released.
const RELEASE_BYTES: u64 = 16 << 20;

/// The reason that is reported for a record whose time cannot be represented in the new log.
const UNREPRESENTABLE_TIME: &str =
    "its time is later than 2^63 - 2 ns, or is not known";

/// A cursor that translates the records of a source reader.
pub(super) struct TranslatedCursor {
    reader: SourceReader,
    /// The translators by source topic.
    translators: Vec<TopicTranslators>,
    /// Nanoseconds to add to the times of the source log.
    offset_nanos: i64,
    /// The block that was read last.
    source_block: Block,
    sort: TopicSort,
    messages: MessageBuffer,
    stream_map: Arc<StreamMap>,
    /// The time and the file offset of the last record.
    last_record: (Timestamp, u64),
    is_at_end: bool,
    /// The source whose bytes are released while they are read, and the end of the
    /// released bytes.
    source: Option<Arc<dyn Source>>,
    released_end: u64,
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
        offset_nanos: i64,
        stream_map: &Arc<StreamMap>,
    ) -> Self {
        let part_groups: BTreeMap<TopicId, &PartRowGroups> =
            part_groups.iter().map(|(topic, groups)| (*topic, groups)).collect();
        let mut by_source_topic: BTreeMap<TopicId, TopicTranslators> = BTreeMap::new();
        for (topic, Translation { source_topic, new_translator, .. }) in translations {
            let translators =
                by_source_topic.entry(*source_topic).or_insert_with(|| {
                    TopicTranslators {
                        source_topic: *source_topic,
                        part_groups: part_groups.get(source_topic).copied().cloned(),
                        topic_translators: Vec::new(),
                    }
                });
            translators.topic_translators.push(TopicTranslator {
                topic: *topic,
                new_translator: new_translator.clone(),
                translate: None,
            });
        }
        Self {
            reader,
            translators: by_source_topic.into_values().collect(),
            offset_nanos,
            source_block: Block::default(),
            sort: TopicSort::default(),
            messages: MessageBuffer::default(),
            stream_map: stream_map.clone(),
            last_record: Default::default(),
            is_at_end: false,
            source: None,
            released_end: 0,
        }
    }

    /// Releases the bytes of `source` from `start` on while they are read.
    pub(super) fn with_release(
        self,
        source: Option<Arc<dyn Source>>,
        start: u64,
    ) -> Self {
        Self { source, released_end: start, ..self }
    }

    /// Releases the bytes before the last record, if there are enough of them.
    fn release(&mut self) {
        let Some(source) = &self.source else { return };
        let (start, end) = (self.released_end, self.last_record.1);
        if end.saturating_sub(start) >= RELEASE_BYTES {
            source.release(start..end);
            self.released_end = end;
        }
    }

    /// Fills `block` with the remaining messages at the end. Returns whether there are
    /// any.
    fn finish(&mut self, block: &mut Block) -> Result<bool> {
        if std::mem::replace(&mut self.is_at_end, true) {
            return Ok(false);
        }
        let (mut bytes, mut translated) = (Vec::new(), Vec::new());
        let (mut damage, mut untimed_damage) = (Vec::new(), Vec::new());
        let (last_time, last_offset) = self.last_record;
        for translators in &mut self.translators {
            let source_topic = translators.source_topic;
            for translator in &mut translators.topic_translators {
                let Some(translate) = &mut translator.translate else { continue };
                translate.finish(&mut self.messages)?;
                let on_message = |MessageOrigin { time, bytes_range, .. }| {
                    let time = time.unwrap_or(last_time).shifted_by(self.offset_nanos);
                    if time == Timestamp::MAX {
                        let range = last_offset..last_offset;
                        untimed_damage.push(
                            Damage::new(DamageKind::Undecodable, range)
                                .with_records(1, Some(source_topic))
                                .with_reason(UNREPRESENTABLE_TIME),
                        );
                        return;
                    }
                    translated.push(TranslatedMessage {
                        source_index: 0,
                        topic: translator.topic,
                        stream: translator.topic.0,
                        time,
                        bytes_range,
                    });
                };
                self.messages.drain(&mut bytes, &mut damage, on_message);
            }
        }
        damage.append(&mut untimed_damage);
        let has_content = !translated.is_empty() || !damage.is_empty();
        fill_block(block, bytes, translated, |_| last_offset)?;
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
        is_own_part: bool,
    ) -> Vec<(usize, Run<'r>)> {
        if is_own_part {
            return vec![(0, run)];
        }
        let Some(part_groups) = &self.part_groups else { return Vec::new() };
        let may_be_needed = |record_run: &Run<'_>| {
            record_run
                .records()
                .any(|record| part_groups.may_need(record.offset, record.payload.len()))
        };
        run.single_record_runs()
            .enumerate()
            .filter(|(_, record_run)| may_be_needed(record_run))
            .collect()
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
                    translate.restrict_to(groups.indices.clone());
                }
                translate
            }
        };
        Ok(&mut **self.translate.insert(translate))
    }
}

/// Fills `block` with the messages `translated`, which are in `bytes` in the same order.
/// `source_offset` returns the file offset of the source record with an index.
fn fill_block(
    block: &mut Block,
    bytes: Vec<u8>,
    mut translated: Vec<TranslatedMessage>,
    source_offset: impl Fn(usize) -> u64,
) -> Result<()> {
    check_len(bytes.len())?;
    let starts_and_offsets = translated.iter().map(|message| {
        (message.bytes_range.start as u32, source_offset(message.source_index))
    });
    block.reset_copied(Bytes::from(bytes), starts_and_offsets.collect());
    translated.sort_by_key(|message| message.source_index);
    for message in translated {
        block.push_from_stream(
            message.topic,
            message.stream,
            message.time,
            message.bytes_range,
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
        if !self.reader.fill(&mut self.source_block)? {
            return self.finish(block);
        }
        let is_own_part = self.reader.is_own_part();
        let Self {
            translators,
            offset_nanos,
            source_block,
            sort,
            messages,
            stream_map,
            last_record,
            ..
        } = self;
        if let Some(record) = source_block.iter().last() {
            *last_record = (record.time, record.offset);
        }
        let mut sorted_block = source_block.clone();
        sorted_block.sort_by_topic(sort);
        // The index in the source block of each record of the sorted block. Both sorts are
        // stable.
        let mut source_indices: Vec<usize> = (0..source_block.len()).collect();
        source_indices
            .sort_by_key(|index| source_block.get(*index).map(|record| record.topic));
        let (mut bytes, mut translated) = (Vec::new(), Vec::new());
        let mut damage = source_block.damage().to_vec();
        // The indices of records with a message whose time cannot be represented.
        let mut untimed_records = BTreeSet::new();
        let mut run_start = 0;
        for run in sorted_block.runs() {
            let run_indices = source_indices
                .get(run_start..run_start + run.len())
                .unwrap_or_default();
            run_start += run.len();
            let Ok(index) = translators
                .binary_search_by_key(&run.topic(), |translators| {
                    translators.source_topic
                })
            else {
                continue;
            };
            let translators = &mut translators[index];
            let damage_len = damage.len();
            for (first, run) in translators.runs_to_translate(run, is_own_part) {
                for translator in &mut translators.topic_translators {
                    translator
                        .get_or_create(translators.part_groups.as_ref())?
                        .translate(run, messages)?;
                    let topic = translator.topic;
                    let on_message = |message: MessageOrigin| {
                        let run_index = first + message.record_index;
                        let Some(index) = run_indices.get(run_index) else { return };
                        let Some(record) = source_block.get(*index) else { return };
                        let time = message.time.unwrap_or(record.time);
                        let time = time.shifted_by(*offset_nanos);
                        if time == Timestamp::MAX {
                            untimed_records.insert(*index);
                            return;
                        }
                        let stream = stream_map.get(&(topic, record.stream));
                        translated.push(TranslatedMessage {
                            source_index: *index,
                            topic,
                            stream: stream.copied().unwrap_or(topic.0),
                            time,
                            bytes_range: message.bytes_range,
                        });
                    };
                    messages.drain(&mut bytes, &mut damage, on_message);
                }
            }
            if !is_own_part {
                damage.truncate(damage_len); // reported when that part is read
            }
        }
        for index in untimed_records {
            if let Some(record) = source_block.get(index) {
                record
                    .undecodable_damage()
                    .with_reason(UNREPRESENTABLE_TIME)
                    .add_to(&mut damage);
            }
        }
        let source_offset =
            |index: usize| source_block.get(index).map_or(0, |record| record.offset);
        fill_block(block, bytes, translated, source_offset)?;
        damage.into_iter().for_each(|damage| block.report(damage));
        if is_own_part {
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
