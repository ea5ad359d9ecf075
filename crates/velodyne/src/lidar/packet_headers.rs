//! Reads the block headers of all packets of a lidar in order. The thread that reads a
//! part also parses its packets, while they are in the cache of its core.

use logtool_core::{
    Block, Cursor, Log, Record, Result, Selection, TaskQueue, Timestamp, TopicId,
};

use crate::packet::{Firings, PacketHeaders};

/// The approximate number of bytes that a thread reads at a time.
const PART_BYTES: u64 = 1 << 20;

/// A packet without its returns, with the offset and the time of its record.
pub(super) struct TimedHeaders {
    pub(super) offset: u64,
    pub(super) time: Timestamp,
    pub(super) headers: PacketHeaders,
}

/// A function that extracts the packets from a record. It calls its second argument for
/// each packet, with the packet as a record.
pub trait PacketExtractor:
    Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

impl<P> PacketExtractor for P where
    P: Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

/// Calls `visit` with the record itself, for logs whose records are packets.
pub fn record_as_packet(record: Record<'_>, visit: &mut dyn FnMut(Record<'_>)) {
    visit(record);
}

/// Calls `visit` for all data packets in the records of `topic` of `log`, up to the end of
/// the last part that starts before the offset `end`. `extract` extracts the packets from
/// the records.
///
/// # Errors
/// `Io` if the log cannot be read.
pub(super) fn for_each_packet(
    log: &dyn Log,
    topic: TopicId,
    end: u64,
    extract: impl PacketExtractor,
    visit: &mut dyn FnMut(&TimedHeaders),
) -> Result<()> {
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut plan = log.manifest().plan(&selection, PART_BYTES);
    plan.truncate(plan.iter().take_while(|part| part.bytes.start < end).count());
    let mut tasks = TaskQueue::with_double_length();
    let mut visit_all = |packets: Result<Vec<TimedHeaders>>| -> Result<()> {
        packets?.iter().for_each(&mut *visit);
        Ok(())
    };
    for part in plan {
        let mut cursor = log.read(&part, &selection)?;
        let source = log.source().clone();
        tasks.push(move || {
            let packets = packet_headers(&mut *cursor, extract);
            drop(cursor);
            source.release(part.bytes);
            packets
        });
        tasks.next().map_or(Ok(()), &mut visit_all)?;
    }
    while let Some(packets) = tasks.wait() {
        visit_all(packets)?;
    }
    Ok(())
}

/// Returns the data packets in the records that `cursor` reads. `extract` extracts them
/// from the records.
pub(super) fn packet_headers(
    cursor: &mut dyn Cursor,
    extract: impl PacketExtractor,
) -> Result<Vec<TimedHeaders>> {
    let (mut packets, mut block) = (Vec::new(), Block::default());
    while cursor.fill(&mut block)? {
        for record in block.iter() {
            extract(record, &mut |packet| {
                if let Some(firings) = Firings::new(packet.payload) {
                    let Record { offset, time, .. } = packet;
                    packets.push(TimedHeaders {
                        offset,
                        time,
                        headers: firings.headers(),
                    });
                }
            });
        }
    }
    Ok(packets)
}
