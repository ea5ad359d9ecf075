//! Counts the messages of each channel if there are no statistics.

use std::collections::BTreeMap;

use logtool_core::{ByteReader, Result, WindowReader};

use crate::wire::{self, ChunkIndex, RECORD_HEADER_LEN, op};

/// The size of an entry of a message index: a time and an offset.
const ENTRY_LEN: u64 = 16;

/// The numbers of messages outside chunks, by channel.
#[derive(Default)]
pub(super) struct MessageCounts {
    outside: BTreeMap<u16, u64>,
}

impl MessageCounts {
    /// Adds a message outside chunks; `content` is the start of its record.
    pub(super) fn add_message(&mut self, content: &[u8]) {
        if let Some(channel) = ByteReader::new(content).u16() {
            *self.outside.entry(channel).or_default() += 1;
        }
    }

    /// Returns the channels of the messages outside chunks.
    pub(super) fn channels(&self) -> impl Iterator<Item = &u16> {
        self.outside.keys()
    }

    /// Returns the number of messages of each channel according to the message indexes
    /// of `chunks`. Returns `None` if a chunk has no message indexes.
    pub(super) fn count_messages(
        self,
        window: &WindowReader<'_>,
        chunks: &[ChunkIndex],
    ) -> Result<Option<BTreeMap<u16, u64>>> {
        let mut counts = self.outside;
        for chunk in chunks {
            if chunk.channels.is_empty() {
                return Ok(None);
            }
            for (channel, at) in &chunk.channels {
                let Some(count) = indexed_count(window, *channel, *at)? else {
                    return Ok(None);
                };
                *counts.entry(*channel).or_default() += count;
            }
        }
        Ok(Some(counts))
    }
}

/// Returns the number of messages of `channel` in the message index at `at`.
fn indexed_count(
    window: &WindowReader<'_>,
    channel: u16,
    at: u64,
) -> Result<Option<u64>> {
    let bytes = window.peek(at, RECORD_HEADER_LEN + 2 + 4)?;
    let is_index =
        wire::record_header(&bytes).is_some_and(|(op, _)| op == op::MESSAGE_INDEX);
    let mut fields =
        ByteReader::new(bytes.get(RECORD_HEADER_LEN..).unwrap_or_default());
    let (id, len) = (fields.u16(), fields.u32());
    let is_its = is_index && id == Some(channel);
    Ok(len.filter(|_| is_its).map(|len| u64::from(len) / ENTRY_LEN))
}
