//! What the parts of a translated log are read with.

use std::{sync::Arc, vec};

use crate::{
    error::Result,
    log::{Cursor, Log},
    log_wrappers::translated_log::{
        Streams, Translation, cursor::TranslatedCursor, row_groups::Groups,
        source_reader::Reader,
    },
    model::{
        manifest::{Part, Selection},
        topic::{TopicId, TopicSet},
    },
    record::block::Block,
};

/// See the module.
#[derive(Clone)]
pub(super) struct Making {
    pub(super) log: Arc<dyn Log>,
    pub(super) translations: Arc<[Translation]>,
    /// How much later records are than those beneath, in nanoseconds.
    pub(super) offset: i64,
    /// What messages are made of that are made of several records, if the log is not in the
    /// parts that the one beneath has.
    pub(super) groups: Option<Arc<Groups>>,
    /// What the streams of the log beneath are, if they are told apart.
    pub(super) streams: Arc<Streams>,
}

/// Reads parts that are read as one, one after the other: what is made of several records is
/// told at the end of the part in which it begins.
pub(super) struct InTurn {
    making: Making,
    parts: vec::IntoIter<Part>,
    selection: Selection,
    now: Option<TranslatedCursor>,
}

impl Making {
    /// The topics of the new log, and how their records are made.
    pub(super) fn topics(&self) -> impl Iterator<Item = (TopicId, &Translation)> {
        (0..).map(TopicId).zip(&*self.translations)
    }

    /// A reader of what `selection` wants of `part`.
    pub(super) fn read(
        &self,
        part: &Part,
        selection: &Selection,
    ) -> Result<TranslatedCursor> {
        // Groups that begin in the part may be of records that lie around it.
        let held = match self.groups {
            Some(_) => &TopicSet::All,
            None => &part.topics,
        };
        let ids = held.ids(self.translations.len());
        let ids = ids.filter(|id| selection.topics.contains(*id));
        let wanted =
            ids.filter_map(|id| Some((id, self.translations.get(id.index())?)));
        let wanted: Vec<_> = wanted.collect();
        let topics: TopicSet = wanted.iter().map(|(_, one)| one.from).collect();
        let back = self.offset.saturating_neg();
        let time = selection.time.shifted_by(back);
        let part = Part {
            bytes: part.bytes.clone(),
            topics: topics.clone(),
            time: part.time.shifted_by(back),
        };
        let own = match &self.groups {
            Some(groups) => groups.own(&topics, &part.bytes),
            None => Vec::new(),
        };
        let selection = Selection { topics, time };
        let reader = Reader::new(self.log.clone(), &part, selection, &own);
        let cursor =
            TranslatedCursor::begin(reader, &wanted, &own, self.offset, &self.streams);
        let source = self.groups.as_ref().map(|_| self.log.source().clone());
        Ok(cursor.releasing(source, part.bytes.start))
    }
}

impl InTurn {
    pub(super) fn new(making: Making, parts: Vec<Part>, selection: Selection) -> Self {
        Self { making, parts: parts.into_iter(), selection, now: None }
    }
}

impl Cursor for InTurn {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            if let Some(now) = &mut self.now
                && now.fill(block)?
            {
                return Ok(true);
            }
            let Some(part) = self.parts.next() else { return Ok(false) };
            self.now = Some(self.making.read(&part, &self.selection)?);
        }
    }
}
