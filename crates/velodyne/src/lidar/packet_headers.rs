//! Reads the block headers of all packets of a lidar in order. The thread that reads a
//! part also parses its packets, while they are in the caches of its core.

use logtool_core::{
    Block, Cursor, Log, Record, Result, Selection, TaskQueue, Timestamp, TopicId,
};

use crate::packet::{Firings, PacketHeaders};

/// The approximate number of bytes that a thread reads at a time.
const PART_BYTES: u64 = 1 << 20;

/// A packet without its returns.
pub(super) struct TimedHeaders {
    /// The offset of its record.
    pub(super) offset: u64,
    pub(super) time: Timestamp,
    pub(super) headers: PacketHeaders,
}

/// A function that calls its argument for each packet in a record. Each packet is passed
/// as a record.
pub trait PacketExtractor:
    Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

impl<P> PacketExtractor for P where
    P: Fn(Record<'_>, &mut dyn FnMut(Record<'_>)) + Copy + Send + 'static
{
}

/// Calls `each` with the record itself, for logs whose records are packets.
pub fn record_is_packet(packet: Record<'_>, each: &mut dyn FnMut(Record<'_>)) {
    each(packet);
}

/// Calls `call` for all data packets in the records of `topic` of `log`, up to the end of
/// the last part that starts before `end`. `packets` extracts them from records.
///
/// # Errors
/// `Io` if the log cannot be read.
pub(super) fn for_each_packet(
    log: &dyn Log,
    topic: TopicId,
    end: u64,
    packets: impl PacketExtractor,
    call: &mut dyn FnMut(&TimedHeaders),
) -> Result<()> {
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut plan = log.manifest().plan(&selection, PART_BYTES);
    plan.truncate(plan.iter().take_while(|part| part.bytes.start < end).count());
    let mut tasks = TaskQueue::with_double_length();
    let mut add = |headers: Result<Vec<TimedHeaders>>| -> Result<()> {
        headers?.iter().for_each(&mut *call);
        Ok(())
    };
    for part in plan {
        let mut cursor = log.read(&part, &selection)?;
        let source = log.source().clone();
        tasks.push(move || {
            let headers = packet_headers(&mut *cursor, packets);
            drop(cursor);
            source.release(part.bytes);
            headers
        });
        tasks.next().map_or(Ok(()), &mut add)?;
    }
    while let Some(result) = tasks.wait() {
        add(result)?;
    }
    Ok(())
}

/// Returns the data packets of the records that `cursor` reads.
pub(super) fn packet_headers(
    cursor: &mut dyn Cursor,
    packets: impl PacketExtractor,
) -> Result<Vec<TimedHeaders>> {
    let (mut all, mut block) = (Vec::new(), Block::default());
    while cursor.fill(&mut block)? {
        for record in block.iter() {
            packets(record, &mut |packet| {
                let Record { offset, time, .. } = packet;
                let firings = Firings::new(packet.payload);
                let headers = firings.map(Firings::headers);
                all.extend(headers.map(|headers| TimedHeaders {
                    offset,
                    time,
                    headers,
                }));
            });
        }
    }
    Ok(all)
}
