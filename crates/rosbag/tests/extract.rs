//! Writing bags from selections of others: every message keeps its own connection, and chunks
//! are copied unchanged where possible.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

#[path = "extract/cut.rs"]
mod cut;
#[path = "extract/joined.rs"]
mod joined;

use std::{io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, DamageKind, ErrorKind, Format as _, Log as _, LogSlice, Manifest, Part,
    RecordSink, Result, Selection, TimeRange, Timestamp, TopicOrigin, TopicSet,
    WriteOptions, conformance,
};
use logtool_rosbag::{FORMAT, OpenMode, RosbagLog, RosbagOptions};

/// Returns the samples with these names.
fn some(folder: &str, names: &[&str]) -> Vec<(String, RosbagLog)> {
    let some = conformance::samples(folder, &["bag"])
        .filter(|(name, _)| names.contains(&name.as_str()));
    some.map(|(name, bytes)| (name, open(bytes, OpenMode::Auto).unwrap())).collect()
}

fn open(bytes: Bytes, mode: OpenMode) -> Result<RosbagLog> {
    RosbagLog::open(Arc::new(bytes), RosbagOptions::default().with_mode(mode))
}

/// Selects all topics that are not derived.
fn logged(manifest: &Manifest) -> Selection {
    let topics = manifest.topics().filter(|(_, t)| t.origin == TopicOrigin::Logged);
    let topics = topics.map(|(id, _)| id).collect();
    Selection { topics, ..Selection::default() }
}

/// A message: the header of its connection, its time, its payload.
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

/// Starts a bag with `selection` of `log`.
fn sink<'o>(
    out: &'o mut Cursor<Vec<u8>>,
    log: &RosbagLog,
    selection: &Selection,
    options: &WriteOptions,
) -> Box<dyn RecordSink + 'o> {
    let extract = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    FORMAT.writer(Box::new(out), &[extract], options).unwrap()
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

/// Returns a bag with `selection` of `log`, made by copying undamaged parts where possible, and
/// the number of copied messages.
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
const OF_ROS: [&str; 6] = [
    "example.bag",
    "example-bz2.bag",
    "example-lz4.bag",
    "robot_localization-test1.bag",
    "tilt_laser.bag",
    "embag-test.bag",
];

/// Returns the length of the record at the start of `bytes`.
fn chunk_len(bytes: &[u8]) -> usize {
    let len = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let head = 4 + len(0) as usize;
    head + 4 + len(head) as usize
}

#[test]
fn completely_selected_chunks_are_copied_byte_for_byte() {
    for (name, log) in some("rosbag", &OF_ROS) {
        let selection = logged(log.manifest());
        let (bytes, copied) = extract(&log, &selection, &options(None));
        let records = log.manifest().topics.iter().filter_map(|topic| topic.records);
        let is_logged = read(&log, &selection).len() as u64;
        assert!(copied == is_logged && records.sum::<u64>() >= copied, "{name}");

        let whole = log.source().read_at(0..u64::MAX).unwrap();
        let mut at = 4117;
        for part in &log.manifest().parts {
            let part = &whole[part.bytes.start as usize..part.bytes.end as usize];
            // The Python writer of ROS uses another order of the fields of index data.
            let is_of_cpp = ["example.bag", "embag-test.bag"].contains(&name.as_str());
            let len = if is_of_cpp { part.len() } else { chunk_len(part) };
            assert!(bytes[at..at + len] == part[..len], "{name}");
            at += part.len();
        }
        let copy = open(bytes, OpenMode::Full).unwrap();
        assert_eq!(copy.manifest().damage, [], "{name}");
        assert!(
            read(&copy, &logged(copy.manifest())) == read(&log, &selection),
            "{name}"
        );
        assert_eq!(connections(&copy), connections(&log), "{name}");
    }
}

#[test]
fn part_of_several_chunks_is_copied_and_part_without_chunks_is_not() {
    for (name, log) in some("rosbag", &["robot_localization-test1.bag"]) {
        let selection = logged(log.manifest());
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
    for (name, log) in some("rosbag/edge", &["ok_none.bag", "ok_bz2.bag", "ok_lz4.bag"])
    {
        let all = logged(log.manifest());
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
        let late = Selection {
            time: TimeRange { start: middle, end: time.end },
            ..all.clone()
        };
        let mut retiming = options(None);
        retiming.changes_times = true;
        let stem = name.trim_start_matches("ok_").trim_end_matches(".bag");
        for (selection, options, is_none) in [
            (&all, &options(Some(stem)), false),
            (&all, &options(Some(if stem == "bz2" { "lz4" } else { "bz2" })), true),
            (&all, &renaming, true),
            (&all, &retiming, true),
            (&one_topic, &options(None), true),
        ] {
            let (bytes, copied) = extract(&log, selection, options);
            let copy = open(bytes, OpenMode::Full).unwrap();
            let (new, old) =
                (read(&copy, &logged(copy.manifest())), read(&log, selection));
            let payloads = |messages: &[Message]| -> Vec<_> {
                messages
                    .iter()
                    .map(|(_, time, payload)| (*time, payload.clone()))
                    .collect()
            };
            assert_eq!(copied, if is_none { 0 } else { new.len() as u64 }, "{name}");
            assert!(payloads(&new) == payloads(&old), "{name}");
        }
        let (bytes, copied) = extract(&log, &late, &options(None));
        let copy = open(bytes, OpenMode::Full).unwrap();
        let (new, old) = (read(&copy, &logged(copy.manifest())), read(&log, &late));
        assert!(new == old && copied < new.len() as u64, "{name}: {copied}");
    }
}

#[test]
fn frame_that_ros_cannot_read_is_recompressed() {
    for (name, log) in some("rosbag/edge", &["lz4_linked_contentsize.bag"]) {
        let (bytes, copied) = extract(&log, &logged(log.manifest()), &options(None));
        assert_eq!(copied, 0, "{name}");
        let magic = b"\x04\x22\x4d\x18";
        let frames: Vec<&[u8]> =
            bytes.windows(7).filter(|b| b.starts_with(magic)).collect();
        // The start of a frame with the profile of roslz4, by lz4.frame in Python.
        assert!(!frames.is_empty());
        assert!(frames.iter().all(|frame| *frame == b"\x04\x22\x4d\x18\x64\x40\xa7"));
    }
}

/// A bag that decompresses to too much for this test.
const BOMB: &str = "bz2_bomb.bag";

#[test]
fn readable_messages_of_every_damaged_bag_are_written_to_a_sound_bag() {
    for (name, bytes) in conformance::samples("rosbag/edge", &["bag"]) {
        for mode in [OpenMode::Index, OpenMode::Full] {
            let Ok(log) = open(bytes.clone(), mode) else { continue };
            let selection = logged(log.manifest());
            let is_shut = log
                .read(
                    &Part { bytes: 0..0, topics: TopicSet::All, time: TimeRange::ALL },
                    &selection,
                )
                .is_err();
            if name == BOMB || is_shut {
                continue;
            }
            let (bytes, copied) = extract(&log, &selection, &options(None));
            let copy = open(bytes, OpenMode::Full).unwrap();
            // Contents that the index does not list are copied unchanged.
            let is_known = mode == OpenMode::Full;
            let damage = &copy.manifest().damage;
            // A type without a definition in the bag cannot be added.
            let is_unusable = name == "def_missing_dep.bag"
                && damage.iter().all(|one| one.kind == DamageKind::Definition);
            let is_mended = damage.is_empty() || is_unusable;
            assert!(!is_known || is_mended, "{name}: {damage:?}");
            let (new, old) =
                (read(&copy, &logged(copy.manifest())), read(&log, &selection));
            assert!(!is_known || copied <= new.len() as u64, "{name}");
            assert!(new == old, "{name} {mode:?}: {} of {}", new.len(), old.len());
        }
    }
}

#[test]
fn connections_stay_one_to_one() {
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
    for (name, log) in some("rosbag/edge", &names) {
        let selection = logged(log.manifest());
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
            let of_topic = log.connections_of(id).map(|c| (c.id, c.header().to_vec()));
            let new = copy.connections().map(|c| (c.id, c.header().to_vec()));
            assert!(new.eq(of_topic), "{name} {id:?}");
        }
    }
}
