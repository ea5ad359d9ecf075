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
    /// For each channel, the times and the offsets of its messages in the records.
    message_indexes: BTreeMap<u16, Vec<(u64, u64)>>,
    /// The first and the last log time; `None` without messages.
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

    /// Adds a message.
    pub(super) fn message(
        &mut self,
        channel: u16,
        sequence: u32,
        log_time: u64,
        publish_time: u64,
        data: &[u8],
    ) {
        let offset = self.len() as u64;
        self.records.add(op::MESSAGE, |content| {
            content
                .u16(channel)
                .u32(sequence)
                .u64(log_time)
                .u64(publish_time)
                .raw(data);
        });
        self.message_indexes.entry(channel).or_default().push((log_time, offset));
        let (first, last) = self.times.unwrap_or((log_time, log_time));
        self.times = Some((first.min(log_time), last.max(log_time)));
    }

    /// Takes the chunk if it has messages, and starts a new one in one of the `buffers`. The
    /// CRC-32 is not computed yet.
    pub(super) fn take(
        &mut self,
        buffers: &mut Vec<Vec<u8>>,
    ) -> Option<UncompressedChunk> {
        let (start_time, end_time) = self.times.take()?;
        let buffer = buffers.pop().unwrap_or_default();
        let bytes = self.records.take_and_set_buffer(buffer);
        let mut message_indexes = std::mem::take(&mut self.message_indexes);
        let indexes = message_indexes.values_mut();
        indexes.for_each(|entries| entries.sort_by_key(|(time, _)| *time));
        let properties = ChunkProperties {
            start_time,
            end_time,
            uncompressed_len: bytes.len() as u64,
            crc: 0,
            message_indexes,
        };
        Some(UncompressedChunk { bytes, properties })
    }
}
