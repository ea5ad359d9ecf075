//! Writing bags as ROS does, and appending to them.
//!
//! ```text
//! #ROSBAG V2.0\n | bag header, without an index yet
//! chunk | index data     written as soon as it is compressed;
//! chunk | index data     earlier bytes are never changed
//! connections | chunk infos
//! bag header             once more, with the position of the index
//! ```
//! If writing stops early, all chunks so far are complete, and all readers that can read bags
//! without an index, and `rosbag reindex`, find them.

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
    write::{
        chunk_builder::{ChunkBuilder, ChunkIndex, ChunkSummary, FullChunk},
        connection_header::{ConnectionHeader, check},
        editable_header::EditableHeader,
        encode::IndexOrder,
        options::WriterOptions,
        ros_time::RosTime,
    },
};

/// The first line of a bag.
const LINE: &[u8] = b"#ROSBAG V2.0\n";
/// The maximum length of a chunk with more than one message: ROS cannot read longer ones.
const MAX_CHUNK: u64 = i32::MAX as u64;
/// The length of a chunk above which only connections of its own messages are added.
const MAX_DECLARED: usize = 16 << 20;

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
    spare: Vec<Vec<u8>>,
    chunks: Vec<ChunkInfo>,
    index_order: IndexOrder,
    /// Whether all undeclared connections are declared with the next message.
    declares_all: bool,
    /// The number of leading `connections` that are declared in a chunk.
    first_undeclared: usize,
}

/// A connection of a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionHandle {
    id: u32,
    number: usize,
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
    bytes: Vec<u8>,
    /// A free buffer.
    free: Vec<u8>,
    /// The size before compression.
    size: usize,
    chunk_index: ChunkIndex,
}

/// A written chunk.
#[derive(Debug)]
struct ChunkInfo {
    at: u64,
    summary: ChunkSummary,
}

impl<W: Output> Writer<W> {
    /// Starts a bag in `out`, which is empty.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn new(out: W, options: WriterOptions) -> Result<Self> {
        let (bag_header, bytes) = EditableHeader::new(LINE.len() as u64);
        let bag_header = bag_header.ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "the new bag header cannot be read")
        })?;
        let mut writer =
            Self::with_header(OutputWriter::new(out, 0), options, bag_header);
        writer.output.append(&[LINE, &bytes].concat())?;
        writer.output.flush()?;
        Ok(writer)
    }

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
            spare: Vec::new(),
            chunks: Vec::new(),
            index_order: encode::INDEX_ORDER,
            declares_all: false,
            first_undeclared: 0,
        }
    }

    /// Adds a connection with the next id.
    ///
    /// # Errors
    /// `Limit` if the name or the definition is too long for readers, and the errors of
    /// [`ConnectionHeader::md5sum`].
    pub fn connect(&mut self, header: &ConnectionHeader) -> Result<ConnectionHandle> {
        let fields = header.to_bytes()?;
        let mut id = self.connections.len() as u32;
        while self.by_id.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        self.connect_raw(id, header.topic().as_bytes(), &fields)
    }

    /// Adds a connection with this `id`. The `header` has the form of a bag, each field as
    /// `length u32 | name=value`, and is kept byte for byte. The header of a connection of
    /// another bag is [`Connection::header`](crate::Connection::header).
    ///
    /// # Errors
    /// `Unsupported` if another connection has this id, `Limit` if the name or the definition
    /// is too long for readers.
    pub fn connect_raw(
        &mut self,
        id: u32,
        topic: &[u8],
        header: &[u8],
    ) -> Result<ConnectionHandle> {
        check(topic, header)?;
        if self.by_id.contains_key(&id) {
            let message = format!("two connections of one bag have the id {id}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let number = self.connections.len();
        let (topic, header) = (topic.to_vec(), header.to_vec());
        self.connections.push(NewConnection { id, topic, header, is_declared: false });
        self.by_id.insert(id, number);
        Ok(ConnectionHandle { id, number })
    }

    /// Writes a message of `connection`, which belongs to this writer, at `time`.
    ///
    /// # Errors
    /// `Limit` if a bag cannot store the time or a message of this length; the bag is unchanged
    /// then. `Io` if writing fails; nothing more can be written then. `NoSuch` if there is no
    /// such connection.
    pub fn write(
        &mut self,
        connection: ConnectionHandle,
        time: Timestamp,
        payload: &[u8],
    ) -> Result<()> {
        let stamp = RosTime::new(time)?;
        let ConnectionHandle { id, number } = connection;
        let Some(declared) =
            self.connections.get(number).filter(|connection| connection.id == id)
        else {
            let message = format!("the bag has no connection {id}");
            return Err(Error::new(ErrorKind::NoSuch, message));
        };
        let header = if declared.is_declared {
            0
        } else {
            64 + declared.topic.len() + declared.header.len()
        };
        let added_bytes = header as u64 + encode::MESSAGE_HEAD + payload.len() as u64;
        let len = self.chunk_builder.len() as u64;
        if len + added_bytes > MAX_CHUNK && self.chunk_builder.has_messages() {
            self.end_chunk()?;
        }
        if self.chunk_builder.len() as u64 + added_bytes > u64::from(u32::MAX) {
            let message = format!("a message of {} bytes is too long", payload.len());
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.declare(number);
        self.chunk_builder.message(id, number, stamp, payload);
        if self.declares_all {
            self.declare_rest();
        }
        if self.chunk_builder.len() > self.options.chunk_bytes as usize {
            self.end_chunk()?;
        }
        Ok(())
    }

    /// Ends the current chunk, if it has messages, compresses all pending chunks, and writes
    /// them: all messages so far are in the output then.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn flush(&mut self) -> Result<()> {
        self.end_chunk()?;
        while let Some(packed) = self.queue.wait() {
            self.put_chunk(packed?)?;
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
        for ChunkInfo { at, summary: ChunkSummary { times, counts } } in &self.chunks {
            encode::chunk_info(&mut bytes, *at, *times, counts);
        }
        self.output.append(&bytes)?;
        let (connections, chunks) = (self.connections.len(), self.chunks.len());
        self.bag_header.set(index_at, connections as u32, chunks as u32);
        self.output.finish(self.bag_header.at, &self.bag_header.fields)
    }

    /// Declares a connection in the current chunk, unless it is already declared.
    fn declare(&mut self, number: usize) {
        let connection = self.connections.get_mut(number);
        if let Some(NewConnection { id, topic, header, is_declared }) = connection
            && !*is_declared
        {
            self.chunk_builder.connection(*id, topic, header);
            *is_declared = true;
        }
    }

    /// Declares the undeclared connections in the current chunk.
    fn declare_rest(&mut self) {
        while self.first_undeclared < self.connections.len()
            && self.chunk_builder.len() <= MAX_DECLARED
        {
            self.declare(self.first_undeclared);
            self.first_undeclared += 1;
        }
        self.declares_all = false;
    }

    fn end_chunk(&mut self) -> Result<()> {
        let buffer = self.spare.pop().unwrap_or_default();
        let Some(full) = self.chunk_builder.take(self.index_order, buffer) else {
            return Ok(());
        };
        if self.options.compression == Compression::None {
            let FullChunk { bytes, chunk_index } = full;
            let (size, free) = (bytes.len(), Vec::new());
            return self.put_chunk(CompressedChunk { bytes, free, size, chunk_index });
        }
        let compression = self.options.compression;
        let buffer = self.spare.pop().unwrap_or_default();
        self.queue.push(move || {
            let FullChunk { bytes, chunk_index } = full;
            let size = bytes.len();
            let (bytes, free) = compression.compress(bytes, buffer)?;
            Ok(CompressedChunk { bytes, free, size, chunk_index })
        });
        while let Some(packed) = self.queue.next() {
            self.put_chunk(packed?)?;
        }
        Ok(())
    }

    fn put_chunk(&mut self, packed: CompressedChunk) -> Result<()> {
        let CompressedChunk { mut bytes, free, size, chunk_index } = packed;
        let too_long = |_| Error::new(ErrorKind::Limit, "a chunk has 4 GiB or more");
        let size = u32::try_from(size).map_err(too_long)?;
        let packed_len = u32::try_from(bytes.len()).map_err(too_long)?;
        let name = self.options.compression.name();
        let at = self.output.position();
        self.output.append(&encode::chunk_head(name, size, packed_len))?;
        self.output.write_owned(&mut bytes)?;
        self.output.append(&chunk_index.index)?;
        self.output.flush()?;
        self.recycle(bytes);
        self.recycle(free);
        self.chunks.push(ChunkInfo { at, summary: chunk_index.summary });
        Ok(())
    }

    /// Keeps a buffer for the next chunks, unless it is far longer than they are. There are at
    /// most as many as there are chunks in progress.
    fn recycle(&mut self, mut buffer: Vec<u8>) {
        let accepted = 1..=4 * self.options.chunk_bytes as usize;
        if accepted.contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

/// A chunk of another bag that is copied unchanged.
#[derive(Debug)]
pub(crate) struct CopiedChunk {
    /// The byte range of its record.
    pub(crate) chunk: Range<u64>,
    pub(crate) index: CopiedIndex,
    pub(crate) summary: ChunkSummary,
    /// The ids of the connections that it declares.
    pub(crate) declares: Vec<u32>,
}

/// The index data of a copied chunk.
#[derive(Debug)]
pub(crate) enum CopiedIndex {
    /// Its own index data, at this byte range.
    There(Range<u64>),
    /// New index data.
    Made(Vec<u8>),
}

impl<W: Output> Writer<W> {
    /// Returns the topic and the header of the connection `id`.
    pub(crate) fn connection(&self, id: u32) -> Option<(&[u8], &[u8])> {
        let written = self.connections.get(*self.by_id.get(&id)?)?;
        Some((&written.topic, &written.header))
    }

    /// Returns whether a chunk declares the connection `id`.
    pub(crate) fn is_declared(&self, id: u32) -> bool {
        let written = self.by_id.get(&id).and_then(|at| self.connections.get(*at));
        written.is_some_and(|connection| connection.is_declared)
    }

    /// Declares all undeclared connections in the current chunk, if it has messages: copied
    /// chunks after it may need them.
    pub(crate) fn declare_all(&mut self) {
        if self.chunk_builder.has_messages() {
            self.declare_rest();
        }
    }

    /// Lets the next message declare all undeclared connections.
    pub(crate) fn declare_all_with_next(&mut self) {
        self.declares_all = true;
    }

    /// Copies a chunk of `source`, after all pending chunks.
    pub(crate) fn copy(
        &mut self,
        source: &dyn Source,
        copied: CopiedChunk,
    ) -> Result<()> {
        self.flush()?;
        let CopiedChunk { chunk, index, summary, declares } = copied;
        let at = self.output.position();
        self.output.append_from(source, chunk)?;
        match index {
            CopiedIndex::There(index) => self.output.append_from(source, index)?,
            CopiedIndex::Made(index) => self.output.append(&index)?,
        }
        self.output.flush()?;
        self.chunks.push(ChunkInfo { at, summary });
        for id in declares {
            let written =
                self.by_id.get(&id).and_then(|at| self.connections.get_mut(*at));
            written.into_iter().for_each(|connection| connection.is_declared = true);
        }
        Ok(())
    }
}
