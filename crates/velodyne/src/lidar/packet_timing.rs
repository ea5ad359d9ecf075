//! Reads the block headers of all packets of a lidar in order. The thread that reads a
//! part also parses its packets, while they are in the caches of its core.

use logtool_core::{
    Block, Cursor, Log, Queue, Record, Result, Selection, Timestamp, TopicId,
};

use crate::packet::{Firings, Outline};

/// The approximate number of bytes that a thread reads at a time.
const STRETCH: u64 = 1 << 20;

/// A packet without its returns.
pub(super) struct Seen {
    /// The offset of its record.
    pub(super) offset: u64,
    pub(super) time: Timestamp,
    pub(super) outline: Outline,
}

/// A function that calls another one for each packet that a record contains, as a record
/// of its own.
pub trait Packets:
    Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

impl<P> Packets for P where
    P: Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

/// Calls `each` with the record itself, for logs whose records are packets.
pub fn itself(packet: Record<'_>, each: &mut dyn FnMut(Record<'_>)) {
    each(packet);
}

/// Calls `look` for all data packets in the records of `topic` of `log`, up to the end of
/// the last part that starts before `until`. `packets` extracts them from records.
///
/// # Errors
/// `Io` if the log cannot be read.
pub(super) fn look_at(
    log: &dyn Log,
    topic: TopicId,
    until: u64,
    packets: impl Packets,
    look: &mut dyn FnMut(&Seen),
) -> Result<()> {
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut plan = log.manifest().plan(&selection, STRETCH);
    plan.truncate(plan.iter().take_while(|part| part.bytes.start < until).count());
    let mut begun = Queue::long();
    let mut tell = |seen: Result<Vec<Seen>>| -> Result<()> {
        seen?.iter().for_each(&mut *look);
        Ok(())
    };
    for part in plan {
        let mut cursor = log.read(&part, &selection)?;
        let source = log.source().clone();
        begun.push(move || {
            let seen = outlines(&mut *cursor, packets);
            drop(cursor);
            source.release(part.bytes);
            seen
        });
        begun.next().map_or(Ok(()), &mut tell)?;
    }
    while let Some(done) = begun.wait() {
        tell(done)?;
    }
    Ok(())
}

/// Returns the data packets of the records that `cursor` reads.
pub(super) fn outlines(
    cursor: &mut dyn Cursor,
    packets: impl Packets,
) -> Result<Vec<Seen>> {
    let (mut seen, mut block) = (Vec::new(), Block::default());
    while cursor.fill(&mut block)? {
        for record in block.iter() {
            packets(record, &mut |packet| {
                let Record { offset, time, .. } = packet;
                let firings = Firings::new(packet.payload);
                let outline = firings.map(Firings::outline);
                seen.extend(outline.map(|outline| Seen { offset, time, outline }));
            });
        }
    }
    Ok(seen)
}
