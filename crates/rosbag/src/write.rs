//! Writing bags as ROS does, and appending to them.
//!
//! ```text
//! #ROSBAG V2.0\n | bag header, without an index yet
//! chunk | index data     written as soon as it is compressed;
//! chunk | index data     earlier bytes are never changed
//! connections | chunk infos
//! bag header             written again, with the position of the index
//! ```
//! If writing stops early, all chunks so far are complete. `rosbag reindex` and all readers that
//! can read bags without an index find them.

mod append;
pub(crate) mod chunk_builder;
mod compress;
pub(crate) mod connection_header;
mod editable_header;
mod encode;
pub(crate) mod options;
pub(crate) mod repaired_header;
pub(crate) mod ros_time;

use std::{collections::HashMap, ops::Range};

use logtool_core::{
    Error, ErrorKind, Output, OutputWriter, Result, Source, TaskQueue, Timestamp,
};

use crate::{
    codec::compression::Compression,
    wire,
    write::{
        chunk_builder::{ChunkBuilder, ChunkIndex, ChunkSummary, FullChunk},
        connection_header::{ConnectionHeader, check_lengths},
        editable_header::EditableHeader,
        encode::IndexOrder,
        options::WriterOptions,
        ros_time::RosTime,
    },
};

/// The first line of a bag.
const FIRST_LINE: &[u8] = b"#ROSBAG V2.0\n";
/// The maximum length of a chunk with more than one message: ROS cannot read longer ones.
const MAX_CHUNK_LEN: u64 = i32::MAX as u64;
/// The maximum length of a chunk to which connections without messages in it are added.
const MAX_LEN_FOR_DECLARATIONS: usize = 16 << 20;

/// Writes a bag, message by message.
///
/// Chunks are compressed by the current rayon pool, a few at a time, and written in order, each
/// followed by its index data and a flush. A writer that is dropped before it is
/// [finished](Self::finish) leaves a bag without an index that ends with the last complete
/// chunk, like a killed recorder.
///
/// ```
/// use std::io::Cursor;
/// use logtool_core::Timestamp;
/// use logtool_rosbag::{Compression, ConnectionHeader, Writer, WriterOptions};
///
/// let options = WriterOptions::default().with_compression(Compression::Lz4);
/// let mut bag = Writer::new(Cursor::new(Vec::new()), options)?;
/// let header = ConnectionHeader::new("/chatter", "std_msgs/String", "string data\n");
/// let chatter = bag.connect(&header)?;
/// for (second, text) in [(1, "hello"), (2, "world")] {
///     let payload = [&5_u32.to_le_bytes()[..], text.as_bytes()].concat();
///     bag.write(chatter, Timestamp::from_nanos(second * 1_000_000_000), &payload)?;
/// }
/// let bytes = bag.finish()?.into_inner();
/// assert!(bytes.starts_with(b"#ROSBAG V2.0\n"));
/// # Ok::<(), logtool_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    output: OutputWriter<W>,
    options: WriterOptions,
    bag_header: EditableHeader,
    connections: Vec<NewConnection>,
    /// Indices into `connections` by connection id.
    by_id: HashMap<u32, usize>,
    chunk_builder: ChunkBuilder,
    queue: TaskQueue<Result<CompressedChunk>>,
    /// Buffers of written chunks, for reuse.
    spare_buffers: Vec<Vec<u8>>,
    chunks: Vec<WrittenChunk>,
    index_order: IndexOrder,
    /// Whether all undeclared connections are to be declared after the next message.
    declares_all: bool,
    /// The number of leading `connections` that are declared in a chunk.
    first_undeclared: usize,
}

/// A connection of a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionHandle {
    id: u32,
    /// The index of the connection in the writer.
    index: usize,
}

impl ConnectionHandle {
    /// Returns the id by which messages of the bag refer to the connection.
    pub fn id(self) -> u32 {
        self.id
    }
}

/// A connection of the new bag.
#[derive(Debug)]
struct NewConnection {
    id: u32,
    topic: Vec<u8>,
    header: Vec<u8>,
    /// Whether a chunk already declares it.
    is_declared: bool,
}

/// A compressed chunk.
#[derive(Debug)]
struct CompressedChunk {
    /// The compressed content.
    bytes: Vec<u8>,
    /// A buffer for reuse.
    free_buffer: Vec<u8>,
    /// The size before compression.
    size: usize,
    chunk_index: ChunkIndex,
}

/// A written chunk.
#[derive(Debug)]
struct WrittenChunk {
    /// Its position in the file.
    at: u64,
    summary: ChunkSummary,
}

impl<W: Output> Writer<W> {
    /// Starts a bag in `out`, which is empty.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn new(out: W, options: WriterOptions) -> Result<Self> {
        let (bag_header, bytes) = EditableHeader::new(FIRST_LINE.len() as u64);
        let bag_header = bag_header.ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "the new bag header cannot be read")
        })?;
        let mut writer =
            Self::with_header(OutputWriter::new(out, 0), options, bag_header);
        writer.output.append(&[FIRST_LINE, &bytes].concat())?;
        writer.output.flush()?;
        Ok(writer)
    }

    /// Creates a writer without connections and chunks, whose output already has `bag_header`.
    fn with_header(
        output: OutputWriter<W>,
        options: WriterOptions,
        bag_header: EditableHeader,
    ) -> Self {
        Self {
            output,
            options,
            bag_header,
            connections: Vec::new(),
            by_id: HashMap::new(),
            chunk_builder: ChunkBuilder::default(),
            queue: TaskQueue::new(),
            spare_buffers: Vec::new(),
            chunks: Vec::new(),
            index_order: encode::INDEX_ORDER,
            declares_all: false,
            first_undeclared: 0,
        }
    }

    /// Adds a connection with the next id.
    ///
    /// # Errors
    /// `Limit` if the topic is empty, or the topic or the definition is too long for readers, and
    /// the errors of [`ConnectionHeader::md5sum`].
    pub fn connect(&mut self, header: &ConnectionHeader) -> Result<ConnectionHandle> {
        let fields = header.to_bytes()?;
        let mut id = self.connections.len() as u32;
        while self.by_id.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        self.connect_raw(id, header.topic().as_bytes(), &fields)
    }

    /// Adds a connection with this `id`. The `header` has the form of a bag, each field as
    /// `length u32 | name=value`, and is written unchanged. The header of a connection of another
    /// bag is [`Connection::header`](crate::Connection::header).
    ///
    /// # Errors
    /// `Unsupported` if another connection has this id, `Limit` if the topic is empty, or the topic
    /// or the header is too long for readers.
    pub fn connect_raw(
        &mut self,
        id: u32,
        topic: &[u8],
        header: &[u8],
    ) -> Result<ConnectionHandle> {
        check_lengths(topic, header)?;
        if self.by_id.contains_key(&id) {
            let message = format!("two connections of one bag have the id {id}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let index = self.connections.len();
        let (topic, header) = (topic.to_vec(), header.to_vec());
        self.connections.push(NewConnection { id, topic, header, is_declared: false });
        self.by_id.insert(id, index);
        Ok(ConnectionHandle { id, index })
    }

    /// Writes a message of `connection`, which belongs to this writer, at `time`.
    ///
    /// # Errors
    /// `Limit` if a bag cannot store the time or a message of this length, and `NoSuch` if there is
    /// no such connection: the message is not written then. `Io` if writing fails: the writer
    /// cannot be used after that.
    pub fn write(
        &mut self,
        connection: ConnectionHandle,
        time: Timestamp,
        payload: &[u8],
    ) -> Result<()> {
        let stamp = RosTime::new(time)?;
        let ConnectionHandle { id, index } = connection;
        let Some(target) =
            self.connections.get(index).filter(|connection| connection.id == id)
        else {
            let message = format!("the bag has no connection {id}");
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        // The maximum length of the record that declares the connection.
        let declaration_len = if target.is_declared {
            0
        } else {
            64 + target.topic.len() + target.header.len()
        };
        let added_bytes =
            declaration_len as u64 + wire::MESSAGE_HEADER_LEN + payload.len() as u64;
        let len = self.chunk_builder.len() as u64;
        if len + added_bytes > MAX_CHUNK_LEN && self.chunk_builder.has_messages() {
            self.end_chunk()?;
        }
        if self.chunk_builder.len() as u64 + added_bytes > u64::from(u32::MAX) {
            let message = format!(
                "a message of {} bytes is too long: a chunk must be shorter than 4 GiB",
                payload.len()
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.declare(index);
        self.chunk_builder.message(id, index, stamp, payload);
        if self.declares_all {
            self.declare_others();
        }
        if self.chunk_builder.len() > self.options.chunk_bytes as usize {
            self.end_chunk()?;
        }
        Ok(())
    }

    /// Ends the current chunk, if it has messages, and compresses and writes all pending chunks.
    /// After this, all messages so far are in the output.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn flush(&mut self) -> Result<()> {
        self.end_chunk()?;
        while let Some(compressed) = self.queue.wait() {
            self.write_chunk(compressed?)?;
        }
        Ok(())
    }

    /// Writes the index, and returns the output.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        let index_at = self.output.position();
        let mut bytes = Vec::new();
        for NewConnection { id, topic, header, .. } in &self.connections {
            encode::connection(&mut bytes, *id, topic, header);
        }
        for WrittenChunk { at, summary: ChunkSummary { times, counts } } in &self.chunks
        {
            encode::chunk_info(&mut bytes, *at, *times, counts);
        }
        self.output.append(&bytes)?;
        let (connections, chunks) = (self.connections.len(), self.chunks.len());
        self.bag_header.set(index_at, connections as u32, chunks as u32);
        self.output.finish(self.bag_header.at, &self.bag_header.fields)
    }

    /// Declares a connection in the current chunk, unless it is already declared.
    fn declare(&mut self, index: usize) {
        let connection = self.connections.get_mut(index);
        if let Some(NewConnection { id, topic, header, is_declared }) = connection
            && !*is_declared
        {
            self.chunk_builder.connection(*id, topic, header);
            *is_declared = true;
        }
    }

    /// Declares the undeclared connections in the current chunk, unless it is already long.
    fn declare_others(&mut self) {
        while self.first_undeclared < self.connections.len()
            && self.chunk_builder.len() <= MAX_LEN_FOR_DECLARATIONS
        {
            self.declare(self.first_undeclared);
            self.first_undeclared += 1;
        }
        self.declares_all = false;
    }

    /// Ends the current chunk, if it has messages, and passes it to the thread pool.
    fn end_chunk(&mut self) -> Result<()> {
        let buffer = self.spare_buffers.pop().unwrap_or_default();
        let Some(full) = self.chunk_builder.finish_chunk(self.index_order, buffer)
        else {
            return Ok(());
        };
        if self.options.compression == Compression::None {
            let FullChunk { bytes, chunk_index } = full;
            let (size, free_buffer) = (bytes.len(), Vec::new());
            return self.write_chunk(CompressedChunk {
                bytes,
                free_buffer,
                size,
                chunk_index,
            });
        }
        let compression = self.options.compression;
        let buffer = self.spare_buffers.pop().unwrap_or_default();
        self.queue.push(move || {
            let FullChunk { bytes, chunk_index } = full;
            let size = bytes.len();
            let (bytes, free_buffer) = compression.compress(bytes, buffer)?;
            Ok(CompressedChunk { bytes, free_buffer, size, chunk_index })
        });
        while let Some(compressed) = self.queue.next() {
            self.write_chunk(compressed?)?;
        }
        Ok(())
    }

    /// Writes a chunk and its index data.
    fn write_chunk(&mut self, compressed: CompressedChunk) -> Result<()> {
        let CompressedChunk { mut bytes, free_buffer, size, chunk_index } = compressed;
        let too_long = |_| Error::new(ErrorKind::Limit, "a chunk has 4 GiB or more");
        let size = u32::try_from(size).map_err(too_long)?;
        let compressed_len = u32::try_from(bytes.len()).map_err(too_long)?;
        let name = self.options.compression.name();
        let at = self.output.position();
        self.output.append(&encode::chunk_header(name, size, compressed_len))?;
        self.output.write_owned(&mut bytes)?;
        self.output.append(&chunk_index.index_data)?;
        self.output.flush()?;
        self.recycle(bytes);
        self.recycle(free_buffer);
        self.chunks.push(WrittenChunk { at, summary: chunk_index.summary });
        Ok(())
    }

    /// Retains a buffer for the next chunks, unless it is much longer than they are. The number of
    /// retained buffers is limited by the number of chunks in progress.
    fn recycle(&mut self, mut buffer: Vec<u8>) {
        let accepted = 1..=4 * self.options.chunk_bytes as usize;
        if accepted.contains(&buffer.capacity()) {
            buffer.clear();
            self.spare_buffers.push(buffer);
        }
    }
}

/// A chunk of another bag that is copied unchanged.
#[derive(Debug)]
pub(crate) struct CopiedChunk {
    /// The byte range of the chunk record.
    pub(crate) chunk: Range<u64>,
    pub(crate) index_data: CopiedIndexData,
    pub(crate) summary: ChunkSummary,
    /// The ids of the connections that the chunk declares.
    pub(crate) declared_ids: Vec<u32>,
}

/// The index data of a copied chunk.
#[derive(Debug)]
pub(crate) enum CopiedIndexData {
    /// The index data in the source, in this byte range.
    Original(Range<u64>),
    /// New index data.
    New(Vec<u8>),
}

impl<W: Output> Writer<W> {
    /// Returns the topic and the header of the connection `id`.
    pub(crate) fn connection(&self, id: u32) -> Option<(&[u8], &[u8])> {
        let connection = self.connections.get(*self.by_id.get(&id)?)?;
        Some((&connection.topic, &connection.header))
    }

    /// Returns whether a chunk declares the connection `id`.
    pub(crate) fn is_declared(&self, id: u32) -> bool {
        let index = self.by_id.get(&id);
        let connection = index.and_then(|index| self.connections.get(*index));
        connection.is_some_and(|connection| connection.is_declared)
    }

    /// Declares all undeclared connections in the current chunk, if it has messages, because copied
    /// chunks after it may need them.
    pub(crate) fn declare_all(&mut self) {
        if self.chunk_builder.has_messages() {
            self.declare_others();
        }
    }

    /// Declares all undeclared connections after the next message.
    pub(crate) fn declare_all_with_next(&mut self) {
        self.declares_all = true;
    }

    /// Writes all pending chunks, and then a copy of a chunk of `source`.
    pub(crate) fn copy_chunk(
        &mut self,
        source: &dyn Source,
        copied: CopiedChunk,
    ) -> Result<()> {
        self.flush()?;
        let CopiedChunk { chunk, index_data, summary, declared_ids } = copied;
        let at = self.output.position();
        self.output.append_from(source, chunk)?;
        match index_data {
            CopiedIndexData::Original(range) => {
                self.output.append_from(source, range)?
            }
            CopiedIndexData::New(bytes) => self.output.append(&bytes)?,
        }
        self.output.flush()?;
        self.chunks.push(WrittenChunk { at, summary });
        for id in declared_ids {
            let index = self.by_id.get(&id);
            let connection = index.and_then(|index| self.connections.get_mut(*index));
            if let Some(connection) = connection {
                connection.is_declared = true;
            }
        }
        Ok(())
    }
}
