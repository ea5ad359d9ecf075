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
pub(super) fn shape(
    derivation: Derivation,
    log: &dyn Log,
    id: TopicId,
) -> Result<Option<PointSchema>> {
    let topics = [id].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let parts = log.manifest().plan(&selection, 0);
    let mut rest = parts.iter().enumerate();
    let mut inspection = Inspection { derivation, shape: None, bytes: 0 };
    while inspection.shape.is_none()
        && let Some((_, part)) = rest.next()
    {
        inspection.inspect_part(&mut *log.read(part, &selection)?)?;
    }
    let others = rest.filter(|(index, _)| is_inspected(*index, parts.len()));
    let others = others.map(|(_, part)| part.clone()).collect();
    let mut read_ahead = ReadAhead::new(log, others, selection);
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
    Ok(inspection.shape)
}

fn is_inspected(index: usize, parts: usize) -> bool {
    let Some(room) = parts.checked_sub(NEIGHBOURS) else { return true };
    let starts = (0..PLACES).map(|place| room * place / (PLACES - 1));
    parts <= PLACES * NEIGHBOURS
        || starts.into_iter().any(|start| (start..start + NEIGHBOURS).contains(&index))
}

/// The state of an inspection.
struct Inspection {
    derivation: Derivation,
    shape: Option<PointSchema>,
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
            if let Some(more) = self.derivation.shape_of(&message) {
                match &mut self.shape {
                    Some(shape) => shape.join(&more),
                    None => self.shape = Some(more),
                }
            }
            if self.bytes >= BYTES && self.shape.is_some() {
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
