//! Chunks that can be copied unchanged.
//!
//! This requires that all messages of the chunk are selected, that channels and schemas
//! have the same ids in the new file, and that the chunk is valid, which is verified by
//! decompressing it.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use logtool_core::{
    LogSlice, OpenOptions, Part, Result, Selection, Source, TopicId, WriteOptions,
};

use crate::{
    chunk::{self, Compression, DecompressedChunk, Decompression},
    contents::{self, ContentItem},
    declaration::Declaration,
    format_state::FormatState,
    sink::options::compression,
    wire::{self, Chunk, RECORD_HEADER_LEN, op, timestamp},
    write::{ChunkProperties, VerbatimChunk},
};

/// The chunks of a selection that can be copied.
#[derive(Debug)]
pub(super) struct VerbatimChunks {
    /// The channel id and the schema id of each stream.
    ids: Vec<(u16, u16)>,
    /// The topics of the channels that have the same id in the new file; `None` for an
    /// id of another channel.
    channel_topics: BTreeMap<u16, Option<TopicId>>,
    /// The schemas and channels that have the same ids in the new file, by opcode and id.
    declared: BTreeMap<(u8, u16), Declaration>,
    selection: Selection,
    /// The byte ranges of the chunks.
    chunks: Vec<Range<u64>>,
    /// The requested compression.
    compression: Option<Compression>,
}

/// For each channel, the times of its messages and their offsets in the chunk.
type Index = BTreeMap<u16, Vec<(u64, u64)>>;

impl VerbatimChunks {
    /// Creates the collection for `extract`, whose private state is `format_state`. Returns
    /// `None` if its channels cannot be declared identically.
    ///
    /// # Errors
    /// `Unsupported` for an unknown compression.
    pub(super) fn new(
        extract: &LogSlice<'_>,
        format_state: &FormatState,
        options: &WriteOptions,
    ) -> Result<Option<Self>> {
        if format_state.schemas.len() != format_state.channels.len() {
            return Ok(None);
        }
        let LogSlice { manifest, selection } = extract;
        let channels = format_state.channels.iter().map(|(id, _)| *id);
        let chunks = manifest.parts.iter().zip(&format_state.chunks);
        let chunks = chunks.filter(|(_, is_chunk)| **is_chunk);
        Ok(Some(Self {
            ids: channels.zip(format_state.schemas.iter().copied()).collect(),
            channel_topics: BTreeMap::new(),
            declared: BTreeMap::new(),
            selection: selection.clone(),
            chunks: chunks.map(|(part, _)| part.bytes.clone()).collect(),
            compression: options.compression.as_deref().map(compression).transpose()?,
        }))
    }

    /// Returns the ids of the channel of `stream` and of its schema.
    pub(super) fn ids(&self, stream: u32) -> Option<(u16, u16)> {
        self.ids.get(stream as usize).copied()
    }

    /// Stores the topic of the channel `stream` if the channel keeps its id in the new
    /// file, or `None` if it does not. Chunks with messages of such a channel are not
    /// copied.
    pub(super) fn set_channel(&mut self, stream: u32, topic: Option<TopicId>) {
        if let Some((channel, _)) = self.ids(stream) {
            let topic_of_channel = self.channel_topics.entry(channel).or_insert(topic);
            *topic_of_channel = topic_of_channel
                .filter(|topic_of_channel| topic == Some(*topic_of_channel));
        }
    }

    /// Stores `declarations` of the new file. Chunks that contradict one of them are
    /// not copied.
    pub(super) fn declare(&mut self, declarations: Vec<Declaration>) {
        self.declared.extend(
            declarations
                .into_iter()
                .map(|declaration| (declaration.key(), declaration)),
        );
    }

    /// Returns the chunk of `part` of `source`, if it can be copied.
    pub(super) fn chunk(
        &self,
        part: &Part,
        source: &dyn Source,
    ) -> Result<Option<VerbatimChunk>> {
        let options = OpenOptions::default();
        let position = &part.bytes;
        let index =
            self.chunks.binary_search_by_key(&position.start, |chunk_position| {
                chunk_position.start
            });
        let is_chunk = index.is_ok_and(|at| self.chunks.get(at) == Some(position));
        if !is_chunk || position.end - position.start > chunk::max_record_len(options) {
            return Ok(None);
        }
        let record = source.read_at(position.clone())?;
        let Some(ChunkHeader { start, end, size, crc, compression, compressed_len }) =
            chunk_header(&record)
        else {
            return Ok(None);
        };
        let known = Compression::from_name(compression.as_bytes());
        let is_requested =
            self.compression.is_none_or(|requested| known == Some(requested));
        if known.is_none() || !is_requested {
            return Ok(None);
        }
        let limit = options.record_bytes as usize;
        let Some(mut index) = self.messages(&record, limit) else { return Ok(None) };
        index.values_mut().for_each(|entries| entries.sort_by_key(|(time, _)| *time));
        let times = index.values().flatten().map(|(time, _)| *time);
        let (first, last) = (times.clone().min(), times.max());
        if (first, last) != (Some(start), Some(end)) || !self.selects_all(&index) {
            return Ok(None);
        }
        let properties = ChunkProperties { start, end, size, crc, index };
        Ok(Some(VerbatimChunk { record, compression, compressed_len, properties }))
    }

    /// Returns the messages of the chunk, if it is valid and contains only messages and
    /// their declarations.
    fn messages(&self, record: &Bytes, limit: usize) -> Option<Index> {
        let decompressed = DecompressedChunk::new(record, limit)?;
        if decompressed.result != Decompression::Complete || !decompressed.is_sound() {
            return None;
        }
        let (mut index, mut is_sound) = (Index::new(), true);
        contents::for_each_record(&decompressed.records, |item| match item {
            ContentItem::Record(op::MESSAGE, content, range) => {
                match wire::message(content) {
                    Some((channel, time)) => {
                        let at = (range.start - RECORD_HEADER_LEN) as u64;
                        index.entry(channel).or_default().push((time, at));
                    }
                    None => is_sound = false,
                }
            }
            ContentItem::Record(op @ (op::SCHEMA | op::CHANNEL), content, _) => {
                // An id with another declaration would change its meaning.
                is_sound &= Declaration::parse(op, content).is_some_and(|new| {
                    let declared = self.declared.get(&new.key());
                    declared.is_none_or(|declared| *declared == new)
                });
            }
            ContentItem::Record(..) | ContentItem::Damaged(_) => is_sound = false,
        });
        (is_sound && !index.is_empty()).then_some(index)
    }

    /// Returns true if all messages in `index` are selected and keep their channel ids.
    fn selects_all(&self, index: &Index) -> bool {
        index.iter().all(|(channel, entries)| {
            let topic = self.channel_topics.get(channel).copied().flatten();
            topic.is_some_and(|topic| self.selection.topics.contains(topic))
                && entries
                    .iter()
                    .all(|(time, _)| self.selection.time.contains(timestamp(*time)))
        })
    }
}

/// The header of a chunk.
struct ChunkHeader {
    start: u64,
    end: u64,
    size: u64,
    crc: u32,
    compression: String,
    compressed_len: u64,
}

/// Parses the header of the chunk in `record`, if the chunk is complete.
fn chunk_header(record: &Bytes) -> Option<ChunkHeader> {
    let (op::CHUNK, content) = wire::record(record)? else { return None };
    let Chunk { start, end, size, crc, compression, compressed_len, compressed } =
        Chunk::parse(content)?;
    let is_complete = RECORD_HEADER_LEN + content.len() == record.len()
        && compressed.len() as u64 == compressed_len
        && content.len() - compressed.len() == 40 + compression.len();
    let compression = str::from_utf8(compression).ok()?.to_owned();
    is_complete.then_some(ChunkHeader {
        start,
        end,
        size,
        crc,
        compression,
        compressed_len,
    })
}
