//! The chunk to which messages are added.

use std::mem;

use crate::write::{
    encode::{self, IndexOrder},
    ros_time::RosTime,
};

/// The chunk to which messages are added.
#[derive(Debug, Default)]
pub(crate) struct ChunkBuilder {
    bytes: Vec<u8>,
    /// The index entries, by the index of the connection in the writer. Those of a connection
    /// without messages are empty.
    entries: Vec<Vec<(RosTime, u32)>>,
    /// The connections with messages: their ids, and their indices in the writer.
    connections: Vec<(u32, usize)>,
    times: Option<[RosTime; 2]>,
}

/// A full chunk that is not yet compressed.
#[derive(Debug)]
pub(crate) struct FullChunk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) chunk_index: ChunkIndex,
}

/// The index data and the chunk info of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkIndex {
    /// The index data records.
    pub(crate) index_data: Vec<u8>,
    pub(crate) summary: ChunkSummary,
}

/// The contents of the chunk info of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkSummary {
    /// The first and the last time.
    pub(crate) times: [RosTime; 2],
    /// The number of messages of each connection.
    pub(crate) counts: Vec<(u32, u32)>,
}

impl ChunkBuilder {
    /// Returns the number of bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether there are messages.
    pub(crate) fn has_messages(&self) -> bool {
        self.times.is_some()
    }

    /// Adds a connection record.
    pub(crate) fn connection(&mut self, id: u32, topic: &[u8], header: &[u8]) {
        encode::connection(&mut self.bytes, id, topic, header);
    }

    /// Adds a message of the connection `id`, which has this `index` in the writer.
    pub(crate) fn message(
        &mut self,
        id: u32,
        index: usize,
        stamp: RosTime,
        payload: &[u8],
    ) {
        self.add_entry(id, index, stamp, self.bytes.len() as u32);
        encode::message(&mut self.bytes, id, stamp, payload);
    }

    /// Adds an index entry for the message at `offset`.
    fn add_entry(&mut self, id: u32, index: usize, stamp: RosTime, offset: u32) {
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, Vec::new);
        }
        if let Some(entries) = self.entries.get_mut(index) {
            if entries.is_empty() {
                self.connections.push((id, index));
            }
            entries.push((stamp, offset));
        }
        let [first, last] = self.times.unwrap_or([stamp; 2]);
        self.times = Some([first.min(stamp), last.max(stamp)]);
    }

    /// Returns the chunk, if it has messages, and starts the next one in `buffer`, which is empty.
    pub(crate) fn finish_chunk(
        &mut self,
        order: IndexOrder,
        mut buffer: Vec<u8>,
    ) -> Option<FullChunk> {
        let times = self.times.take()?;
        buffer.reserve(self.bytes.len());
        let bytes = mem::replace(&mut self.bytes, buffer);
        let (mut index_data, mut counts) = (Vec::new(), Vec::new());
        self.connections.sort_unstable();
        for (id, index) in self.connections.drain(..) {
            let Some(entries) = self.entries.get_mut(index) else { continue };
            // As in ROS, entries are sorted by time, and by position if times are equal.
            entries.sort_by_key(|(stamp, _)| *stamp);
            encode::index_data(&mut index_data, order, id, entries);
            counts.push((id, entries.len() as u32));
            entries.clear();
        }
        Some(FullChunk {
            bytes,
            chunk_index: ChunkIndex {
                index_data,
                summary: ChunkSummary { times, counts },
            },
        })
    }
}

/// Returns the index data and the chunk info of a chunk with these `messages`: the connection id,
/// the time and the offset of each.
pub(crate) fn index_messages(messages: &[(u32, RosTime, u32)]) -> Option<ChunkIndex> {
    let mut ids: Vec<u32> = messages.iter().map(|(id, ..)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut builder = ChunkBuilder::default();
    for (id, stamp, offset) in messages {
        let index = ids.binary_search(id).unwrap_or_default();
        builder.add_entry(*id, index, *stamp, *offset);
    }
    builder.finish_chunk(encode::INDEX_ORDER, Vec::new()).map(|full| full.chunk_index)
}
