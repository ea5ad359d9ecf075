//! Messages are appended to finished bags; damaged bags are refused and not changed.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use logtool_core::{Block, ErrorKind, Log as _, Selection, Timestamp, conformance};
use logtool_rosbag::{
    Compression, ConnectionHeader, OpenMode, RosbagLog, RosbagOptions, Writer,
    WriterOptions,
};

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("rosbag/{name}"))
}

fn open(bytes: &[u8], mode: OpenMode) -> RosbagLog {
    let options = RosbagOptions::default().with_mode(mode);
    RosbagLog::open(Arc::new(Bytes::copy_from_slice(bytes)), options).unwrap()
}

/// A message: the topic and the header of its connection, its time, and its payload.
type Message = (String, Vec<u8>, Timestamp, Vec<u8>);

/// Returns all messages of a bag in the order of the file.
fn read(log: &RosbagLog) -> Vec<Message> {
    let connections: Vec<_> = log.connections().collect();
    let (selection, mut block, mut messages) =
        (Selection::default(), Block::default(), vec![]);
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            for record in block.iter() {
                let connection = connections[record.stream as usize];
                if connection.topic == log.manifest().topic(record.topic).unwrap().name
                {
                    let header = connection.header().to_vec();
                    let payload = record.payload.to_vec();
                    messages.push((
                        connection.topic.clone(),
                        header,
                        record.time,
                        payload,
                    ));
                }
            }
        }
    }
    messages
}

/// Creates a file with these bytes, and returns its folder and its path.
fn temporary_file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.bag");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn append(path: &Path, compression: Compression) -> logtool_core::Result<Writer<File>> {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let options = WriterOptions::default().with_compression(compression);
    Writer::append(file, options.with_chunk_bytes(1_000))
}

/// Adds a hundred messages of a new connection, and returns their times.
fn add_messages(bag: &mut Writer<File>) -> Vec<Timestamp> {
    let header = ConnectionHeader::new("/added", "std_msgs/String", "string data\n");
    let connection = bag.connect(&header).unwrap();
    let times = (0..100).map(|n| Timestamp::from_nanos(1_700_000_100_000_000_000 + n));
    let write = |time| {
        bag.write(connection, time, b"\x08\0\0\0appended").unwrap();
        time
    };
    times.map(write).collect()
}

#[test]
fn append_keeps_existing_chunks_and_connections() {
    for name in ["ok_none.bag", "ok_lz4.bag", "hdr_unpadded.bag", "hdr_4096_total.bag"]
    {
        let Some(before) = sample(&format!("edge/{name}")) else { return };
        let old_messages = read(&open(&before, OpenMode::Index));
        let (_folder, path) = temporary_file(&before);
        let mut bag = append(&path, Compression::Bz2).unwrap();
        let times = add_messages(&mut bag);
        bag.finish().unwrap();

        let after = fs::read(&path).unwrap();
        for mode in [OpenMode::Index, OpenMode::Scan, OpenMode::Full] {
            let log = open(&after, mode);
            assert_eq!(log.manifest().damage, [], "{name} {mode:?}");
            let messages = read(&log);
            assert!(messages.starts_with(&old_messages), "{name} {mode:?}");
            let added = messages[old_messages.len()..].iter();
            assert!(added.clone().all(|message| message.0 == "/added"), "{name}");
            assert!(added.map(|message| message.2).eq(times.iter().copied()), "{name}");
        }
        let log = open(&after, OpenMode::Index);
        assert_eq!(log.manifest().remarks, Vec::<String>::new(), "{name}");
        let ids: Vec<u32> = log.connections().map(|connection| connection.id).collect();
        let old_log = open(&before, OpenMode::Index);
        let old_ids = old_log.connections().map(|connection| connection.id);
        assert!(old_ids.eq(ids[..ids.len() - 1].iter().copied()), "{name}: {ids:?}");
        // The chunks keep their positions and bytes.
        let chunks = old_log.manifest().parts[0].bytes.start as usize
            ..old_log.manifest().parts.last().unwrap().bytes.end as usize;
        assert!(before[chunks.clone()] == after[chunks], "{name}");
    }
}

/// Returns the names of the fields of each index data record of a bag.
fn index_fields(bytes: &[u8]) -> Vec<Vec<String>> {
    let len = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut fields) = (13, vec![]);
    while at < bytes.len() {
        let end = at + 4 + len(at) as usize;
        let (mut field, mut names, mut is_index) = (at + 4, vec![], false);
        while field < end {
            let next = field + 4 + len(field) as usize;
            let text = String::from_utf8_lossy(&bytes[field + 4..next]);
            is_index |= text == "op=\x04";
            names.push(text.split_once('=').unwrap().0.to_owned());
            field = next;
        }
        fields.extend(is_index.then_some(names));
        at = end + 4 + len(end) as usize;
    }
    fields
}

#[test]
fn append_keeps_the_field_order_of_index_data() {
    // The first is written by the C++ writer of ROS, the second by its Python writer.
    for name in ["example.bag", "example-bz2.bag"] {
        let Some(before) = sample(name) else { return };
        let order = index_fields(&before).swap_remove(0);
        let (_folder, path) = temporary_file(&before);
        let mut bag = append(&path, Compression::None).unwrap();
        add_messages(&mut bag);
        bag.finish().unwrap();
        let orders = index_fields(&fs::read(&path).unwrap());
        assert!(orders.len() > index_fields(&before).len(), "{name}");
        assert!(orders.iter().all(|other| *other == order), "{name}: {orders:?}");
    }
}

#[test]
fn messages_are_appended_to_a_bag_without_messages() {
    for name in ["no-messages.bag", "edge/conn_without_msgs.bag"] {
        let Some(before) = sample(name) else { return };
        let old_messages = read(&open(&before, OpenMode::Index)).len();
        let (_folder, path) = temporary_file(&before);
        let mut bag = append(&path, Compression::None).unwrap();
        add_messages(&mut bag);
        bag.finish().unwrap();
        let log = open(&fs::read(&path).unwrap(), OpenMode::Full);
        assert_eq!(
            (read(&log).len(), &log.manifest().damage[..]),
            (old_messages + 100, &[][..])
        );
    }
}

#[test]
fn messages_of_a_killed_append_can_be_read() {
    let Some(before) = sample("edge/ok_lz4.bag") else { return };
    let old_messages = read(&open(&before, OpenMode::Index));
    let (_folder, path) = temporary_file(&before);
    drop(append(&path, Compression::Lz4).unwrap());
    assert_eq!(read(&open(&fs::read(&path).unwrap(), OpenMode::Auto)), old_messages);

    let (_folder, path) = temporary_file(&before);
    let mut bag = append(&path, Compression::Lz4).unwrap();
    add_messages(&mut bag);
    bag.flush().unwrap();
    drop(bag);
    let after = fs::read(&path).unwrap();
    for len in (before.len()..after.len()).step_by(41).chain([after.len()]) {
        let messages = read(&open(&after[..len], OpenMode::Auto));
        assert!(messages.starts_with(&old_messages), "truncated to {len} bytes");
        if len == after.len() {
            assert_eq!(messages.len(), old_messages.len() + 100);
        }
    }
}

#[test]
fn connection_only_in_the_index_survives_a_killed_append() {
    // The recorder of ROS Hydro wrote such bags after a split: see ros_comm.
    let Some(before) = sample("edge/ok_none.bag") else { return };
    let log = open(&before, OpenMode::Index);
    let old_messages = read(&log);
    // The connection records in the chunks become records of an unknown kind.
    let mut before = before.to_vec();
    let chunks = log.manifest().parts[0].bytes.start as usize
        ..log.manifest().parts.last().unwrap().bytes.end as usize;
    let ops_of_connections: Vec<usize> = chunks
        .filter(|at| before[*at..].starts_with(b"\x04\0\0\0op=\x07"))
        .map(|at| at + 7)
        .collect();
    assert!(!ops_of_connections.is_empty());
    ops_of_connections.iter().for_each(|at| before[*at] = 0x42);
    assert_eq!(read(&open(&before, OpenMode::Index)), old_messages);
    assert_eq!(read(&open(&before, OpenMode::Scan)), old_messages);

    let (_folder, path) = temporary_file(&before);
    let mut bag = append(&path, Compression::None).unwrap();
    add_messages(&mut bag);
    bag.flush().unwrap();
    drop(bag);
    let messages = read(&open(&fs::read(&path).unwrap(), OpenMode::Auto));
    assert!(
        messages.starts_with(&old_messages)
            && messages.len() == old_messages.len() + 100
    );
}

#[test]
fn refused_bag_is_not_changed() {
    let refused = [
        ("unindexed.bag", ErrorKind::Malformed),
        ("index_pos_beyond_eof.bag", ErrorKind::Malformed),
        ("trunc_in_index.bag", ErrorKind::Malformed),
        ("trunc_mid_chunk.bag", ErrorKind::Malformed),
        ("trailing_garbage.bag", ErrorKind::Malformed),
        ("chunk_count_huge.bag", ErrorKind::Malformed),
        ("conn_only_in_chunks.bag", ErrorKind::Malformed),
        ("encrypted_aes_none.bag", ErrorKind::Unsupported),
        ("encrypted_unknown.bag", ErrorKind::Unsupported),
        ("v12_indexed.bag", ErrorKind::Unsupported),
        ("../empty-file.bag", ErrorKind::Unrecognized),
    ];
    for (name, kind) in refused {
        let Some(before) = sample(&format!("edge/{name}")) else { return };
        let (_folder, path) = temporary_file(&before);
        let err = append(&path, Compression::None).map(drop).expect_err(name);
        assert_eq!(err.kind(), kind, "{name}: {err}");
        if kind == ErrorKind::Malformed {
            assert!(err.to_string().contains("repairing it first"), "{name}: {err}");
        }
        assert!(fs::read(&path).unwrap() == before, "{name}");
    }
}
