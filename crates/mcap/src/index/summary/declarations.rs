//! The schemas and channels of a file with a summary.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Range,
};

use logtool_core::{ChunkLimits, OpenOptions, Result, WindowReader};

use crate::{
    channel_table::ChannelTable,
    chunk::{self, DecompressedChunk},
    contents::{self, ContentItem},
    wire::{Channel, ChunkIndex, Schema, op},
};

/// The schemas and channels that were read so far.
///
/// A summary need not repeat them: the data section declares each before its first
/// message (MCAP specification, "Summary Section"). They are added to the table only
/// when all are known, because the table needs the schema of a channel before the channel.
#[derive(Default)]
pub(super) struct Declarations {
    /// The schemas, with the byte ranges of their declarations.
    schemas: Vec<(Schema, Range<u64>)>,
    channels: Vec<Channel>,
    schema_ids: HashSet<u16>,
    /// The schema of each channel, 0 for none.
    schema_of_channel: HashMap<u16, u16>,
}

impl Declarations {
    /// Adds the schema or the channel in `content`, which is declared at `position`.
    /// Returns `None` if it is malformed.
    pub(super) fn add(
        &mut self,
        op: u8,
        content: &[u8],
        position: Range<u64>,
    ) -> Option<()> {
        if op == op::SCHEMA {
            let schema = Schema::parse(content)?;
            self.schema_ids.insert(schema.id);
            self.schemas.push((schema, position));
        } else {
            let channel = Channel::parse(content)?;
            self.schema_of_channel.entry(channel.id).or_insert(channel.schema);
            self.channels.push(channel);
        }
        Some(())
    }

    /// Returns true if the channel `id` is declared.
    pub(super) fn has_channel(&self, id: u16) -> bool {
        self.schema_of_channel.contains_key(&id)
    }

    /// Returns true if all `used_channels` and the schemas of all declared channels are
    /// declared. If it is not known which channels are used, at least one must be declared.
    pub(super) fn are_complete(&self, used_channels: &BTreeSet<u16>) -> bool {
        let has_schema = |id: &u16| *id == 0 || self.schema_ids.contains(id);
        let has_channels = if used_channels.is_empty() {
            !self.channels.is_empty()
        } else {
            used_channels.iter().all(|id| self.has_channel(*id))
        };
        has_channels && self.schema_of_channel.values().all(has_schema)
    }

    /// Adds the declarations in the chunk of `index`. Returns true if the chunk is
    /// valid.
    pub(super) fn read_chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        index: &ChunkIndex,
        options: OpenOptions,
        limits: &ChunkLimits,
    ) -> Result<bool> {
        if index.chunk_len > chunk::max_record_len(options) {
            return Ok(false);
        }
        let bytes = window.peek(index.chunk_offset, index.chunk_len as usize)?;
        let decompressed = DecompressedChunk::new(&bytes, limits, window.source())?;
        let Some(decompressed) = decompressed.filter(DecompressedChunk::is_sound)
        else {
            return Ok(false);
        };
        let chunk_range = index.chunk_offset..index.chunk_offset + index.chunk_len;
        let mut is_valid = true;
        contents::for_each_record(&decompressed.records, |item| match item {
            ContentItem::Record(op @ (op::SCHEMA | op::CHANNEL), content, range) => {
                let position = decompressed.file_range(chunk_range.clone(), &range);
                is_valid &= self.add(op, content, position).is_some();
            }
            ContentItem::Record(..) => {}
            ContentItem::Damaged(_) => is_valid = false,
        });
        Ok(is_valid)
    }

    /// Adds all declarations to `table`.
    pub(super) fn add_to(self, table: &mut ChannelTable) {
        let schemas = self.schemas.into_iter();
        schemas.for_each(|(schema, position)| table.add_schema(schema, position));
        self.channels.into_iter().for_each(|channel| table.add_channel(channel));
    }
}
