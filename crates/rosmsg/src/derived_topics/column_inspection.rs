//! Determining the columns of the points of a topic from some of its messages.
//!
//! The fields are declared in the messages only, and those of one topic may differ: several drivers
//! may publish it, or one whose configuration changed. Determining all fields would require reading
//! all messages twice. So a short log is inspected completely, and of a long log some consecutive
//! parts are inspected at several places: this finds a driver that publishes alternately with
//! another, or that starts late.

use logtool_core::{Block, Cursor, Log, ReadAhead, Result, Selection, TopicId};

use crate::{
    derived_topics::kind::Derivation, message_compression::MAX_UNPACKED,
    points::PointSchema,
};

/// The number of places where parts are inspected, and the number of consecutive parts at each.
const PLACES: usize = 8;
const NEIGHBOURS: usize = 4;

/// The maximum number of bytes of messages that are inspected in a part.
const BYTES: usize = 16 << 20;

/// Returns the columns of the points of the topic `id` of `log`, or `None` if no message has any.
pub(super) fn point_schema(
    derivation: Derivation,
    log: &dyn Log,
    id: TopicId,
) -> Result<Option<PointSchema>> {
    let topics = [id].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let parts = log.manifest().plan(&selection, 0);
    let mut rest = parts.iter().enumerate();
    let mut inspection = Inspection { derivation, point_schema: None, bytes: 0 };
    while inspection.point_schema.is_none()
        && let Some((_, part)) = rest.next()
    {
        inspection.inspect_part(&mut *log.read(part, &selection)?)?;
    }
    let inspected = rest.filter(|(index, _)| is_inspected(*index, parts.len()));
    let inspected = inspected.map(|(_, part)| part.clone()).collect();
    let mut read_ahead = ReadAhead::new(log, inspected, selection);
    let mut block = Block::default();
    while !read_ahead.is_done() {
        match read_ahead.fill_part(&mut block) {
            Ok(true) if !inspection.add_block(&block) => {}
            Ok(true) => {
                read_ahead.skip_part();
                inspection.bytes = 0;
            }
            // Unreadable messages are reported when they are read; the columns do not need them.
            Ok(false) | Err(_) => inspection.bytes = 0,
        }
    }
    Ok(inspection.point_schema)
}

fn is_inspected(index: usize, parts: usize) -> bool {
    let Some(last_start) = parts.checked_sub(NEIGHBOURS) else { return true };
    let starts = (0..PLACES).map(|position| last_start * position / (PLACES - 1));
    parts <= PLACES * NEIGHBOURS
        || starts.into_iter().any(|start| (start..start + NEIGHBOURS).contains(&index))
}

/// The state of an inspection.
struct Inspection {
    derivation: Derivation,
    point_schema: Option<PointSchema>,
    /// The number of bytes that were inspected in the part.
    bytes: usize,
}

impl Inspection {
    /// Inspects the messages of `cursor`, which reads a part, until the limit is reached.
    fn inspect_part(&mut self, cursor: &mut dyn Cursor) -> Result<()> {
        let mut block = Block::default();
        while cursor.fill(&mut block)? && !self.add_block(&block) {}
        self.bytes = 0;
        Ok(())
    }

    /// Adds the columns of the messages in `block`; returns whether the limit is reached.
    fn add_block(&mut self, block: &Block) -> bool {
        for record in block.iter() {
            let Derivation { encoding, .. } = self.derivation;
            let message = encoding.decompress(record.payload, MAX_UNPACKED);
            let message = message.unwrap_or_default();
            self.bytes = self.bytes.saturating_add(message.len());
            if let Some(message_schema) = self.derivation.point_schema_of(&message) {
                match &mut self.point_schema {
                    Some(point_schema) => point_schema.join(&message_schema),
                    None => self.point_schema = Some(message_schema),
                }
            }
            if self.bytes >= BYTES && self.point_schema.is_some() {
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
    fn short_log_is_inspected_completely_and_long_log_at_all_places() {
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
