//! Finds the chunks that can be copied unchanged.
//!
//! This requires that all messages of the chunk are selected, that its channels and
//! schemas have the same ids in the new file, and that the chunk is valid, which is
//! verified by decompressing it.

use std::{collections::BTreeMap, ops::Range};

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

/// The chunks of a selection, and the information that decides which of them can be copied.
#[derive(Debug)]
pub(super) struct VerbatimChunks {
    /// The channel id and the schema id of each stream.
    ids: Vec<(u16, u16)>,
    /// The topic of each channel, by channel id; `None` if the channel is not selected or
    /// has another id in the new file.
    channel_topics: BTreeMap<u16, Option<TopicId>>,
    /// The schemas and channels that have the same ids in the new file, by opcode and id.
    declared: BTreeMap<(u8, u16), Declaration>,
    selection: Selection,
    /// The byte ranges of the chunks, in the order of the file.
    chunks: Vec<Range<u64>>,
    /// The requested compression; `None` for any.
    compression: Option<Compression>,
}

/// For each channel, the times of its messages and their offsets in the chunk.
type MessageIndexes = BTreeMap<u16, Vec<(u64, u64)>>;

impl VerbatimChunks {
    /// Creates the collection for `slice`, whose private state is `format_state`. Returns
    /// `None` if its channels cannot be declared identically in another file.
    ///
    /// # Errors
    /// `Unsupported` for an unknown compression.
    pub(super) fn new(
        slice: &LogSlice<'_>,
        format_state: &FormatState,
        options: &WriteOptions,
    ) -> Result<Option<Self>> {
        if format_state.schema_ids.len() != format_state.channels.len() {
            return Ok(None);
        }
        let LogSlice { manifest, selection } = slice;
        let channel_ids = format_state.channels.iter().map(|(id, _)| *id);
        let parts = manifest.parts.iter().zip(&format_state.is_chunk);
        let chunks = parts.filter(|(_, is_chunk)| **is_chunk);
        Ok(Some(Self {
            ids: channel_ids.zip(format_state.schema_ids.iter().copied()).collect(),
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

    /// Stores the topic of the channel of `stream`. `topic` is `None` if the channel is not
    /// selected or has another id in the new file; then chunks with its messages are not
    /// copied. The same applies if streams with different topics have the same channel id.
    pub(super) fn set_channel(&mut self, stream: u32, topic: Option<TopicId>) {
        if let Some((channel, _)) = self.ids(stream) {
            let channel_topic = self.channel_topics.entry(channel).or_insert(topic);
            if *channel_topic != topic {
                *channel_topic = None;
            }
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
            self.chunks.binary_search_by_key(&position.start, |chunk| chunk.start);
        let is_chunk =
            index.is_ok_and(|index| self.chunks.get(index) == Some(position));
        if !is_chunk || position.end - position.start > chunk::max_record_len(options) {
            return Ok(None);
        }
        let record = source.read_at(position.clone())?;
        let Some(chunk) = complete_chunk(&record) else { return Ok(None) };
        let Some(compression) = Compression::from_name(chunk.compression) else {
            return Ok(None);
        };
        if self.compression.is_some_and(|requested| compression != requested) {
            return Ok(None);
        }
        let decompressed =
            DecompressedChunk::new_ordinary(&record, chunk.uncompressed_len);
        let indexes =
            decompressed.and_then(|decompressed| self.index_messages(&decompressed));
        let Some(mut indexes) = indexes else { return Ok(None) };
        indexes.values_mut().for_each(|entries| entries.sort_by_key(|(time, _)| *time));
        let times = indexes.values().flatten().map(|(time, _)| *time);
        let (first, last) = (times.clone().min(), times.max());
        if (first, last) != (Some(chunk.start_time), Some(chunk.end_time))
            || !self.selects_all(&indexes)
        {
            return Ok(None);
        }
        let properties = ChunkProperties {
            start_time: chunk.start_time,
            end_time: chunk.end_time,
            uncompressed_len: chunk.uncompressed_len,
            crc: chunk.crc,
            message_indexes: indexes,
        };
        // The name is copied, because uncompressed chunks have one of two names.
        let name = logtool_core::decode_text(chunk.compression).into_owned();
        let compressed_len = chunk.compressed_len;
        Ok(Some(VerbatimChunk {
            record,
            compression: name,
            compressed_len,
            properties,
        }))
    }

    /// Returns the message indexes of the chunk, if it is valid and contains only messages
    /// and declarations that do not contradict those of the new file.
    fn index_messages(
        &self,
        decompressed: &DecompressedChunk,
    ) -> Option<MessageIndexes> {
        if decompressed.result != Decompression::Complete || !decompressed.is_sound() {
            return None;
        }
        let (mut indexes, mut can_be_copied) = (MessageIndexes::new(), true);
        contents::for_each_record(&decompressed.records, |item| match item {
            ContentItem::Record(op::MESSAGE, content, range) => {
                match wire::message(content) {
                    Some((channel, time)) => {
                        let offset = (range.start - RECORD_HEADER_LEN) as u64;
                        indexes.entry(channel).or_default().push((time, offset));
                    }
                    None => can_be_copied = false,
                }
            }
            ContentItem::Record(op @ (op::SCHEMA | op::CHANNEL), content, _) => {
                // In the new file, an id must not have two different declarations.
                can_be_copied &= Declaration::parse(op, content).is_some_and(|new| {
                    let declared = self.declared.get(&new.key());
                    declared.is_none_or(|declared| *declared == new)
                });
            }
            ContentItem::Record(..) | ContentItem::Damaged(_) => can_be_copied = false,
        });
        (can_be_copied && !indexes.is_empty()).then_some(indexes)
    }

    /// Returns true if all messages in `indexes` are selected and keep their channel ids.
    fn selects_all(&self, indexes: &MessageIndexes) -> bool {
        indexes.iter().all(|(channel, entries)| {
            let topic = self.channel_topics.get(channel).copied().flatten();
            topic.is_some_and(|topic| self.selection.topics.contains(topic))
                && entries
                    .iter()
                    .all(|(time, _)| self.selection.time.contains(timestamp(*time)))
        })
    }
}

/// Parses the chunk in `record`, if the record consists of the known fields of a complete
/// chunk.
fn complete_chunk(record: &[u8]) -> Option<Chunk<'_>> {
    let (op::CHUNK, content) = wire::record(record)? else { return None };
    let chunk = Chunk::parse(content)?;
    let is_complete = RECORD_HEADER_LEN + content.len() == record.len()
        && chunk.compressed.len() as u64 == chunk.compressed_len
        && content.len() == chunk.compressed_start() + chunk.compressed.len();
    is_complete.then_some(chunk)
}
