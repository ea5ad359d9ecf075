//! What columns the points of a topic have, by some of its messages.
//!
//! Only messages tell what fields they have, and those of one topic need not have the same:
//! several drivers may publish it, or one that was set up anew. Reading all of them twice
//! would be the price of knowing all fields, so a short log is looked through whole, and in
//! a long one some parts are, side by side at places all over it: a driver that publishes by
//! turns with another, or begins late, is seen.

use logtool_core::{Block, Cursor, Log, ReadAhead, Result, Selection, TopicId};

use crate::{derived::kind::Derivation, packed::MAX_UNPACKED, points::Shape};

/// At so many places parts are looked at, so many neighbours at each.
const PLACES: usize = 8;
const NEIGHBOURS: usize = 4;

/// No more bytes of messages of a part are looked at.
const BYTES: usize = 16 << 20;

/// The columns of the points of the topic `id` of `log`; nothing if no message has any.
pub(super) fn shape(
    derivation: Derivation,
    log: &dyn Log,
    id: TopicId,
) -> Result<Option<Shape>> {
    let topics = [id].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let parts = log.manifest().plan(&selection, 0);
    let mut rest = parts.iter().enumerate();
    let mut look = Look { derivation, shape: None, bytes: 0 };
    while look.shape.is_none()
        && let Some((_, part)) = rest.next()
    {
        look.through(&mut *log.read(part, &selection)?)?;
    }
    let others = rest.filter(|(index, _)| is_looked_at(*index, parts.len()));
    let others = others.map(|(_, part)| part.clone()).collect();
    let mut ahead = ReadAhead::new(log, others, selection);
    let mut block = Block::default();
    while !ahead.is_done() {
        match ahead.fill_part(&mut block) {
            Ok(true) if !look.at(&block) => {}
            Ok(true) => {
                ahead.skip_part();
                look.bytes = 0;
            }
            // What cannot be read matters to who reads it, as there are columns without it.
            Ok(false) | Err(_) => look.bytes = 0,
        }
    }
    Ok(look.shape)
}

fn is_looked_at(index: usize, parts: usize) -> bool {
    let Some(room) = parts.checked_sub(NEIGHBOURS) else { return true };
    let starts = (0..PLACES).map(|place| room * place / (PLACES - 1));
    parts <= PLACES * NEIGHBOURS
        || starts.into_iter().any(|start| (start..start + NEIGHBOURS).contains(&index))
}

/// What was seen so far.
struct Look {
    derivation: Derivation,
    shape: Option<Shape>,
    /// How many bytes of the part.
    bytes: usize,
}

impl Look {
    /// Looks at what `cursor` reads, a part, until it is enough.
    fn through(&mut self, cursor: &mut dyn Cursor) -> Result<()> {
        let mut block = Block::default();
        while cursor.fill(&mut block)? && !self.at(&block) {}
        self.bytes = 0;
        Ok(())
    }

    /// Adds the columns of the messages in `block`; says whether that is enough of the part.
    fn at(&mut self, block: &Block) -> bool {
        for record in block.iter() {
            let Derivation { encoding, .. } = self.derivation;
            let message = encoding.unpacked(record.payload, MAX_UNPACKED);
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
    fn a_short_log_is_looked_through_and_of_a_long_one_all_places() {
        let looked = |parts: usize| -> Vec<usize> {
            (0..parts).filter(|index| is_looked_at(*index, parts)).collect()
        };
        for parts in [0, 1, 4, 32] {
            assert_eq!(looked(parts).len(), parts);
        }
        for parts in [33, 1_000, 100_000] {
            let looked = looked(parts);
            assert!((16..=32).contains(&looked.len()), "{parts}");
            assert_eq!(looked[..4], [0, 1, 2, 3]);
            assert_eq!(looked.last(), Some(&(parts - 1)));
        }
    }
}
