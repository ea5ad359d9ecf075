//! Chunks that can be copied as they are.
//!
//! That is so if all that is in them is wanted, and would be written with the same numbers of
//! channels and schemas, and if it is sound: each is unpacked and looked into.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use logtool_core::{
    LogSlice, OpenOptions, Part, Result, Selection, Source, TopicId, WriteOptions,
};

use crate::{
    chunk::{self, Compression, Opened, Unpacked},
    contents::{self, Met},
    notes::Notes,
    sink::options::named,
    wire::{self, Channel, Chunk, HEAD_LEN, Schema, op, timestamp},
    write::{Copied, Told},
};

/// Which chunks of an extract can be copied, if any.
#[derive(Debug)]
pub(super) struct Whole {
    /// The numbers of the channels of all streams, and of their schemas.
    numbers: Vec<(u16, u16)>,
    /// The topics of the channels that have the same numbers in the new file; nothing for
    /// a number that is another channel's there.
    kept: BTreeMap<u16, Option<TopicId>>,
    /// The schemas and channels that have the same numbers in the new file.
    declared: BTreeMap<(u8, u16), u32>,
    selection: Selection,
    /// Where chunks lie.
    chunks: Vec<Range<u64>>,
    /// The compression that was asked for.
    compression: Option<Compression>,
}

/// For each channel, the times of its messages and where they are in the chunk.
type Index = BTreeMap<u16, Vec<(u64, u64)>>;

impl Whole {
    /// Of `extract`, of which `notes` are the manifest's; nothing if its channels cannot be
    /// declared as they are.
    ///
    /// # Errors
    /// `Unsupported` for an unknown compression.
    pub(super) fn new(
        extract: &LogSlice<'_>,
        notes: &Notes,
        options: &WriteOptions,
    ) -> Result<Option<Self>> {
        if notes.schemas.len() != notes.channels.len() {
            return Ok(None);
        }
        let LogSlice { manifest, selection } = extract;
        let channels = notes.channels.iter().map(|(id, _)| *id);
        let tiles = manifest.parts.iter().zip(&notes.chunks);
        let tiles = tiles.filter(|(_, is_chunk)| **is_chunk);
        Ok(Some(Self {
            numbers: channels.zip(notes.schemas.iter().copied()).collect(),
            kept: BTreeMap::new(),
            declared: BTreeMap::new(),
            selection: selection.clone(),
            chunks: tiles.map(|(part, _)| part.bytes.clone()).collect(),
            compression: options.compression.as_deref().map(named).transpose()?,
        }))
    }

    /// The numbers of the channel that is the stream `stream`, and of its schema.
    pub(super) fn numbers(&self, stream: u32) -> Option<(u16, u16)> {
        self.numbers.get(stream as usize).copied()
    }

    /// Records the topic of the channel `stream` if the channel keeps its number in the new
    /// file, or `None` if it does not. Chunks with messages of such a channel are not copied.
    pub(super) fn keep(&mut self, stream: u32, topic: Option<TopicId>) {
        if let Some((channel, _)) = self.numbers(stream) {
            let kept = self.kept.entry(channel).or_insert(topic);
            *kept = kept.filter(|kept| topic == Some(*kept));
        }
    }

    /// Records `declarations` that are made in the new file too. Chunks that contradict one
    /// of them are not copied.
    pub(super) fn declare(&mut self, declarations: Vec<Declaration>) {
        self.declared.extend(declarations.iter().map(|one| (one.key, one.sum)));
    }

    /// The chunk that `part` of `source` is, if it can be copied.
    pub(super) fn chunk(
        &self,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<Copied>> {
        let options = OpenOptions::default();
        let place = &part.bytes;
        let found = self.chunks.binary_search_by_key(&place.start, |one| one.start);
        let is_one = found.is_ok_and(|at| self.chunks.get(at) == Some(place));
        if !is_one || place.end - place.start > chunk::most(options) {
            return Ok(None);
        }
        let record = source.read_at(place.clone())?;
        let Some(Head { start, end, size, crc, compression, packed_len }) =
            head(&record)
        else {
            return Ok(None);
        };
        let known = Compression::of(compression.as_bytes());
        let is_as_asked = self.compression.is_none_or(|asked| known == Some(asked));
        if known.is_none() || !is_as_asked {
            return Ok(None);
        }
        let limit = options.record_bytes as usize;
        let Some(mut index) = self.inside(&record, limit) else { return Ok(None) };
        index.values_mut().for_each(|entries| entries.sort_by_key(|(time, _)| *time));
        let times = index.values().flatten().map(|(time, _)| *time);
        let (first, last) = (times.clone().min(), times.max());
        if (first, last) != (Some(start), Some(end)) || !self.wants(&index) {
            return Ok(None);
        }
        let told = Told { start, end, size, crc, index };
        Ok(Some(Copied { record, compression, packed_len, told }))
    }

    /// What is in the chunk, if it is sound and has nothing but messages and what they need.
    fn inside(&self, record: &Bytes, limit: usize) -> Option<Index> {
        let opened = Opened::new(record, limit)?;
        if opened.how != Unpacked::Whole || !opened.is_sound() {
            return None;
        }
        let (mut index, mut is_sound) = (Index::new(), true);
        contents::walk(&opened.records, |met| match met {
            Met::Record(op::MESSAGE, content, range) => match wire::message(content) {
                Some((channel, time)) => {
                    let at = (range.start - HEAD_LEN) as u64;
                    index.entry(channel).or_default().push((time, at));
                }
                None => is_sound = false,
            },
            Met::Record(op @ (op::SCHEMA | op::CHANNEL), content, _) => {
                // A number that is used again would stand for something else.
                is_sound &= Declaration::parse(op, content).is_some_and(|told| {
                    self.declared.get(&told.key).is_none_or(|sum| *sum == told.sum)
                });
            }
            Met::Record(..) | Met::Gap(_) => is_sound = false,
        });
        (is_sound && !index.is_empty()).then_some(index)
    }

    /// Whether all that `index` tells of is wanted, and of channels that have the same numbers.
    fn wants(&self, index: &Index) -> bool {
        index.iter().all(|(channel, entries)| {
            let topic = self.kept.get(channel).copied().flatten();
            topic.is_some_and(|topic| self.selection.topics.contains(topic))
                && entries
                    .iter()
                    .all(|(time, _)| self.selection.time.contains(timestamp(*time)))
        })
    }
}

/// A schema or a channel, as little of it as is needed to see whether another contradicts it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declaration {
    /// Its opcode and its number.
    key: (u8, u16),
    /// The checksum of all that it says.
    sum: u32,
}

impl Declaration {
    pub(super) fn of_schema(schema: &Schema) -> Self {
        let Schema { id, name, encoding, data } = schema;
        let mut hasher = crc32fast::Hasher::new();
        for part in [name.as_bytes(), encoding.as_bytes(), data] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self { key: (op::SCHEMA, *id), sum: hasher.finalize() }
    }

    pub(super) fn of_channel(channel: &Channel) -> Self {
        // The order of the metadata in the file means nothing, and is not in here.
        let sum = crc32fast::hash(format!("{channel:?}").as_bytes());
        Self { key: (op::CHANNEL, channel.id), sum }
    }

    /// Returns what the record of the kind `op` declares.
    fn parse(op: u8, content: &[u8]) -> Option<Self> {
        match op {
            op::SCHEMA => Schema::parse(content).map(|schema| Self::of_schema(&schema)),
            _ => Channel::parse(content).map(|channel| Self::of_channel(&channel)),
        }
    }
}

/// What the head of a chunk says.
struct Head {
    start: u64,
    end: u64,
    size: u64,
    crc: u32,
    compression: String,
    packed_len: u64,
}

/// What is said by the head of the chunk that `record` is, if all of that is there.
fn head(record: &Bytes) -> Option<Head> {
    let (op::CHUNK, content) = wire::record(record)? else { return None };
    let Chunk { start, end, size, crc, compression, packed_len, packed } =
        Chunk::parse(content)?;
    let is_whole = HEAD_LEN + content.len() == record.len()
        && packed.len() as u64 == packed_len
        && content.len() - packed.len() == 40 + compression.len();
    let compression = str::from_utf8(compression).ok()?.to_owned();
    is_whole.then_some(Head { start, end, size, crc, compression, packed_len })
}
