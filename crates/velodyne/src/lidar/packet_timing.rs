//! The outlines of all packets of a lidar, in their order: taken by whoever reads them, while
//! the packets are in the caches of that processor.

use logtool_core::{
    Block, Cursor, Log, Queue, Record, Result, Selection, Timestamp, TopicId,
};

use crate::packet::{Firings, Outline};

/// About how much of a log a thread reads at a time.
const STRETCH: u64 = 1 << 20;

/// What is seen of a packet.
pub(super) struct Seen {
    /// Those of its record.
    pub(super) offset: u64,
    pub(super) time: Timestamp,
    pub(super) outline: Outline,
}

/// Shows the packets that a record holds, each as if it was a record.
pub trait Packets:
    Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

impl<P> Packets for P where
    P: Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

/// Of a log of which each record is a packet: that.
pub fn itself(packet: Record<'_>, each: &mut dyn FnMut(Record<'_>)) {
    each(packet);
}

/// Shows `look` all data packets that the records of `topic` of `log` hold, as `packets` says,
/// up to those in the last part that begins before `until`.
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

/// Those of the packets that `cursor` comes to.
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
