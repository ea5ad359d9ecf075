//! Writing bags from selections of other bags: every message keeps its own connection, and chunks
//! are copied unchanged where possible.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

#[path = "extract/merge.rs"]
mod merge;
#[path = "extract/time_selection.rs"]
mod time_selection;

use std::{io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, DamageKind, ErrorKind, Format as _, Log as _, LogSlice, Manifest, Part,
    RecordSink, Result, Selection, TimeRange, Timestamp, TopicOrigin, TopicSet,
    WriteOptions, conformance,
};
use logtool_rosbag::{FORMAT, OpenMode, RosbagLog, RosbagOptions};

/// Returns the sample bags with these names.
fn samples(folder: &str, names: &[&str]) -> Vec<(String, RosbagLog)> {
    conformance::samples(folder, &["bag"])
        .filter(|(name, _)| names.contains(&name.as_str()))
        .map(|(name, bytes)| (name, open(bytes, OpenMode::Auto).unwrap()))
        .collect()
}

fn open(bytes: Bytes, mode: OpenMode) -> Result<RosbagLog> {
    RosbagLog::open(Arc::new(bytes), RosbagOptions::default().with_mode(mode))
}

/// Selects all topics that are not derived.
fn select_logged(manifest: &Manifest) -> Selection {
    let topics = manifest.topics().filter(|(_, t)| t.origin == TopicOrigin::Logged);
    let topics = topics.map(|(id, _)| id).collect();
    Selection { topics, ..Selection::default() }
}

/// A message: the header of its connection, its time, and its payload.
type Message = (Vec<u8>, Timestamp, Vec<u8>);

/// Returns the selected messages of a bag, in the order of the file.
fn read(log: &RosbagLog, selection: &Selection) -> Vec<Message> {
    let headers: Vec<&[u8]> = log.connections().map(|c| c.header()).collect();
    let (mut block, mut messages) = (Block::default(), vec![]);
    for part in log.manifest().plan(selection, 0) {
        let mut cursor = log.read(&part, selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            messages.extend(block.iter().map(|record| {
                let header = headers[record.stream as usize].to_vec();
                (header, record.time, record.payload.to_vec())
            }));
        }
    }
    messages
}

/// Returns the connections of a bag: ids, topics, headers.
fn connections(log: &RosbagLog) -> Vec<(u32, Vec<u8>, Vec<u8>)> {
    let connections = log.connections();
    connections.map(|c| (c.id, c.topic_bytes().to_vec(), c.header().to_vec())).collect()
}

fn options(compression: Option<&str>) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.compression = compression.map(str::to_owned);
    options
}

/// Returns a sink for a bag with `selection` of `log`.
fn sink<'o>(
    out: &'o mut Cursor<Vec<u8>>,
    log: &RosbagLog,
    selection: &Selection,
    options: &WriteOptions,
) -> Box<dyn RecordSink + 'o> {
    let slice = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    FORMAT.writer(Box::new(out), &[slice], options).unwrap()
}

/// Writes the records of `part` individually.
fn write(
    sink: &mut dyn RecordSink,
    slice_index: usize,
    log: &RosbagLog,
    part: &Part,
    selection: &Selection,
) {
    let mut block = Block::default();
    let mut cursor = log.read(part, selection).unwrap();
    while cursor.fill(&mut block).unwrap() {
        block.iter().for_each(|record| sink.write(slice_index, record).unwrap());
    }
}

/// Returns a bag with `selection` of `log`, and the number of messages that were copied with their
/// parts. Undamaged parts are copied where possible; the messages of other parts are written
/// individually.
fn extract(
    log: &RosbagLog,
    selection: &Selection,
    options: &WriteOptions,
) -> (Bytes, u64) {
    let (mut out, mut copied) = (Cursor::new(vec![]), 0);
    let mut sink = sink(&mut out, log, selection, options);
    for part in log.manifest().plan(selection, 0) {
        let mut damage = log.manifest().damage.iter();
        let is_damaged = damage.any(|damage| {
            damage.bytes.start < part.bytes.end && part.bytes.start < damage.bytes.end
        });
        let records = match is_damaged {
            true => None,
            false => sink.copy_part_verbatim(0, &part, &**log.source()).unwrap(),
        };
        match records {
            Some(records) => copied += records,
            None => write(&mut *sink, 0, log, &part, selection),
        }
    }
    sink.finish().unwrap();
    (out.into_inner().into(), copied)
}

/// Sound bags that ROS wrote, with several chunks and all compressions.
const WRITTEN_BY_ROS: [&str; 6] = [
    "example.bag",
    "example-bz2.bag",
    "example-lz4.bag",
    "robot_localization-test1.bag",
    "tilt_laser.bag",
    "embag-test.bag",
];

/// Returns the length of the record at the start of `bytes`.
fn record_len(bytes: &[u8]) -> usize {
    let len = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let header_end = 4 + len(0) as usize;
    header_end + 4 + len(header_end) as usize
}

#[test]
fn completely_selected_chunks_are_copied_byte_for_byte() {
    for (name, log) in samples("rosbag", &WRITTEN_BY_ROS) {
        let selection = select_logged(log.manifest());
        let (bytes, copied) = extract(&log, &selection, &options(None));
        let records = log.manifest().topics.iter().filter_map(|topic| topic.records);
        let message_count = read(&log, &selection).len() as u64;
        assert!(copied == message_count && records.sum::<u64>() >= copied, "{name}");

        let source = log.source().read_at(0..u64::MAX).unwrap();
        let mut position = 4117;
        for part in &log.manifest().parts {
            let part = &source[part.bytes.start as usize..part.bytes.end as usize];
            // The Python writer of ROS writes the fields of index data in another order.
            let is_from_cpp =
                ["example.bag", "embag-test.bag"].contains(&name.as_str());
            let len = if is_from_cpp { part.len() } else { record_len(part) };
            assert!(bytes[position..position + len] == part[..len], "{name}");
            position += part.len();
        }
        let copy = open(bytes, OpenMode::Full).unwrap();
        assert_eq!(copy.manifest().damage, [], "{name}");
        assert!(
            read(&copy, &select_logged(copy.manifest())) == read(&log, &selection),
            "{name}"
        );
        assert_eq!(connections(&copy), connections(&log), "{name}");
    }
}

#[test]
fn part_of_several_chunks_is_copied_and_part_without_chunks_is_not() {
    for (name, log) in samples("rosbag", &["robot_localization-test1.bag"]) {
        let selection = select_logged(log.manifest());
        let mut out = Cursor::new(vec![]);
        let mut sink = sink(&mut out, &log, &selection, &options(None));
        let whole = &log.manifest().plan(&Selection::default(), u64::MAX)[0];
        let Part { bytes, .. } = whole;
        let cases = [
            bytes.start + 1..bytes.end,
            bytes.start..bytes.end - 1,
            bytes.start..bytes.end + 1,
            bytes.start..bytes.start,
            bytes.end..bytes.end + 10,
            0..13,
        ];
        for bytes in cases {
            let part = Part { bytes, ..whole.clone() };
            assert_eq!(
                sink.copy_part_verbatim(0, &part, &**log.source()).unwrap(),
                None,
                "{part:?}"
            );
        }
        let records = read(&log, &selection).len() as u64;
        assert_eq!(
            sink.copy_part_verbatim(0, whole, &**log.source()).unwrap(),
            Some(records)
        );
        assert_eq!(
            sink.copy_part_verbatim(1, whole, &**log.source()).unwrap_err().kind(),
            ErrorKind::NoSuch
        );
        sink.finish().unwrap();
        let copy = open(out.into_inner().into(), OpenMode::Full).unwrap();
        assert_eq!(copy.manifest().damage, [], "{name}");
        assert!(read(&copy, &selection) == read(&log, &selection), "{name}");
    }
}

#[test]
fn chunk_that_is_partly_selected_or_compressed_differently_is_not_copied() {
    for (name, log) in
        samples("rosbag/edge", &["ok_none.bag", "ok_bz2.bag", "ok_lz4.bag"])
    {
        let all = select_logged(log.manifest());
        let time = log.manifest().time.unwrap();
        let middle =
            Timestamp::from_nanos((time.start.as_nanos() + time.end.as_nanos()) / 2);
        let first = log.manifest().topics[0].label().into_owned();
        let mut renaming = options(None);
        renaming.rename.insert(first, "/renamed".to_owned());
        let one_topic = Selection {
            topics: TopicSet::from_iter([logtool_core::TopicId(0)]),
            ..all.clone()
        };
        let second_half = Selection {
            time: TimeRange { start: middle, end: time.end },
            ..all.clone()
        };
        let mut retiming = options(None);
        retiming.changes_times = true;
        let stem = name.trim_start_matches("ok_").trim_end_matches(".bag");
        for (selection, options, is_never_copied) in [
            (&all, &options(Some(stem)), false),
            (&all, &options(Some(if stem == "bz2" { "lz4" } else { "bz2" })), true),
            (&all, &renaming, true),
            (&all, &retiming, true),
            (&one_topic, &options(None), true),
        ] {
            let (bytes, copied) = extract(&log, selection, options);
            let copy = open(bytes, OpenMode::Full).unwrap();
            let new_messages = read(&copy, &select_logged(copy.manifest()));
            let old_messages = read(&log, selection);
            let payloads = |messages: &[Message]| -> Vec<_> {
                messages
                    .iter()
                    .map(|(_, time, payload)| (*time, payload.clone()))
                    .collect()
            };
            let expected = if is_never_copied { 0 } else { new_messages.len() as u64 };
            assert_eq!(copied, expected, "{name}");
            assert!(payloads(&new_messages) == payloads(&old_messages), "{name}");
        }
        let (bytes, copied) = extract(&log, &second_half, &options(None));
        let copy = open(bytes, OpenMode::Full).unwrap();
        let new_messages = read(&copy, &select_logged(copy.manifest()));
        assert!(new_messages == read(&log, &second_half), "{name}");
        assert!(copied < new_messages.len() as u64, "{name}: {copied}");
    }
}

#[test]
fn frame_that_ros_cannot_read_is_recompressed() {
    for (name, log) in samples("rosbag/edge", &["lz4_linked_contentsize.bag"]) {
        let (bytes, copied) =
            extract(&log, &select_logged(log.manifest()), &options(None));
        assert_eq!(copied, 0, "{name}");
        let magic = b"\x04\x22\x4d\x18";
        let frames: Vec<&[u8]> =
            bytes.windows(7).filter(|b| b.starts_with(magic)).collect();
        // The start of a frame with the settings of roslz4, by lz4.frame in Python.
        assert!(!frames.is_empty());
        assert!(frames.iter().all(|frame| *frame == b"\x04\x22\x4d\x18\x64\x40\xa7"));
    }
}

/// A bag that decompresses to too many bytes for this test.
const BOMB: &str = "bz2_bomb.bag";

#[test]
fn readable_messages_of_every_damaged_bag_are_written_to_a_sound_bag() {
    for (name, bytes) in conformance::samples("rosbag/edge", &["bag"]) {
        for mode in [OpenMode::Index, OpenMode::Full] {
            let Ok(log) = open(bytes.clone(), mode) else { continue };
            let selection = select_logged(log.manifest());
            let is_unreadable = log
                .read(
                    &Part { bytes: 0..0, topics: TopicSet::All, time: TimeRange::ALL },
                    &selection,
                )
                .is_err();
            if name == BOMB || is_unreadable {
                continue;
            }
            let (bytes, copied) = extract(&log, &selection, &options(None));
            let copy = open(bytes, OpenMode::Full).unwrap();
            // In the mode `Index`, contents that the index does not list are copied unchanged.
            let are_all_contents_scanned = mode == OpenMode::Full;
            let damage = &copy.manifest().damage;
            // A type without a definition in the bag cannot be added.
            let lacks_definition = name == "def_missing_dep.bag"
                && damage.iter().all(|loss| loss.kind == DamageKind::Definition);
            let is_sound = damage.is_empty() || lacks_definition;
            assert!(!are_all_contents_scanned || is_sound, "{name}: {damage:?}");
            let new_messages = read(&copy, &select_logged(copy.manifest()));
            let old_messages = read(&log, &selection);
            let (new_count, old_count) = (new_messages.len(), old_messages.len());
            assert!(!are_all_contents_scanned || copied <= new_count as u64, "{name}");
            assert!(
                new_messages == old_messages,
                "{name} {mode:?}: {new_count} of {old_count}"
            );
        }
    }
}

#[test]
fn connections_keep_their_ids_topics_and_headers() {
    let names = [
        "multi_conn_same_topic.bag",
        "two_types_one_topic.bag",
        "two_md5_one_type.bag",
        "sparse_conn_ids.bag",
        "latching_variants.bag",
        "latin1_text.bag",
        "no_inner_topic.bag",
        "header_unknown_fields.bag",
        "conn_without_msgs.bag",
    ];
    for (name, log) in samples("rosbag/edge", &names) {
        let selection = select_logged(log.manifest());
        let (bytes, _) = extract(&log, &selection, &options(Some("lz4")));
        let copy = open(bytes, OpenMode::Auto).unwrap();
        assert_eq!(connections(&copy), connections(&log), "{name}");
        for (id, _) in
            log.manifest().topics().filter(|(id, _)| selection.topics.contains(*id))
        {
            let one_topic =
                Selection { topics: [id].into_iter().collect(), ..selection.clone() };
            let (bytes, _) = extract(&log, &one_topic, &options(None));
            let copy = open(bytes, OpenMode::Auto).unwrap();
            let expected = log.connections_of(id).map(|c| (c.id, c.header().to_vec()));
            let actual = copy.connections().map(|c| (c.id, c.header().to_vec()));
            assert!(actual.eq(expected), "{name} {id:?}");
        }
    }
}
