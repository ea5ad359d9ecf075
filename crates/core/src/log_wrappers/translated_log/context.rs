//! The context in which the parts of a translated log are read.

use std::{sync::Arc, vec};

use crate::{
    error::Result,
    log::{Cursor, Log},
    log_wrappers::translated_log::{
        StreamMap, Translation, cursor::TranslatedCursor, row_groups::RowGroups,
        source_reader::SourceReader,
    },
    model::{
        manifest::{Part, Selection},
        topic::{TopicId, TopicSet},
    },
    record::block::Block,
};

/// The source log, the translations, and how they are applied.
#[derive(Clone)]
pub(super) struct TranslationContext {
    pub(super) log: Arc<dyn Log>,
    pub(super) translations: Arc<[Translation]>,
    /// Nanoseconds to add to the times of the source log.
    pub(super) offset_nanos: i64,
    /// The row groups for messages that combine several records, if the parts differ from
    /// those of the source log.
    pub(super) row_groups: Option<Arc<RowGroups>>,
    /// The streams of the translated log, if those of the source log are kept.
    pub(super) stream_map: Arc<StreamMap>,
}

/// A cursor over several parts that are read as one. Messages that combine several
/// records are returned at the end of the part in which they start.
pub(super) struct ChainedCursor {
    context: TranslationContext,
    parts: vec::IntoIter<Part>,
    selection: Selection,
    current: Option<TranslatedCursor>,
}

impl TranslationContext {
    /// Iterates over the translated topics and how they are created.
    pub(super) fn topics(&self) -> impl Iterator<Item = (TopicId, &Translation)> {
        (0..).map(TopicId).zip(&*self.translations)
    }

    /// Returns a cursor over the selected messages of `part`.
    pub(super) fn read(
        &self,
        part: &Part,
        selection: &Selection,
    ) -> Result<TranslatedCursor> {
        // Row groups that start in this part can have records in adjacent parts.
        let part_topics = match self.row_groups {
            Some(_) => &TopicSet::All,
            None => &part.topics,
        };
        let translations: Vec<_> = part_topics
            .ids(self.translations.len())
            .filter(|id| selection.topics.contains(*id))
            .filter_map(|id| Some((id, self.translations.get(id.index())?)))
            .collect();
        let topics: TopicSet = translations
            .iter()
            .map(|(_, translation)| translation.source_topic)
            .collect();
        let to_source_clock = self.offset_nanos.saturating_neg();
        let time = selection.time.shifted_by(to_source_clock);
        let part = Part {
            bytes: part.bytes.clone(),
            topics: topics.clone(),
            time: part.time.shifted_by(to_source_clock),
        };
        let part_groups = match &self.row_groups {
            Some(row_groups) => row_groups.part_groups(&topics, &part.bytes),
            None => Vec::new(),
        };
        let selection = Selection { topics, time };
        let reader =
            SourceReader::new(self.log.clone(), &part, selection, &part_groups);
        let cursor = TranslatedCursor::new(
            reader,
            &translations,
            &part_groups,
            self.offset_nanos,
            &self.stream_map,
        );
        let source = self.row_groups.as_ref().map(|_| self.log.source().clone());
        Ok(cursor.with_release(source, part.bytes.start))
    }
}

impl ChainedCursor {
    pub(super) fn new(
        context: TranslationContext,
        parts: Vec<Part>,
        selection: Selection,
    ) -> Self {
        Self { context, parts: parts.into_iter(), selection, current: None }
    }
}

impl Cursor for ChainedCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            if let Some(cursor) = &mut self.current
                && cursor.fill(block)?
            {
                return Ok(true);
            }
            let Some(part) = self.parts.next() else { return Ok(false) };
            self.current = Some(self.context.read(&part, &self.selection)?);
        }
    }
}
