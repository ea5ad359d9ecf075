//! Reading a part of the source log, and the required records of adjacent parts.

use std::{ops::Range, sync::Arc, vec};

use crate::{
    error::Result,
    log::{Cursor, Log},
    log_wrappers::translated_log::row_groups::PartRowGroups,
    model::{
        manifest::{Part, Selection},
        topic::TopicId,
    },
    record::block::Block,
};

/// A cursor over a part of the source log and the required records of adjacent parts.
pub(super) struct SourceReader {
    log: Arc<dyn Log>,
    /// The selections for the part itself and for adjacent parts.
    part_groups: Selection,
    adjacent_selection: Selection,
    /// The parts, and whether each is the part itself.
    parts: vec::IntoIter<(Part, bool)>,
    current: Option<Box<dyn Cursor>>,
    is_own: bool,
}

impl SourceReader {
    /// Creates a cursor over the records of `part` in `selection`, and over the records of the
    /// row groups `groups` that start in it.
    pub(super) fn new(
        log: Arc<dyn Log>,
        part: &Part,
        selection: Selection,
        groups: &[(TopicId, PartRowGroups)],
    ) -> Self {
        let topics = groups.iter().map(|(topic, _)| *topic).collect();
        let adjacent_selection = Selection { topics, time: selection.time };
        let records =
            groups.iter().filter_map(|(_, part_groups)| part_groups.records.as_ref());
        let earliest = records.clone().map(|records| *records.start()).min();
        let latest = records.map(|records| *records.end()).max();
        let manifest = log.manifest();
        let parts_in_order = &manifest.parts;
        let before = |offset: u64| {
            parts_in_order.partition_point(|part| part.bytes.start < offset)
        };
        let first = earliest.map(|earliest| {
            let first =
                parts_in_order.partition_point(|part| part.bytes.end <= earliest);
            first..before(part.bytes.start)
        });
        let last = latest.map(|latest| {
            let end = parts_in_order.partition_point(|part| part.bytes.start <= latest);
            before(part.bytes.end)..end
        });
        let adjacent_parts = |parts: Option<Range<usize>>| {
            let parts =
                parts.and_then(|parts| parts_in_order.get(parts)).unwrap_or_default();
            let parts = parts
                .iter()
                .filter(|part| manifest.may_hold(part, &adjacent_selection));
            parts.map(|part| (part.clone(), false)).collect::<Vec<_>>()
        };
        let mut parts = adjacent_parts(first);
        parts.push((part.clone(), true));
        parts.extend(adjacent_parts(last));
        let parts = parts.into_iter();
        Self {
            log,
            part_groups: selection,
            adjacent_selection,
            parts,
            current: None,
            is_own: false,
        }
    }

    /// Returns whether the last block is from the part itself.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }
}

impl Cursor for SourceReader {
    /// Damage is only reported for the part itself.
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            if let Some(cursor) = &mut self.current
                && cursor.fill(block)?
            {
                if !self.is_own {
                    block.take_damage();
                }
                return Ok(true);
            }
            let Some((part, is_own)) = self.parts.next() else { return Ok(false) };
            let selection =
                if is_own { &self.part_groups } else { &self.adjacent_selection };
            self.current = Some(self.log.read(&part, selection)?);
            self.is_own = is_own;
        }
    }
}
