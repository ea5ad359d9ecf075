//! The schemas and channels of a file with a summary.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Range,
};

use logtool_core::{OpenOptions, Result, WindowReader};

use crate::{
    chunk::{self, Opened},
    contents::{self, Met},
    table::Table,
    wire::{Channel, ChunkIndex, Schema, op},
};

/// The schemas and channels that were found so far.
///
/// A summary need not repeat them: the data section declares each before its first message
/// (MCAP specification, "Summary Section"). They are kept apart from the table until all are
/// known, because a channel needs its schema there.
#[derive(Default)]
pub(super) struct Declarations {
    /// The schemas, and where they are declared.
    schemas: Vec<(Schema, Range<u64>)>,
    channels: Vec<Channel>,
    schema_ids: HashSet<u16>,
    /// The schema of each channel, 0 for none.
    schema_of_channel: HashMap<u16, u16>,
}

impl Declarations {
    /// Adds the schema or the channel in `content`, which is declared at `place`; returns `None`
    /// if it cannot be read.
    pub(super) fn add(
        &mut self,
        op: u8,
        content: &[u8],
        place: Range<u64>,
    ) -> Option<()> {
        if op == op::SCHEMA {
            let schema = Schema::parse(content)?;
            self.schema_ids.insert(schema.id);
            self.schemas.push((schema, place));
        } else {
            let channel = Channel::parse(content)?;
            self.schema_of_channel.entry(channel.id).or_insert(channel.schema);
            self.channels.push(channel);
        }
        Some(())
    }

    /// Whether the channel `id` is declared.
    pub(super) fn has_channel(&self, id: u16) -> bool {
        self.schema_of_channel.contains_key(&id)
    }

    /// Whether all `used` channels and the schemas of all channels are declared. Where no
    /// channel is known to be used, at least one has to be declared.
    pub(super) fn are_complete(&self, used: &BTreeSet<u16>) -> bool {
        let has_schema = |id: &u16| *id == 0 || self.schema_ids.contains(id);
        let has_channels = match used.is_empty() {
            true => !self.channels.is_empty(),
            false => used.iter().all(|id| self.has_channel(*id)),
        };
        has_channels && self.schema_of_channel.values().all(has_schema)
    }

    /// Adds the declarations in the chunk of `index`. Returns whether that chunk is sound.
    pub(super) fn read_chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        index: &ChunkIndex,
        options: OpenOptions,
    ) -> Result<bool> {
        if index.len > chunk::most(options) {
            return Ok(false);
        }
        let bytes = window.peek(index.at, index.len as usize)?;
        let opened = Opened::new(&bytes, options.record_bytes as usize);
        let Some(opened) = opened.filter(Opened::is_sound) else { return Ok(false) };
        let mut is_sound = true;
        contents::walk(&opened.records, |met| match met {
            Met::Record(op @ (op::SCHEMA | op::CHANNEL), content, range) => {
                let place = opened.place(index.at..index.at + index.len, &range);
                is_sound &= self.add(op, content, place).is_some();
            }
            Met::Record(..) => {}
            Met::Gap(_) => is_sound = false,
        });
        Ok(is_sound)
    }

    /// Declares all of them in `table`.
    pub(super) fn declare(self, table: &mut Table) {
        let schemas = self.schemas.into_iter();
        schemas.for_each(|(schema, place)| table.schema(schema, place));
        self.channels.into_iter().for_each(|channel| table.channel(channel));
    }
}
