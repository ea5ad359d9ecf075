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
    selection: Selection,
    adjacent_selection: Selection,
    /// The parts, and whether each is the part itself.
    parts: vec::IntoIter<(Part, bool)>,
    /// The cursor over the current part, and whether that is the part itself.
    current: Option<Box<dyn Cursor>>,
    is_own_part: bool,
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
        let record_offsets = groups
            .iter()
            .filter_map(|(_, part_groups)| part_groups.record_offsets.as_ref());
        let first_offset = record_offsets.clone().map(|range| *range.start()).min();
        let last_offset = record_offsets.map(|range| *range.end()).max();
        let manifest = log.manifest();
        let all_parts = &manifest.parts;
        let first_from =
            |offset: u64| all_parts.partition_point(|part| part.bytes.start < offset);
        let preceding_indices = first_offset.map(|first_offset| {
            let first =
                all_parts.partition_point(|part| part.bytes.end <= first_offset);
            first..first_from(part.bytes.start)
        });
        let following_indices = last_offset.map(|last_offset| {
            let end = all_parts.partition_point(|part| part.bytes.start <= last_offset);
            first_from(part.bytes.end)..end
        });
        let adjacent_parts = |indices: Option<Range<usize>>| -> Vec<(Part, bool)> {
            indices
                .and_then(|indices| all_parts.get(indices))
                .unwrap_or_default()
                .iter()
                .filter(|part| manifest.may_contain_selected(part, &adjacent_selection))
                .map(|part| (part.clone(), false))
                .collect()
        };
        let mut parts = adjacent_parts(preceding_indices);
        parts.push((part.clone(), true));
        parts.extend(adjacent_parts(following_indices));
        Self {
            log,
            selection,
            adjacent_selection,
            parts: parts.into_iter(),
            current: None,
            is_own_part: false,
        }
    }

    /// Returns whether the last block is from the part itself, not from an adjacent part.
    pub(super) fn is_own_part(&self) -> bool {
        self.is_own_part
    }
}

impl Cursor for SourceReader {
    /// Damage is only reported for the part itself.
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            if let Some(cursor) = &mut self.current
                && cursor.fill(block)?
            {
                if !self.is_own_part {
                    block.take_damage();
                }
                return Ok(true);
            }
            let Some((part, is_own_part)) = self.parts.next() else { return Ok(false) };
            let selection =
                if is_own_part { &self.selection } else { &self.adjacent_selection };
            self.current = Some(self.log.read(&part, selection)?);
            self.is_own_part = is_own_part;
        }
    }
}
