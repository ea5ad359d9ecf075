//! Bags have the bytes that ROS writes, and contain all messages up to the last complete chunk when
//! writing is interrupted.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{
    io::{self, Cursor, Seek, SeekFrom, Write},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use logtool_core::{Block, ErrorKind, Log as _, Output, Selection, Timestamp};
use logtool_rosbag::{
    Compression, ConnectionHandle, ConnectionHeader, OpenMode, RosbagLog,
    RosbagOptions, Writer, WriterOptions,
};

const COMPRESSIONS: [Compression; 3] =
    [Compression::None, Compression::Bz2, Compression::Lz4];

fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let len = (name.len() + 1 + value.len()) as u32;
    [&len.to_le_bytes()[..], name.as_bytes(), b"=", value].concat()
}

fn record(fields: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let fields = fields.concat();
    let lengths = [fields.len(), data.len()].map(|len| (len as u32).to_le_bytes());
    [&lengths[0], fields.as_slice(), &lengths[1], data].concat()
}

fn secs(secs: i64) -> Timestamp {
    Timestamp::from_nanos(secs * 1_000_000_000)
}

fn chatter() -> ConnectionHeader {
    ConnectionHeader::new("/chatter", "std_msgs/String", "string data\n")
}

/// A message: the id of its connection, its time, and its payload.
type Message = (u32, Timestamp, Vec<u8>);

/// Returns all messages of a bag, in the order of the file.
fn read(bytes: &[u8], mode: OpenMode) -> Vec<Message> {
    let options = RosbagOptions::default().with_mode(mode);
    let log =
        RosbagLog::open(Arc::new(Bytes::copy_from_slice(bytes)), options).unwrap();
    let connections: Vec<u32> = log.connections().map(|c| c.id).collect();
    let (selection, mut block, mut messages) =
        (Selection::default(), Block::default(), vec![]);
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            messages.extend(block.iter().map(|record| {
                let id = connections[record.stream as usize];
                (id, record.time, record.payload.to_vec())
            }));
        }
    }
    messages
}

/// Returns messages with up to 300 compressible bytes: the index of the connection (0 or 1), the
/// time, and the payload.
fn messages(count: usize) -> Vec<(usize, Timestamp, Vec<u8>)> {
    let message = |n: usize| {
        let payload = (0..n % 301).map(|i| (n / 7 + i / 11) as u8).collect();
        (n % 3 / 2, Timestamp::from_nanos(n as i64 * 1_000_003), payload)
    };
    (0..count).map(message).collect()
}

fn small_chunks(compression: Compression) -> WriterOptions {
    WriterOptions::default().with_compression(compression).with_chunk_bytes(2_000)
}

/// Writes `messages` to `bag` with two new connections, and returns the messages with the ids of
/// these.
fn fill<W: Output>(
    bag: &mut Writer<W>,
    messages: &[(usize, Timestamp, Vec<u8>)],
) -> Vec<Message> {
    let handles = connect_two(bag);
    let write = |(index, time, payload): &(usize, Timestamp, Vec<u8>)| {
        bag.write(handles[*index], *time, payload).unwrap();
        (handles[*index].id(), *time, payload.clone())
    };
    messages.iter().map(write).collect()
}

fn connect_two<W: Output>(bag: &mut Writer<W>) -> [ConnectionHandle; 2] {
    let second = chatter().with_caller("/second").with_latching();
    [bag.connect(&chatter()).unwrap(), bag.connect(&second).unwrap()]
}

#[test]
fn bag_has_the_bytes_that_ros_writes() {
    let mut bag = Writer::new(Cursor::new(vec![]), WriterOptions::default()).unwrap();
    let chatter =
        bag.connect(&chatter().with_caller("/talker").with_latching()).unwrap();
    bag.write(chatter, secs(3), b"\x02\0\0\0hi").unwrap();
    bag.write(chatter, Timestamp::from_nanos(2_000_000_007), b"").unwrap();
    let bytes = bag.finish().unwrap().into_inner();

    // The layout is that of the ROS wiki ("Bags/Format/2.0"). The fields of each record are in
    // alphabetical order, as in rosbag_storage.
    let data = [
        field("callerid", b"/talker"),
        field("latching", b"1"),
        field("md5sum", b"992ce8a1687cec8c8bd883ec73ca41d1"),
        field("message_definition", b"string data\n"),
        field("topic", b"/chatter"),
        field("type", b"std_msgs/String"),
    ];
    let fields =
        [field("conn", &[0; 4]), field("op", &[7]), field("topic", b"/chatter")];
    let connection = record(&fields, &data.concat());
    let message = |time: &[u8], payload: &[u8]| {
        record(
            &[field("conn", &[0; 4]), field("op", &[2]), field("time", time)],
            payload,
        )
    };
    let (early, late) = ([2, 0, 0, 0, 7, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0]);
    let first = message(&late, b"\x02\0\0\0hi");
    let second = message(&early, b"");
    let content = [connection.clone(), first.clone(), second].concat();
    let offsets = [connection.len(), connection.len() + first.len()];
    let offsets = offsets.map(|offset| (offset as u32).to_le_bytes());
    let size = (content.len() as u32).to_le_bytes();
    let fields =
        [field("compression", b"none"), field("op", &[5]), field("size", &size)];
    let chunk = record(&fields, &content);
    let fields = [
        field("conn", &[0; 4]),
        field("count", &[2, 0, 0, 0]),
        field("op", &[4]),
        field("ver", &[1, 0, 0, 0]),
    ];
    // The entries are in the order of time.
    let entries = [&early[..], &offsets[1], &late, &offsets[0]].concat();
    let index = record(&fields, &entries);
    let info = [
        field("chunk_pos", &4117_u64.to_le_bytes()),
        field("count", &[1, 0, 0, 0]),
        field("end_time", &late),
        field("op", &[6]),
        field("start_time", &early),
        field("ver", &[1, 0, 0, 0]),
    ];
    let info = record(&info, &[0, 0, 0, 0, 2, 0, 0, 0]);
    let index_at = 4117 + (chunk.len() + index.len()) as u64;
    let header = [
        field("chunk_count", &[1, 0, 0, 0]),
        field("conn_count", &[1, 0, 0, 0]),
        field("index_pos", &index_at.to_le_bytes()),
        field("op", &[3]),
    ];
    let padding = vec![b' '; 4096 - header.concat().len()];
    let header = record(&header, &padding);
    let line = b"#ROSBAG V2.0\n".to_vec();
    let expected = [line, header, chunk, index, connection, info].concat();
    assert_eq!(bytes, expected);
}

#[test]
fn written_messages_are_read_back_with_every_compression() {
    let messages = messages(2_000);
    for compression in COMPRESSIONS {
        let mut bag =
            Writer::new(Cursor::new(vec![]), small_chunks(compression)).unwrap();
        let expected = fill(&mut bag, &messages);
        let bytes = bag.finish().unwrap().into_inner();
        for mode in [OpenMode::Index, OpenMode::Scan, OpenMode::Full] {
            assert!(read(&bytes, mode) == expected, "{compression:?} {mode:?}");
        }
        let source = Arc::new(Bytes::from(bytes));
        let log = RosbagLog::open(source, RosbagOptions::default()).unwrap();
        assert_eq!(
            (&log.manifest().remarks, &log.manifest().damage),
            (&vec![], &vec![])
        );
        let second = log.connections().nth(1).unwrap();
        assert_eq!(
            (second.caller.as_deref(), second.is_latching()),
            (Some("/second"), true)
        );
        assert!(log.manifest().parts.len() > 50);
    }
}

/// An output in memory that records flushes and the first seek.
#[derive(Clone, Debug, Default)]
struct RecordingOutput {
    /// The contents.
    file: Arc<Mutex<Cursor<Vec<u8>>>>,
    /// The length of the contents at each flush.
    flushed_lengths: Arc<Mutex<Vec<usize>>>,
    /// The contents before the first seek, after which bytes are overwritten.
    before_seek: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Write for RecordingOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let len = self.file.lock().unwrap().get_ref().len();
        self.flushed_lengths.lock().unwrap().push(len);
        Ok(())
    }
}

impl Output for RecordingOutput {}

impl Seek for RecordingOutput {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut file = self.file.lock().unwrap();
        let mut before_seek = self.before_seek.lock().unwrap();
        before_seek.get_or_insert_with(|| file.get_ref().clone());
        file.seek(to)
    }
}

#[test]
fn bag_of_a_killed_writer_is_read_up_to_the_last_complete_chunk() {
    let messages = messages(600);
    for compression in COMPRESSIONS {
        let out = RecordingOutput::default();
        let mut bag = Writer::new(out.clone(), small_chunks(compression)).unwrap();
        let expected = fill(&mut bag, &messages);
        bag.finish().unwrap();
        // The bag before its header was overwritten.
        let bytes = out.before_seek.lock().unwrap().take().unwrap();
        let finished = out.file.lock().unwrap().get_ref().clone();
        let flushed = out.flushed_lengths.lock().unwrap().clone();
        assert_eq!(finished[4117..], bytes[4117..], "only the header is overwritten");
        let source = Arc::new(Bytes::from(finished));
        let log = RosbagLog::open(source, RosbagOptions::default()).unwrap();
        let parts = log.manifest().parts.iter().map(|part| part.bytes.end as usize);
        let ends: Vec<usize> = parts.collect();
        // Every complete chunk is flushed at once.
        assert!(ends.iter().all(|end| flushed.contains(end)), "{ends:?} {flushed:?}");

        // All messages of complete chunks can be read.
        let count = |end: &usize| read(&bytes[..*end], OpenMode::Scan).len();
        let counts: Vec<usize> = ends.iter().map(count).collect();
        assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
        for len in (4117..bytes.len()).step_by(997).chain(ends.iter().copied()) {
            let records = read(&bytes[..len], OpenMode::Auto);
            assert!(expected.starts_with(&records), "truncated to {len} bytes");
            let complete_chunks = ends.partition_point(|end| *end <= len);
            let min_count =
                complete_chunks.checked_sub(1).map_or(0, |last| counts[last]);
            assert!(
                records.len() >= min_count,
                "truncated to {len} bytes: {} of {min_count}",
                records.len()
            );
        }
        assert_eq!(read(&bytes, OpenMode::Auto), expected);
    }
}

#[test]
fn chunks_are_compressed_on_a_pool_of_one_thread() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let messages = messages(1_000);
    let write = || {
        let mut bag =
            Writer::new(Cursor::new(vec![]), small_chunks(Compression::Lz4)).unwrap();
        let expected = fill(&mut bag, &messages);
        (bag.finish().unwrap().into_inner(), expected)
    };
    let (actual, expected) = pool.install(write);
    assert!(read(&actual, OpenMode::Full) == expected);
    // The result does not depend on the number of threads.
    assert!(write().0 == actual);
}

#[test]
fn many_writers_share_a_pool() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let messages = messages(500);
    let write = |_| {
        let mut bag =
            Writer::new(Cursor::new(vec![]), small_chunks(Compression::Lz4)).unwrap();
        fill(&mut bag, &messages);
        bag.finish().unwrap().into_inner()
    };
    let bags: Vec<Vec<u8>> = pool.install(|| {
        use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
        (0..16).into_par_iter().map(write).collect()
    });
    assert!(bags.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn unsupported_messages_and_connections_are_refused_without_changes() {
    let mut bag = Writer::new(Cursor::new(vec![]), WriterOptions::default()).unwrap();
    let handle = bag.connect(&chatter()).unwrap();
    bag.write(handle, secs(1), b"one").unwrap();
    for time in [Timestamp::from_nanos(-1), secs(1 << 32)] {
        let err = bag.write(handle, time, b"other").unwrap_err();
        assert_eq!(err.kind(), ErrorKind::Limit);
        assert!(err.to_string().contains(&time.as_nanos().to_string()), "{err}");
    }
    let last = Timestamp::from_nanos(4_294_967_295_999_999_999);
    bag.write(handle, last, b"two").unwrap();
    assert_eq!(
        bag.connect_raw(0, b"/other", b"").unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    assert_eq!(bag.connect_raw(7, b"", b"").unwrap_err().kind(), ErrorKind::Limit);
    let invalid = ConnectionHeader::new("/x", "x/X", "not a definition = = =\n[");
    assert!(bag.connect(&invalid).is_err());
    let bytes = bag.finish().unwrap().into_inner();
    let expected = [(0, secs(1), b"one".to_vec()), (0, last, b"two".to_vec())];
    assert_eq!(read(&bytes, OpenMode::Full), expected);
}

#[test]
fn bag_without_messages_is_valid() {
    let mut bag = Writer::new(Cursor::new(vec![]), WriterOptions::default()).unwrap();
    connect_two(&mut bag);
    let bytes = bag.finish().unwrap().into_inner();
    let log = RosbagLog::open(Arc::new(Bytes::from(bytes)), RosbagOptions::default());
    let log = log.unwrap();
    assert_eq!(log.connections().count(), 2);
    assert_eq!((&log.manifest().remarks, &log.manifest().damage), (&vec![], &vec![]));
    let empty = Writer::new(Cursor::new(vec![]), WriterOptions::default()).unwrap();
    assert_eq!(read(&empty.finish().unwrap().into_inner(), OpenMode::Auto), []);
}

/// An output that becomes full after this number of bytes.
struct LimitedOutput(Cursor<Vec<u8>>, usize);

impl Write for LimitedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.1.checked_sub(bytes.len()) {
            Some(left) => self.1 = left,
            None => return Err(io::ErrorKind::StorageFull.into()),
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for LimitedOutput {}

impl Seek for LimitedOutput {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn nothing_is_written_after_a_failed_write() {
    let out = LimitedOutput(Cursor::new(vec![]), 10_000);
    let mut bag = Writer::new(out, small_chunks(Compression::None)).unwrap();
    let handle = bag.connect(&chatter()).unwrap();
    let mut write = || bag.write(handle, secs(1), &[7; 500]);
    for _ in 0..2 {
        let err = (0..100).find_map(|_| write().err()).unwrap();
        assert_eq!(err.kind(), ErrorKind::Io);
    }
    assert_eq!(bag.finish().map(drop).unwrap_err().kind(), ErrorKind::Io);
}
