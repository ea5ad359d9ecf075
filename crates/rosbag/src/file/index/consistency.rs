//! Comparing the chunk infos of an index with the chunks and their index data.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Result, TimeRange, Timestamp};

use crate::{
    file::{
        compression_stats::CompressionStats,
        index::IndexedChunk,
        index_entries::{ListedMessages, MAX_INDEX},
        toplevel_record::{TopLevelKind, TopLevelReader, TopLevelRecord},
    },
    wire,
};

/// The number of chunks that are inspected if the comparison is not thorough.
const MAX_INSPECTED: usize = 16;

/// Times that are further apart than this do not belong to one recording.
const FAR_NANOS: u64 = 366 * 86_400 * 1_000_000_000;

/// Compares the chunks that an index lists with the file.
pub(super) struct Inspector<'i> {
    toplevel: &'i mut TopLevelReader,
    index_at: u64,
    is_thorough: bool,
}

impl<'i> Inspector<'i> {
    pub(super) fn new(
        toplevel: &'i mut TopLevelReader,
        index_at: u64,
        is_thorough: bool,
    ) -> Self {
        Self { toplevel, index_at, is_thorough }
    }

    /// Returns how `chunks`, as the index lists them, contradict the file. Counts the inspected
    /// chunks in `compression`.
    pub(super) fn contradiction(
        &mut self,
        chunks: &[IndexedChunk],
        compression: &mut CompressionStats,
    ) -> Result<Option<String>> {
        let count = chunks.len();
        compression.total = count as u64;
        let inspected = if self.is_thorough { count } else { MAX_INSPECTED.min(count) };
        for sample in 0..inspected {
            let chunk_index = if inspected == count {
                sample
            } else {
                sample * (count - 1) / (inspected - 1)
            };
            let Some(chunk) = chunks.get(chunk_index) else { break };
            let at = chunk.at;
            let Some((chunk_header, data)) = self.toplevel.chunk(at)? else {
                return Ok(Some(format!(
                    "there is no chunk at byte {at}, as it states"
                )));
            };
            compression.add(&chunk_header, data.end - data.start);
            let next =
                chunks.get(chunk_index + 1).map_or(self.index_at, |next| next.at);
            if let Some(reason) =
                self.contradiction_after_chunk(chunk, data.end..next)?
            {
                return Ok(Some(format!(
                    "it contradicts the chunk at byte {at}: {reason}"
                )));
            }
        }
        self.contradiction_of_times(chunks)
    }

    /// Returns how the records in `bytes`, between `chunk` and the next listed chunk, contradict
    /// the chunk info. If `bytes` are not longer than the expected index data, only a thorough
    /// comparison reads them.
    fn contradiction_after_chunk(
        &mut self,
        chunk: &IndexedChunk,
        bytes: Range<u64>,
    ) -> Result<Option<&'static str>> {
        let messages = chunk.messages();
        let expected = messages
            .values()
            .map(|count| wire::INDEX_HEADER_LEN + wire::INDEX_ENTRY_LEN * count)
            .sum::<u64>();
        if !self.is_thorough && bytes.end.saturating_sub(bytes.start) <= expected {
            return Ok(None);
        }
        let (mut at, mut counts) = (bytes.start, BTreeMap::<u32, u64>::new());
        while at < bytes.end {
            let Some(TopLevelRecord { kind, data }) = self.toplevel.record_at(at)?
            else {
                break;
            };
            match kind {
                TopLevelKind::Chunk(_) | TopLevelKind::Message => {
                    return Ok(Some("unlisted messages follow it"));
                }
                TopLevelKind::Index { connection, count, .. } => {
                    *counts.entry(connection).or_default() += u64::from(count);
                    if self.is_thorough && !self.is_within(&data, chunk.time)? {
                        return Ok(Some(
                            "its index data have times outside its time range",
                        ));
                    }
                }
                _ => {}
            }
            at = data.end.max(at + 1);
        }
        let is_different = !counts.is_empty() && counts != messages;
        Ok(is_different.then_some("its index data have other numbers of messages"))
    }

    /// Returns whether the entries of the index data in `data` are within `time`.
    fn is_within(&mut self, data: &Range<u64>, time: TimeRange) -> Result<bool> {
        let entries = self.toplevel.data(data)?.unwrap_or_default();
        let mut times = wire::index_entries(&entries).map(|(entry_time, _)| entry_time);
        Ok(times.all(|entry_time| time.contains(entry_time)))
    }

    /// Returns how the times of `chunks` contradict the index data. Only unlikely times are
    /// compared: 0, which some writers write, and times years away from those of most chunks.
    fn contradiction_of_times(
        &mut self,
        chunks: &[IndexedChunk],
    ) -> Result<Option<String>> {
        let mut starts: Vec<i64> =
            chunks.iter().map(|chunk| chunk.time.start.as_nanos()).collect();
        starts.sort_unstable();
        let median = starts.get(starts.len() / 2).copied().unwrap_or(0);
        let is_far = |time: Timestamp| time.as_nanos().abs_diff(median) > FAR_NANOS;
        let zero = TimeRange::from_timestamp(Timestamp::from_nanos(0));
        let is_unlikely = |time: TimeRange| {
            time != TimeRange::ALL
                && (time == zero || is_far(time.start) || is_far(time.end))
        };
        let mut remaining_bytes = MAX_INDEX;
        for chunk in chunks.iter().filter(|chunk| is_unlikely(chunk.time)) {
            let at = chunk.at;
            let listed =
                ListedMessages::after_chunk(self.toplevel, at, &mut remaining_bytes)?;
            let is_empty = |listed: &ListedMessages| {
                listed.messages.is_empty() && chunk.messages().is_empty()
            };
            if !listed
                .is_some_and(|listed| listed.time == chunk.time || is_empty(&listed))
            {
                return Ok(Some(format!(
                    "the time range of the chunk at byte {at} is not that of its index data"
                )));
            }
        }
        Ok(None)
    }
}
