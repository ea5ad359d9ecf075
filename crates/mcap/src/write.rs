//! Writes MCAP files.
//!
//! Chunks are compressed on the current rayon pool, a few at a time, and are written in
//! order, each followed by its message indexes. If writing stops early, the chunks
//! written so far are complete, and contain everything needed to read them.

mod attachments;
mod chunk_builder;
mod chunks;
mod encode;
mod schemas;

use std::collections::BTreeMap;

use logtool_core::{
    Error, ErrorKind, Output, OutputWriter, Result, TaskQueue, Timestamp,
};

use crate::{
    chunk::Compression,
    wire::{Channel, ChunkIndex, MAGIC, Schema, op},
    write::{
        attachments::WrittenAttachment, chunk_builder::ChunkBuilder,
        chunks::FinishedChunk, encode::Records, schemas::Schemas,
    },
};

pub(crate) use self::{
    attachments::{ChecksumMode, has_valid_checksum, shifted_time},
    chunks::VerbatimChunk,
    encode::ChunkProperties,
};

/// The options of a [`Writer`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// The profile of the file, e.g. `ros1`; empty for no profile.
    pub profile: String,
    /// The compression of chunks.
    pub compression: Compression,
    /// The number of bytes of uncompressed records after which a chunk ends.
    pub chunk_bytes: u32,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            profile: String::new(),
            compression: Compression::Zstd,
            chunk_bytes: 1 << 20,
        }
    }
}

/// Writes an MCAP file, message by message.
///
/// ```
/// use std::{collections::BTreeMap, io::Cursor};
/// use logtool_core::Timestamp;
/// use logtool_mcap::{Writer, WriterOptions};
///
/// let mut file = Writer::new(Cursor::new(Vec::new()), WriterOptions::default())?;
/// let schema = file.schema("std_msgs/String", "ros1msg", b"string data\n")?;
/// let chatter = file.channel("/chatter", schema, "ros1", BTreeMap::new())?;
/// let time = Timestamp::from_nanos(1_000_000_000);
/// file.write(chatter, 0, time, time, b"\x05\0\0\0hello")?;
/// let bytes = file.finish()?.into_inner();
/// assert!(bytes.starts_with(b"\x89MCAP0\r\n"));
/// # Ok::<(), logtool_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    output: OutputWriter<W>,
    options: WriterOptions,
    schemas: Schemas,
    channels: Vec<ChannelState>,
    /// The index of each channel in `channels`, by channel id.
    by_id: Vec<Option<usize>>,
    /// All channel ids below this one are in use.
    lowest_free_id: usize,
    current_chunk: ChunkBuilder,
    queue: TaskQueue<Result<FinishedChunk>>,
    /// Empty buffers that later chunks can use.
    buffers: Vec<Vec<u8>>,
    /// The chunks that were written, for the summary.
    chunks: Vec<ChunkIndex>,
    /// The metadata records: name, offset and length.
    metadata: Vec<(String, u64, u64)>,
    attachments: Vec<WrittenAttachment>,
    statistics: Statistics,
}

/// A schema of a [`Writer`]; the default is no schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaHandle(u16);

/// A channel of a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelHandle(u16);

/// A channel, and the state of writing it.
#[derive(Debug)]
struct ChannelState {
    channel: Channel,
    /// Whether the data section declares it already.
    is_declared: bool,
    messages: u64,
}

/// Statistics of all messages, for the summary.
#[derive(Debug, Default)]
struct Statistics {
    messages: u64,
    /// The first and the last log time.
    times: Option<(u64, u64)>,
}

impl<W: Output> Writer<W> {
    /// Starts a file in `out`, which must be empty.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn new(out: W, options: WriterOptions) -> Result<Self> {
        let mut output = OutputWriter::new(out, 0);
        let mut records = Records::default();
        let library = concat!("logtool ", env!("CARGO_PKG_VERSION"));
        records.add(op::HEADER, |content| {
            content.text(&options.profile).text(library);
        });
        output.append(&[&MAGIC, records.bytes()].concat())?;
        Ok(Self {
            output,
            options,
            schemas: Schemas::default(),
            channels: Vec::new(),
            by_id: Vec::new(),
            lowest_free_id: 0,
            current_chunk: ChunkBuilder::default(),
            queue: TaskQueue::with_double_length(),
            buffers: Vec::new(),
            chunks: Vec::new(),
            metadata: Vec::new(),
            attachments: Vec::new(),
            statistics: Statistics::default(),
        })
    }

    /// Adds a schema of messages, unless an equal one exists.
    ///
    /// # Errors
    /// `Limit` if there are already 65,535 schemas.
    pub fn schema(
        &mut self,
        name: &str,
        encoding: &str,
        data: &[u8],
    ) -> Result<SchemaHandle> {
        self.schemas.add(name, encoding, data).map(SchemaHandle)
    }

    /// Adds a schema with the id that it has in another file. Returns `None` if the id is
    /// in use for a different schema.
    pub(crate) fn schema_with_id(&mut self, schema: Schema) -> Option<SchemaHandle> {
        self.schemas.add_with_id(schema).map(SchemaHandle)
    }

    /// Adds a channel of `topic` with messages of `schema` in this `encoding`.
    ///
    /// # Errors
    /// `Limit` if there are already 65,536 channels.
    pub fn channel(
        &mut self,
        topic: &str,
        schema: SchemaHandle,
        encoding: &str,
        metadata: BTreeMap<String, String>,
    ) -> Result<ChannelHandle> {
        let id = self.free_channel_id()?;
        let (topic, encoding) = (topic.to_owned(), encoding.to_owned());
        let channel = Channel { id, schema: schema.0, topic, encoding, metadata };
        Ok(self.add_channel(channel))
    }

    /// Adds a channel with the id that it has in another file. Returns `None` if the id is
    /// in use.
    pub(crate) fn channel_with_id(
        &mut self,
        channel: Channel,
    ) -> Option<ChannelHandle> {
        let is_free = self.channel_index(channel.id).is_none();
        is_free.then(|| self.add_channel(channel))
    }

    /// Returns a channel id that is not in use.
    fn free_channel_id(&mut self) -> Result<u16> {
        if let Ok(next_id) = u16::try_from(self.by_id.len()) {
            return Ok(next_id);
        }
        // Ids stay in use, so no id is examined twice.
        let ids = self.by_id.iter().enumerate().skip(self.lowest_free_id);
        let free_id = ids.filter(|(_, index)| index.is_none()).map(|(id, _)| id).next();
        let free_id =
            free_id.and_then(|id| u16::try_from(id).ok()).ok_or_else(|| {
                let message = "an MCAP file cannot have more than 65,536 channels";
                Error::new(ErrorKind::Limit, message)
            })?;
        self.lowest_free_id = usize::from(free_id);
        Ok(free_id)
    }

    /// Returns the index in `channels` of the channel `id`.
    fn channel_index(&self, id: u16) -> Option<usize> {
        *self.by_id.get(usize::from(id))?
    }

    fn add_channel(&mut self, channel: Channel) -> ChannelHandle {
        let handle = ChannelHandle(channel.id);
        let id = usize::from(channel.id);
        self.by_id.resize(self.by_id.len().max(id + 1), None);
        if let Some(index) = self.by_id.get_mut(id) {
            *index = Some(self.channels.len());
        }
        self.channels.push(ChannelState { channel, is_declared: false, messages: 0 });
        handle
    }

    /// Writes a message of `channel`.
    ///
    /// # Errors
    /// `Limit` if a time is before 1970, which leaves the file unchanged. `Io` if
    /// writing fails; then nothing more must be written. `NoSuch` if the channel is
    /// from another file.
    pub fn write(
        &mut self,
        channel: ChannelHandle,
        sequence: u32,
        log_time: Timestamp,
        publish_time: Timestamp,
        data: &[u8],
    ) -> Result<()> {
        let (log_time, publish_time) = (nanos(log_time)?, nanos(publish_time)?);
        let index = self.channel_index(channel.0);
        let Some(state) = index.and_then(|index| self.channels.get_mut(index)) else {
            let message = format!("the channel {} is not from this file", channel.0);
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        state.declare_once(&self.schemas, &mut self.current_chunk.records);
        state.messages += 1;
        self.statistics.count(1, log_time, log_time);
        self.current_chunk.message(channel.0, sequence, log_time, publish_time, data);
        if self.current_chunk.len() > self.options.chunk_bytes as usize {
            self.end_chunk()?;
        }
        Ok(())
    }

    /// Writes a metadata record with the entries `metadata`.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn metadata(
        &mut self,
        name: &str,
        metadata: &BTreeMap<String, String>,
    ) -> Result<()> {
        self.flush()?;
        let mut records = Records::default();
        records.add(op::METADATA, |content| {
            content.text(name).text_map(metadata);
        });
        let (offset, len) = (self.output.position(), records.bytes().len() as u64);
        self.metadata.push((name.to_owned(), offset, len));
        self.output.append(records.bytes())
    }

    /// Ends the current chunk if it has messages, and writes all chunks, so that the output
    /// contains all messages so far.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn flush(&mut self) -> Result<()> {
        self.end_chunk()?;
        while let Some(finished) = self.queue.wait() {
            self.write_chunk(finished?)?;
        }
        self.output.flush()
    }

    /// Writes the summary, and returns the output.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        let mut data_end = Records::default();
        data_end.add(op::DATA_END, |content| {
            content.u32(0); // no checksum
        });
        self.output.append(data_end.bytes())?;
        let summary_start = self.output.position();
        let mut summary = Records::default();
        let mut groups = Vec::new();
        let mut add_group = |op: u8, add_records: &dyn Fn(&mut Records)| {
            let start = summary.bytes().len() as u64;
            add_records(&mut summary);
            let len = summary.bytes().len() as u64 - start;
            if len > 0 {
                groups.push((op, summary_start + start, len));
            }
        };
        add_group(op::SCHEMA, &|records| {
            self.schemas.iter().for_each(|schema| records.schema(schema));
        });
        add_group(op::CHANNEL, &|records| {
            self.channels.iter().for_each(|state| records.channel(&state.channel));
        });
        add_group(op::STATISTICS, &|records| self.add_statistics(records));
        add_group(op::CHUNK_INDEX, &|records| {
            self.chunks.iter().for_each(|chunk| records.chunk_index(chunk));
        });
        add_group(op::ATTACHMENT_INDEX, &|records| {
            let attachments = self.attachments.iter();
            attachments.for_each(|attachment| records.attachment_index(attachment));
        });
        add_group(op::METADATA_INDEX, &|records| {
            for (name, offset, len) in &self.metadata {
                records.add(op::METADATA_INDEX, |content| {
                    content.u64(*offset).u64(*len).text(name);
                });
            }
        });
        let offsets_start = summary_start + summary.bytes().len() as u64;
        for (op, start, len) in groups {
            summary.add(op::SUMMARY_OFFSET, |content| {
                content.u8(op).u64(start).u64(len);
            });
        }
        summary.footer(summary_start, offsets_start);
        self.output.append(summary.bytes())?;
        self.output.append(&MAGIC)?;
        self.output.into_inner()
    }

    /// Adds the statistics record.
    fn add_statistics(&self, records: &mut Records) {
        let (first, last) = self.statistics.times.unwrap_or_default();
        let used_channels = self.channels.iter().filter(|state| state.messages > 0);
        records.add(op::STATISTICS, |content| {
            content.u64(self.statistics.messages).u16(self.schemas.len() as u16);
            content.u32(self.channels.len() as u32).u32(self.attachments.len() as u32);
            content.u32(self.metadata.len() as u32).u32(self.chunks.len() as u32);
            content.u64(first).u64(last).length_prefixed(|counts| {
                for ChannelState { channel, messages, .. } in used_channels {
                    counts.u16(channel.id).u64(*messages);
                }
            });
        });
    }
}

impl ChannelState {
    /// Adds the declarations of the channel and of its schema to `records`, unless the file
    /// already has them.
    #[inline]
    fn declare_once(&mut self, schemas: &Schemas, records: &mut Records) {
        if self.is_declared {
            return;
        }
        self.is_declared = true;
        if let Some(schema) = schemas.get(self.channel.schema) {
            records.schema(schema);
        }
        records.channel(&self.channel);
    }
}

impl Statistics {
    fn count(&mut self, messages: u64, start: u64, end: u64) {
        self.messages += messages;
        let (first, last) = self.times.unwrap_or((start, end));
        self.times = Some((first.min(start), last.max(end)));
    }
}

/// Converts a time to the form in MCAP files.
fn nanos(time: Timestamp) -> Result<u64> {
    u64::try_from(time.as_nanos()).map_err(|_| {
        let message = format!(
            "a record is at {} ns, but MCAP does not support times before 1970",
            time.as_nanos()
        );
        Error::new(ErrorKind::Limit, message)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn last_ids_can_be_copied_and_leave_the_others_free() {
        let mut file =
            Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
        let last = Schema { id: u16::MAX, name: "a".to_owned(), ..Schema::default() };
        assert_eq!(file.schema_with_id(last), Some(SchemaHandle(u16::MAX)));
        assert_eq!(file.schema("b", "ros1msg", b"").unwrap(), SchemaHandle(1));
        let last = Channel { id: u16::MAX, ..Channel::default() };
        assert_eq!(file.channel_with_id(last.clone()), Some(ChannelHandle(u16::MAX)));
        assert_eq!(file.channel_with_id(last), None);
        for id in [0, 1] {
            let schema = SchemaHandle::default();
            let channel = file.channel("/x", schema, "ros1", BTreeMap::new());
            assert_eq!(channel.unwrap(), ChannelHandle(id));
        }
    }
}
