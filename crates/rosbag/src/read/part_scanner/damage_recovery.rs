//! Damage between chunks: broken index data, or a lost chunk.

use std::ops::Range;

use bytes::Bytes;
use logtool_core::{Damage, DamageKind, Result};

use super::PartScanner;
use crate::{
    file::{
        file_header::MIN_CHUNK_LEN,
        toplevel_record::{TopLevelKind, TopLevelRecord},
    },
    records::record_scanner::{RecordVisitor, WindowScan},
    recovery::{
        chunk_messages::ChunkMessages,
        damage_locator::{DamageContext, DamageLocator, LostChunk},
    },
    wire::{self, INDEX_ENTRY_LEN},
};

impl PartScanner {
    /// Skips the broken bytes up to `next` and reports them, as damage of this `kind` or, if they
    /// were only index data, as damage to the index. Returns `true`, because damage is always
    /// passed to the visitor.
    pub(super) fn skip_broken_bytes<V: RecordVisitor>(
        &mut self,
        kind: DamageKind,
        next: u64,
        visitor: &mut V,
    ) -> Result<bool> {
        visitor.begin_chunk(self.at);
        visitor.window(Bytes::new(), self.at);
        let bytes = self.at..next;
        // The index data of a lost chunk may follow the broken bytes, or lie inside them.
        let index_at = self.toplevel.find_index(bytes.start + 1..next + 1)?;
        let is_chunk_lost = !self.is_chunk_content(next)?;
        let is_index = match index_at {
            Some(at) => self.is_index_of_last_chunk(at)?,
            None => is_chunk_lost && self.is_only_index_data(kind, &bytes)?,
        };
        if is_index {
            visitor.damage(Damage::new(DamageKind::Index, bytes));
            self.at = next;
            return Ok(true);
        }
        let kind = if kind == DamageKind::Index { DamageKind::Garbled } else { kind };
        let (index_at, readable_messages) = if is_chunk_lost {
            (index_at.unwrap_or(next), None)
        } else {
            let (messages, end) = self.messages_outside_chunks_at(next)?;
            (end, Some(messages))
        };
        let context =
            &mut DamageContext::Lost(LostChunk { bytes, index_at, readable_messages });
        let (bag, toplevel) = (&self.bag, &mut self.toplevel);
        let mut locator =
            DamageLocator { visitor, bag, toplevel, context, chunk: None };
        locator.damage(Damage::new(kind, 0..u64::MAX));
        self.at = next;
        Ok(true)
    }

    /// Returns whether the bytes at `at` may be the content of a chunk whose header is lost.
    fn is_chunk_content(&mut self, at: u64) -> Result<bool> {
        Ok(match self.toplevel.record_at(at)? {
            Some(TopLevelRecord { kind: TopLevelKind::Message, .. }) => true,
            Some(TopLevelRecord { kind: TopLevelKind::Connection { .. }, .. }) => {
                at < self.bag.file_header.index_at
            }
            // Compressed data without a header.
            Some(TopLevelRecord { kind: TopLevelKind::Chunk(_), data }) => {
                data.start == at
            }
            _ => false,
        })
    }

    /// Returns the messages outside chunks that begin at `at`, and their end. They were in one
    /// chunk, so they end before the next part, and are at most as long as a chunk can be. If
    /// compressed data begin at `at`, there are no such messages: the data are read as a chunk.
    fn messages_outside_chunks_at(&mut self, at: u64) -> Result<(ChunkMessages, u64)> {
        if self.toplevel.chunk(at)?.is_some() {
            return Ok((ChunkMessages::default(), at));
        }
        let next_part = self.bounds.partition_point(|bound| *bound <= at);
        let end = self.bounds.get(next_part).copied().unwrap_or(self.end);
        let max_end = at.saturating_add(self.bag.options.record_bytes.into());
        let (bytes, mut messages) = (at..end.min(max_end), ChunkMessages::default());
        let mut scan =
            WindowScan { bytes, is_cut: false, is_outside_chunks: true, is_v1: false };
        while scan.read(&*self.bag.source, self.bag.options, &mut messages)? {}
        Ok((messages, scan.bytes.start))
    }

    /// Returns whether the index data at `at` belong to the last chunk. If so, only index data, and
    /// no chunk, can have been before them.
    fn is_index_of_last_chunk(&mut self, at: u64) -> Result<bool> {
        let Some(last_chunk) = &mut self.last_chunk else { return Ok(false) };
        Ok(match self.toplevel.record_at(at)? {
            Some(TopLevelRecord {
                kind: TopLevelKind::Index { connection, .. },
                data,
            }) => {
                let entries = self.toplevel.data(&data)?.unwrap_or_default();
                last_chunk.owns_index_data(&self.bag, connection, &entries)?
            }
            _ => false,
        })
    }

    /// Returns whether `bytes`, which have damage of this `kind` and are not followed by index
    /// data, are the remaining index data of the last chunk: they end at the expected position, or
    /// with the expected last entry. Index data that are cut off by the end of the file are
    /// compared by their entries, and zeros only by their length.
    fn is_only_index_data(
        &mut self,
        kind: DamageKind,
        bytes: &Range<u64>,
    ) -> Result<bool> {
        let Some(last_chunk) = &mut self.last_chunk else {
            return Ok(kind == DamageKind::Index);
        };
        let index_at = self.bag.file_header.index_at;
        let is_before = (bytes.start + 1..bytes.end).contains(&index_at);
        let end = if is_before { index_at } else { bytes.end };
        let Some(expected) = last_chunk.expected_index_end(&self.bag)? else {
            return Ok(kind == DamageKind::Index);
        };
        if end == expected {
            return Ok(true);
        }
        let entry_at = end.saturating_sub(INDEX_ENTRY_LEN);
        let entry = self.toplevel.bytes(entry_at, INDEX_ENTRY_LEN)?;
        let entry = entry.get(..INDEX_ENTRY_LEN as usize).unwrap_or_default();
        if let Some((time, _)) = wire::index_entries(entry).next()
            && last_chunk.index_may_end_with(&self.bag, time)?
        {
            return Ok(true);
        }
        Ok(match self.toplevel.record_at(bytes.start)? {
            Some(TopLevelRecord { kind: TopLevelKind::Padding, data }) => {
                data.end == end && end < expected + MIN_CHUNK_LEN
            }
            Some(TopLevelRecord {
                kind: TopLevelKind::Index { connection, count, .. },
                data,
            }) if end == self.toplevel.len() && data.end > end => {
                let entries =
                    self.toplevel.bytes(data.start, end - data.start.min(end))?;
                last_chunk.may_own_index_data(&self.bag, connection, count, &entries)?
            }
            _ => false,
        })
    }
}
