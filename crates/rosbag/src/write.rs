//! Writes bags as ROS does, and appends to them.
//!
//! ```text
//! #ROSBAG V2.0\n | bag header, without an index yet
//! chunk | index data     as soon as it is packed: nothing is ever written back into
//! chunk | index data     what lies before
//! connections | chunk infos
//! bag header             once more, telling where those begin
//! ```
//! So whatever stops the writing, the chunks that were written are there and whole, and
//! all readers that read bags without an index, and `rosbag reindex`, find them.

mod append;
mod encode;
pub(crate) mod filling;
mod head;
pub(crate) mod header;
pub(crate) mod options;
mod pack;
pub(crate) mod repaired_header;
pub(crate) mod stamp;

use std::{collections::HashMap, ops::Range};

use logtool_core::{
    Error, ErrorKind, Output, OutputWriter, Result, Source, TaskQueue, Timestamp,
};

use crate::{
    chunk::Compression,
    write::{
        encode::IndexOrder,
        filling::{Filling, Full, Summary, Told},
        head::BagHead,
        header::{ConnectionHeader, check},
        options::WriterOptions,
        stamp::Stamp,
    },
};

/// The first line of a bag.
const LINE: &[u8] = b"#ROSBAG V2.0\n";
/// A chunk is ended before it gets longer than this, if it has messages: ROS reads no
/// longer ones.
const MAX_CHUNK: u64 = i32::MAX as u64;
/// A chunk that is longer gets no connections but those of its messages.
const MAX_DECLARED: usize = 16 << 20;

/// Writes a bag, message by message.
///
/// Chunks are packed by the current rayon pool, a few at a time, and go out in order,
/// each followed by its index, and flushed. A writer that is dropped before it is
/// [finished](Self::finish) leaves a bag without an index that ends with the last chunk
/// that went out, as a recorder that was killed does.
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
    place: OutputWriter<W>,
    options: WriterOptions,
    head: BagHead,
    connections: Vec<Written>,
    /// The connections' places in that list, by their ids.
    by_id: HashMap<u32, usize>,
    filling: Filling,
    queue: TaskQueue<Result<Packed>>,
    /// Buffers of chunks that are out.
    spare: Vec<Vec<u8>>,
    chunks: Vec<ChunkInfo>,
    index_order: IndexOrder,
    /// Whether the next message comes with all connections that no chunk has.
    declares_all: bool,
    /// All connections with lower numbers in the list are in a chunk.
    first_undeclared: usize,
}

/// A connection of a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionHandle {
    id: u32,
    number: usize,
}

impl ConnectionHandle {
    /// The number by which messages of the bag name the connection.
    pub fn id(self) -> u32 {
        self.id
    }
}

/// A connection that is written.
#[derive(Debug)]
struct Written {
    id: u32,
    topic: Vec<u8>,
    header: Vec<u8>,
    /// Whether a chunk has it already.
    is_declared: bool,
}

/// A chunk that is packed.
#[derive(Debug)]
struct Packed {
    bytes: Vec<u8>,
    /// A buffer that is free.
    free: Vec<u8>,
    /// How long it was before.
    size: usize,
    told: Told,
}

/// A chunk that is written.
#[derive(Debug)]
struct ChunkInfo {
    at: u64,
    summary: Summary,
}

impl<W: Output> Writer<W> {
    /// Starts a bag in `out`, which is empty.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn new(out: W, options: WriterOptions) -> Result<Self> {
        let (head, bytes) = BagHead::new(LINE.len() as u64);
        let head = head.ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "a bag header that cannot be read")
        })?;
        let mut writer = Self::starting(OutputWriter::new(out, 0), options, head);
        writer.place.put(&[LINE, &bytes].concat())?;
        writer.place.flush()?;
        Ok(writer)
    }

    fn starting(place: OutputWriter<W>, options: WriterOptions, head: BagHead) -> Self {
        Self {
            place,
            options,
            head,
            connections: Vec::new(),
            by_id: HashMap::new(),
            filling: Filling::default(),
            queue: TaskQueue::new(),
            spare: Vec::new(),
            chunks: Vec::new(),
            index_order: encode::INDEX_ORDER,
            declares_all: false,
            first_undeclared: 0,
        }
    }

    /// Adds a connection, which gets the next number.
    ///
    /// # Errors
    /// `Limit` if readers will not take so long a name or definition, and what
    /// [`ConnectionHeader::md5sum`] says.
    pub fn connect(&mut self, header: &ConnectionHeader) -> Result<ConnectionHandle> {
        let fields = header.to_bytes()?;
        let mut id = self.connections.len() as u32;
        while self.by_id.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        self.connect_raw(id, header.topic().as_bytes(), &fields)
    }

    /// Adds a connection with the number `id` of which the `header` is as a bag has it,
    /// each field as `length u32 | name=value`; it is kept byte for byte. That of
    /// another bag is [`Connection::header`](crate::Connection::header).
    ///
    /// # Errors
    /// `Unsupported` if another connection has that number, `Limit` if readers will not
    /// take so long a name or definition.
    pub fn connect_raw(
        &mut self,
        id: u32,
        topic: &[u8],
        header: &[u8],
    ) -> Result<ConnectionHandle> {
        check(topic, header)?;
        if self.by_id.contains_key(&id) {
            let what = format!("two connections with the number {id} in one bag");
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let number = self.connections.len();
        let (topic, header) = (topic.to_vec(), header.to_vec());
        self.connections.push(Written { id, topic, header, is_declared: false });
        self.by_id.insert(id, number);
        Ok(ConnectionHandle { id, number })
    }

    /// Writes a message of `connection`, which is one of this writer, at `time`.
    ///
    /// # Errors
    /// `Limit` if a bag cannot have the time, or so long a message; then the bag is as
    /// it was. `Io` if writing fails; then nothing more is written. `NoSuch` if there
    /// is no such connection.
    pub fn write(
        &mut self,
        connection: ConnectionHandle,
        time: Timestamp,
        payload: &[u8],
    ) -> Result<()> {
        let stamp = Stamp::new(time)?;
        let ConnectionHandle { id, number } = connection;
        let Some(declared) = self.connections.get(number).filter(|has| has.id == id)
        else {
            let what = format!("a connection {id} that is none of this bag");
            return Err(Error::new(ErrorKind::NoSuch, what));
        };
        let header = match declared.is_declared {
            true => 0,
            false => 64 + declared.topic.len() + declared.header.len(),
        };
        let more = header as u64 + encode::MESSAGE_HEAD + payload.len() as u64;
        let len = self.filling.len() as u64;
        if len + more > MAX_CHUNK && self.filling.has_messages() {
            self.end_chunk()?;
        }
        if self.filling.len() as u64 + more > u64::from(u32::MAX) {
            let what = format!("a message of {} bytes", payload.len());
            return Err(Error::new(ErrorKind::Limit, what));
        }
        self.declare(number);
        self.filling.message(id, number, stamp, payload);
        if self.declares_all {
            self.declare_rest();
        }
        match self.filling.len() > self.options.chunk_bytes as usize {
            true => self.end_chunk(),
            false => Ok(()),
        }
    }

    /// Ends the chunk that is being filled, if it has messages, packs all that is not
    /// yet packed, and sends it out: all messages so far are safe then.
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

    /// Writes the index, and gives the output back.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        let index_at = self.place.at();
        let mut bytes = Vec::new();
        for Written { id, topic, header, .. } in &self.connections {
            encode::connection(&mut bytes, *id, topic, header);
        }
        for ChunkInfo { at, summary: Summary { times, counts } } in &self.chunks {
            encode::chunk_info(&mut bytes, *at, *times, counts);
        }
        self.place.put(&bytes)?;
        let (connections, chunks) = (self.connections.len(), self.chunks.len());
        self.head.set(index_at, connections as u32, chunks as u32);
        self.place.finish(self.head.at, &self.head.fields)
    }

    /// Puts a connection into the chunk that is being filled, unless one has it.
    fn declare(&mut self, number: usize) {
        let connection = self.connections.get_mut(number);
        if let Some(Written { id, topic, header, is_declared }) = connection
            && !*is_declared
        {
            self.filling.connection(*id, topic, header);
            *is_declared = true;
        }
    }

    /// Puts the connections that no chunk has into the chunk that is being filled.
    fn declare_rest(&mut self) {
        while self.first_undeclared < self.connections.len()
            && self.filling.len() <= MAX_DECLARED
        {
            self.declare(self.first_undeclared);
            self.first_undeclared += 1;
        }
        self.declares_all = false;
    }

    fn end_chunk(&mut self) -> Result<()> {
        let room = self.spare.pop().unwrap_or_default();
        let Some(full) = self.filling.take(self.index_order, room) else {
            return Ok(());
        };
        if self.options.compression == Compression::None {
            let Full { bytes, told } = full;
            let (size, free) = (bytes.len(), Vec::new());
            return self.put_chunk(Packed { bytes, free, size, told });
        }
        let compression = self.options.compression;
        let room = self.spare.pop().unwrap_or_default();
        self.queue.push(move || {
            let Full { bytes, told } = full;
            let size = bytes.len();
            let (bytes, free) = compression.pack(bytes, room)?;
            Ok(Packed { bytes, free, size, told })
        });
        while let Some(packed) = self.queue.next() {
            self.put_chunk(packed?)?;
        }
        Ok(())
    }

    fn put_chunk(&mut self, packed: Packed) -> Result<()> {
        let Packed { mut bytes, free, size, told } = packed;
        let too_long = |_| Error::new(ErrorKind::Limit, "a chunk of 4 GiB or more");
        let size = u32::try_from(size).map_err(too_long)?;
        let packed_len = u32::try_from(bytes.len()).map_err(too_long)?;
        let name = self.options.compression.name();
        let at = self.place.at();
        self.place.put(&encode::chunk_head(name, size, packed_len))?;
        self.place.write_owned(&mut bytes)?;
        self.place.put(&told.index)?;
        self.place.flush()?;
        self.use_again(bytes);
        self.use_again(free);
        self.chunks.push(ChunkInfo { at, summary: told.summary });
        Ok(())
    }

    /// Keeps a buffer for the next chunks, unless it is far longer than they are. There are no
    /// more than the chunks under way have.
    fn use_again(&mut self, mut buffer: Vec<u8>) {
        let room = 1..=4 * self.options.chunk_bytes as usize;
        if room.contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

/// A chunk of another bag, to be copied as it is.
#[derive(Debug)]
pub(crate) struct Copied {
    /// Where its record is.
    pub(crate) chunk: Range<u64>,
    pub(crate) index: CopiedIndex,
    pub(crate) summary: Summary,
    /// The ids of the connections that it has.
    pub(crate) declares: Vec<u32>,
}

/// The index data of a chunk that is copied.
#[derive(Debug)]
pub(crate) enum CopiedIndex {
    /// Those that it has, which lie here.
    There(Range<u64>),
    /// New ones.
    Made(Vec<u8>),
}

impl<W: Output> Writer<W> {
    /// The connection with the number `id`: its topic and its header.
    pub(crate) fn connection(&self, id: u32) -> Option<(&[u8], &[u8])> {
        let written = self.connections.get(*self.by_id.get(&id)?)?;
        Some((&written.topic, &written.header))
    }

    /// Whether a chunk has the connection `id`.
    pub(crate) fn is_declared(&self, id: u32) -> bool {
        let written = self.by_id.get(&id).and_then(|at| self.connections.get(*at));
        written.is_some_and(|connection| connection.is_declared)
    }

    /// Puts all connections that no chunk has into the chunk that is being filled, if it has
    /// messages: chunks of another bag that are copied behind it may need them.
    pub(crate) fn declare_all(&mut self) {
        if self.filling.has_messages() {
            self.declare_rest();
        }
    }

    /// Lets the next message come with all connections that no chunk has.
    pub(crate) fn declare_all_with_next(&mut self) {
        self.declares_all = true;
    }

    /// Copies a chunk of `source`, after all that was written before.
    pub(crate) fn copy(&mut self, source: &dyn Source, copied: Copied) -> Result<()> {
        self.flush()?;
        let Copied { chunk, index, summary, declares } = copied;
        let at = self.place.at();
        self.place.put_from(source, chunk)?;
        match index {
            CopiedIndex::There(index) => self.place.put_from(source, index)?,
            CopiedIndex::Made(index) => self.place.put(&index)?,
        }
        self.place.flush()?;
        self.chunks.push(ChunkInfo { at, summary });
        for id in declares {
            let written =
                self.by_id.get(&id).and_then(|at| self.connections.get_mut(*at));
            written.into_iter().for_each(|connection| connection.is_declared = true);
        }
        Ok(())
    }
}
