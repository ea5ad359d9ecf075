//! Determining the columns of the points of a topic from some of its messages.
//!
//! The fields are declared only in the messages, and messages of one topic may have different
//! fields, because several drivers publish it, or because the configuration of the driver changed.
//! Determining all fields would require reading all messages twice. So a short log is inspected
//! completely; in a long log, some consecutive parts are inspected at several positions. This
//! covers a driver that publishes alternately with another, and one that starts late.

use logtool_core::{Block, Cursor, Log, ReadAhead, Result, Selection, TopicId};

use crate::{
    derived_topics::kind::Derivation, message_compression::MAX_DECOMPRESSED_BYTES,
    points::PointSchema,
};

/// The number of positions in a log at which parts are inspected.
const POSITIONS: usize = 8;

/// The number of consecutive parts that are inspected at each position.
const PARTS_PER_POSITION: usize = 4;

/// The number of bytes of messages in a part after which its inspection ends.
const MAX_PART_BYTES: usize = 16 << 20;

/// Returns the columns of the points of the topic `id` of `log`, or `None` if no message has any.
pub(super) fn point_schema(
    derivation: &Derivation,
    log: &dyn Log,
    id: TopicId,
) -> Result<Option<PointSchema>> {
    let topics = [id].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let parts = log.manifest().plan(&selection, 0);
    let mut remaining_parts = parts.iter().enumerate();
    let mut inspection = Inspection { derivation, point_schema: None, part_bytes: 0 };
    // The parts up to the first message with columns are inspected in any case.
    while inspection.point_schema.is_none()
        && let Some((_, part)) = remaining_parts.next()
    {
        inspection.inspect_part(&mut *log.read(part, &selection)?)?;
    }
    let inspected_parts = remaining_parts
        .filter(|(index, _)| is_inspected(*index, parts.len()))
        .map(|(_, part)| part.clone())
        .collect();
    let mut read_ahead = ReadAhead::new(log, inspected_parts, selection);
    let mut block = Block::default();
    while !read_ahead.is_done() {
        match read_ahead.fill_part(&mut block) {
            Ok(true) if !inspection.add_block(&block) => {}
            Ok(true) => {
                read_ahead.skip_part();
                inspection.part_bytes = 0;
            }
            // Unreadable messages are reported when they are decoded; here they are ignored.
            Ok(false) | Err(_) => inspection.part_bytes = 0,
        }
    }
    Ok(inspection.point_schema)
}

/// Returns whether the part with this `index` is inspected in a log with this number of parts.
fn is_inspected(index: usize, part_count: usize) -> bool {
    if part_count <= POSITIONS * PARTS_PER_POSITION {
        return true;
    }
    let last_start = part_count - PARTS_PER_POSITION;
    (0..POSITIONS)
        .map(|position| last_start * position / (POSITIONS - 1))
        .any(|start| (start..start + PARTS_PER_POSITION).contains(&index))
}

/// The state of an inspection.
struct Inspection<'d> {
    derivation: &'d Derivation,
    point_schema: Option<PointSchema>,
    /// The number of bytes that were inspected in the current part.
    part_bytes: usize,
}

impl Inspection<'_> {
    /// Inspects the messages of `cursor`, which reads a part, until the limit is reached.
    fn inspect_part(&mut self, cursor: &mut dyn Cursor) -> Result<()> {
        let mut block = Block::default();
        while cursor.fill(&mut block)? && !self.add_block(&block) {}
        self.part_bytes = 0;
        Ok(())
    }

    /// Adds the columns of the messages in `block`; returns whether the limit is reached.
    fn add_block(&mut self, block: &Block) -> bool {
        for record in block.iter() {
            let Derivation { encoding, .. } = self.derivation;
            let message = encoding
                .message(record.payload, MAX_DECOMPRESSED_BYTES)
                .unwrap_or_default();
            self.part_bytes = self.part_bytes.saturating_add(message.len());
            if let Some(message_schema) = self.derivation.point_schema_of(&message) {
                match &mut self.point_schema {
                    Some(point_schema) => point_schema.merge(&message_schema),
                    None => self.point_schema = Some(message_schema),
                }
            }
            if self.part_bytes >= MAX_PART_BYTES && self.point_schema.is_some() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_log_is_inspected_completely_and_long_log_at_all_positions() {
        let inspected_parts = |parts: usize| -> Vec<usize> {
            (0..parts).filter(|index| is_inspected(*index, parts)).collect()
        };
        for parts in [0, 1, 4, 32] {
            assert_eq!(inspected_parts(parts).len(), parts);
        }
        for parts in [33, 1_000, 100_000] {
            let inspected = inspected_parts(parts);
            assert!((16..=32).contains(&inspected.len()), "{parts}");
            assert_eq!(inspected[..4], [0, 1, 2, 3]);
            assert_eq!(inspected.last(), Some(&(parts - 1)));
        }
    }
}
