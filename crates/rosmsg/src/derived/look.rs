//! What columns the points of a topic have, by some of its messages.
//!
//! Only messages tell what fields they have, and those of one topic need not have the same:
//! several drivers may publish it, or one that was set up anew. Reading all of them twice
//! would be the price of knowing all fields, so a short log is looked through whole, and in
//! a long one some parts are, side by side at places all over it: a driver that publishes by
//! turns with another, or begins late, is seen.

use logtool_core::{Block, Log, Part, Result, Selection, TopicId};

use crate::{derived::kind::Derivation, points::Shape};

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
    let mut shape = None;
    for (index, part) in parts.iter().enumerate() {
        if shape.is_some() && !is_looked_at(index, parts.len()) {
            continue;
        }
        let looked = look(derivation, log, part, &selection, &mut shape);
        // What cannot be read matters to who reads it, if there are columns without it.
        if shape.is_none() {
            looked?;
        }
    }
    Ok(shape)
}

fn is_looked_at(index: usize, parts: usize) -> bool {
    let Some(room) = parts.checked_sub(NEIGHBOURS) else { return true };
    let starts = (0..PLACES).map(|place| room * place / (PLACES - 1));
    parts <= PLACES * NEIGHBOURS
        || starts.into_iter().any(|start| (start..start + NEIGHBOURS).contains(&index))
}

/// Adds to `shape` the columns of the first messages of `part` that have some.
fn look(
    derivation: Derivation,
    log: &dyn Log,
    part: &Part,
    selection: &Selection,
    shape: &mut Option<Shape>,
) -> Result<()> {
    let mut cursor = log.read(part, selection)?;
    let (mut block, mut bytes) = (Block::default(), 0_usize);
    while cursor.fill(&mut block)? {
        for record in block.iter() {
            bytes = bytes.saturating_add(record.payload.len());
            if let Some(more) = derivation.shape_of(record.payload) {
                match shape {
                    Some(shape) => shape.join(&more),
                    None => *shape = Some(more),
                }
            }
            if bytes >= BYTES && shape.is_some() {
                return Ok(());
            }
        }
    }
    Ok(())
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
