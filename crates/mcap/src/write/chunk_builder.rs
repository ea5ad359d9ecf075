//! The current chunk, to which messages are added.

use std::collections::BTreeMap;

use crate::{
    wire::op,
    write::encode::{ChunkProperties, Records},
};

/// The records of the current chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkBuilder {
    pub(super) records: Records,
    index: BTreeMap<u16, Vec<(u64, u64)>>,
    times: Option<(u64, u64)>,
}

/// A chunk that is complete, but not compressed.
#[derive(Debug)]
pub(super) struct UncompressedChunk {
    pub(super) bytes: Vec<u8>,
    pub(super) properties: ChunkProperties,
}

impl ChunkBuilder {
    /// Returns the length of the records.
    pub(super) fn len(&self) -> usize {
        self.records.bytes().len()
    }

    pub(super) fn message(
        &mut self,
        channel: u16,
        sequence: u32,
        log_time: u64,
        publish_time: u64,
        data: &[u8],
    ) {
        let at = self.len() as u64;
        self.records.add(op::MESSAGE, |content| {
            content
                .u16(channel)
                .u32(sequence)
                .u64(log_time)
                .u64(publish_time)
                .raw(data);
        });
        self.index.entry(channel).or_default().push((log_time, at));
        let (start, end) = self.times.unwrap_or((log_time, log_time));
        self.times = Some((start.min(log_time), end.max(log_time)));
    }

    /// Takes the chunk if it has messages, and starts a new one in one of the buffers
    /// `buffers`. The CRC-32 is not computed yet.
    pub(super) fn take(
        &mut self,
        buffers: &mut Vec<Vec<u8>>,
    ) -> Option<UncompressedChunk> {
        let (start, end) = self.times.take()?;
        let bytes = self.records.take_for(buffers.pop().unwrap_or_default());
        let mut index = std::mem::take(&mut self.index);
        index.values_mut().for_each(|entries| entries.sort_by_key(|(time, _)| *time));
        let (size, crc) = (bytes.len() as u64, 0);
        Some(UncompressedChunk {
            bytes,
            properties: ChunkProperties { start, end, size, crc, index },
        })
    }
}
