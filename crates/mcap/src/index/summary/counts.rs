//! Counts the messages of each channel if the summary has no statistics.

use std::collections::BTreeMap;

use logtool_core::{ByteReader, Result, WindowReader};

use crate::wire::{self, ChunkIndex, RECORD_HEADER_LEN, op};

/// The size of an entry of a message index: a time and an offset.
const ENTRY_LEN: u64 = 8 + 8;

/// The number of messages of each channel.
#[derive(Default)]
pub(super) struct MessageCounts {
    /// The number of messages outside chunks.
    outside_chunks: BTreeMap<u16, u64>,
}

impl MessageCounts {
    /// Adds a message outside chunks. `content` is the content of its record, or at least
    /// its channel id.
    pub(super) fn add_message(&mut self, content: &[u8]) {
        if let Some(channel) = ByteReader::new(content).u16() {
            *self.outside_chunks.entry(channel).or_default() += 1;
        }
    }

    /// Returns the channels of the messages outside chunks.
    pub(super) fn channels(&self) -> impl Iterator<Item = &u16> {
        self.outside_chunks.keys()
    }

    /// Returns the number of messages of each channel, outside chunks and according to the
    /// message indexes of `chunks`. Returns `None` if a chunk has no message indexes.
    pub(super) fn count_messages(
        self,
        window: &WindowReader<'_>,
        chunks: &[ChunkIndex],
    ) -> Result<Option<BTreeMap<u16, u64>>> {
        let mut counts = self.outside_chunks;
        for chunk in chunks {
            if chunk.message_index_offsets.is_empty() {
                return Ok(None);
            }
            for (channel, offset) in &chunk.message_index_offsets {
                let Some(count) = indexed_count(window, *channel, *offset)? else {
                    return Ok(None);
                };
                *counts.entry(*channel).or_default() += count;
            }
        }
        Ok(Some(counts))
    }
}

/// Returns the number of messages in the message index at `offset`, or `None` if there is
/// no message index of `channel`.
fn indexed_count(
    window: &WindowReader<'_>,
    channel: u16,
    offset: u64,
) -> Result<Option<u64>> {
    let bytes = window.peek(offset, RECORD_HEADER_LEN + 2 + 4)?;
    let is_message_index =
        wire::record_header(&bytes).is_some_and(|(op, _)| op == op::MESSAGE_INDEX);
    let mut fields =
        ByteReader::new(bytes.get(RECORD_HEADER_LEN..).unwrap_or_default());
    let (indexed_channel, entries_len) = (fields.u16(), fields.u32());
    let is_valid = is_message_index && indexed_channel == Some(channel);
    Ok(entries_len.filter(|_| is_valid).map(|len| u64::from(len) / ENTRY_LEN))
}
