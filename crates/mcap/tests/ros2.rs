//! Translation of files of ROS 1 for ROS 2, and reading of the results. The conformance
//! suite checks the values with the packages rosbags and mcap-ros2-support.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

mod common;

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use arrow_array::{RecordBatch, cast::AsArray as _, types::*};
use bytes::Bytes;
use logtool_core::{
    Block, CopyJob, Damage, DamageKind, ErrorKind, Format as _, Log as _, LogSlice,
    OpenOptions, RecordSink, Selection, Timestamp, TopicId, WriteOptions, conformance,
    copy,
};
use logtool_mcap::{FORMAT, McapLog, Writer, WriterOptions};

const STAMPED: &str = "Header header\nuint8 kind\nfloat64 value\nduration age\nbyte b\n\
    ===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";

/// A `pkg/Stamped` message of ROS 1, encoded by hand.
fn ros1(number: u8) -> Vec<u8> {
    let head = [7, 0, 0, 0, number, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, b'm', b'a', b'p'];
    let age = [[0xff; 4], [9, 0, 0, 0]].concat(); // -1 s, 9 ns
    [&head[..], &[number], &f64::from(number).to_le_bytes(), &age, &[0xfe]].concat()
}

/// A channel: name, message encoding, type, definition, schema encoding, messages.
type Topic<'t> = (&'t str, &'t str, &'t str, &'t str, &'t str, Vec<Vec<u8>>);

/// Returns a file of `topics`.
fn file(topics: &[Topic<'_>], profile: &str) -> Bytes {
    let mut options = WriterOptions::default();
    (options.chunk_bytes, options.profile) = (200, profile.to_owned());
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    for (topic, encoding, type_name, definition, schema_encoding, messages) in topics {
        let schema = file.schema(type_name, schema_encoding, definition.as_bytes());
        let metadata = [("latching", "1"), ("md5sum", "*"), ("callerid", "/node")];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let metadata = BTreeMap::from(metadata);
        let channel = file.channel(topic, schema.unwrap(), encoding, metadata).unwrap();
        for (number, message) in (0..).zip(messages) {
            let time = Timestamp::from_nanos(1_000 + i64::from(number));
            file.write(channel, number, time, time, message).unwrap();
        }
    }
    file.finish().unwrap().into_inner().into()
}

fn file_of_stamped_messages(messages: Vec<Vec<u8>>) -> Bytes {
    file(&[("/x", "ros1", "pkg/Stamped", STAMPED, "ros1msg", messages)], "ros1")
}

fn open(bytes: &Bytes) -> McapLog {
    McapLog::open(Arc::new(bytes.clone()), OpenOptions::default()).unwrap()
}

fn options() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.payload_encoding = Some("cdr".to_owned());
    options
}

/// Translates `log` for ROS 2. Returns the file, and the damage of omitted messages.
fn ros2(log: &McapLog) -> (Bytes, Vec<Damage>) {
    let (manifest, selection) = (log.manifest(), Selection::default());
    let slice = LogSlice { manifest, selection: selection.clone() };
    let mut out = Cursor::new(Vec::new());
    let mut sink: Box<dyn RecordSink> =
        FORMAT.writer(Box::new(&mut out), &[slice], &options()).unwrap();
    let job = CopyJob {
        log,
        slice_index: 0,
        selection,
        verify: false,
        drops_doubtful: false,
        progress: &|_| {},
    };
    copy(&job, None, &mut *sink).unwrap();
    let dropped = sink.dropped_records(0).to_vec();
    sink.finish().unwrap();
    (out.into_inner().into(), dropped)
}

/// Returns the columns of the first topic, and the damage found while decoding.
fn table(log: &McapLog) -> (RecordBatch, Vec<Damage>) {
    common::table(log, TopicId(0))
}

#[test]
fn file_for_ros2_has_profile_and_cdr_messages() {
    let (bytes, dropped) =
        ros2(&open(&file_of_stamped_messages((0..9).map(ros1).collect())));
    assert_eq!(dropped, []);
    let log = open(&bytes);
    assert_eq!(log.profile(), "ros2");
    let topic = &log.manifest().topics[0];
    assert_eq!(topic.encoding, "cdr");
    assert_eq!(topic.type_name, "pkg/msg/Stamped");
    assert_eq!(topic.metadata["schema_encoding"], "ros2msg");
    assert_eq!(topic.metadata["callerid"], "/node");
    // The quality of service declares that the topic was latched.
    assert!(topic.metadata["offered_qos_profiles"].contains("\n  durability: 1\n"));
    assert!(!topic.metadata.contains_key("latching"));
    assert!(!topic.metadata.contains_key("md5sum"));
    assert_eq!(topic.latched, [0]);
    let part = &log.manifest().plan(&Selection::default(), 0)[0];
    let mut cursor = log.read(part, &Selection::default()).unwrap();
    let mut block = Block::default();
    assert!(cursor.fill(&mut block).unwrap());
    // Expected bytes, encoded by hand: after the header bytes, the encapsulation and
    // then aligned fields.
    let expected = [
        &[0, 1, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, b'm', b'a', b'p', 0, 1][..],
        &[0; 7], // the value starts at byte 24
        &1_f64.to_le_bytes(),
        &[0xff, 0xff, 0xff, 0xff, 9, 0, 0, 0, 0xfe],
    ]
    .concat();
    assert_eq!(&block.get(1).unwrap().payload[20..], expected);
}

#[test]
fn cdr_has_same_columns_except_seq() {
    let before = open(&file_of_stamped_messages((0..9).map(ros1).collect()));
    let after = open(&ros2(&before).0);
    let ((before, _), (after, lost)) = (table(&before), table(&after));
    assert_eq!(lost, []);
    assert_eq!(after.num_rows(), 9);
    for name in ["time", "kind", "value", "age"] {
        let column = |batch: &RecordBatch| batch.column_by_name(name).cloned();
        assert_eq!(column(&before), column(&after), "{name}");
    }
    let header = after.column_by_name("header").unwrap().as_struct();
    assert_eq!(header.column_names(), ["stamp", "frame_id"]);
    let stamps = header.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(stamps.value(8), 8_000_000_005);
    // A `byte` is unsigned in ROS 2.
    let bytes = after.column_by_name("b").unwrap().as_primitive::<UInt8Type>();
    assert_eq!(bytes.value(0), 0xfe);
}

#[test]
fn undecodable_message_is_omitted_and_reported() {
    let mut messages: Vec<_> = (0..5).map(ros1).collect();
    messages[2].pop();
    let (bytes, dropped) = ros2(&open(&file_of_stamped_messages(messages)));
    let [only] = dropped.as_slice() else { panic!("{dropped:?}") };
    assert_eq!((only.kind, only.records), (DamageKind::Undecodable, 1));
    assert_eq!(open(&bytes).manifest().topics[0].records, Some(4));
}

#[test]
fn malformed_definition_is_error_and_other_encodings_are_unchanged() {
    let malformed = ("/odd", "ros1", "pkg/Odd", "Missing x", "ros1msg", vec![vec![1]]);
    let json = ("/json", "json", "Thing", "{}", "jsonschema", vec![b"{}".to_vec()]);
    let log = open(&file(&[json.clone(), malformed], "ros1"));
    let (manifest, selection) = (log.manifest(), Selection::default());
    let slice = LogSlice { manifest, selection };
    let mut out = Cursor::new(Vec::new());
    let err = FORMAT.writer(Box::new(&mut out), &[slice], &options()).err().unwrap();
    assert_eq!(err.kind(), ErrorKind::Malformed);
    assert!(err.to_string().contains("\"/odd\""), "{err}");
    assert!(out.into_inner().is_empty());

    let (bytes, _) = ros2(&open(&file(&[json], "ros1")));
    let log = open(&bytes);
    let topic = &log.manifest().topics[0];
    assert_eq!((&*topic.encoding, &*topic.type_name), ("json", "Thing"));
}

#[test]
fn cdr_files_satisfy_laws_and_report_undecodable_messages() {
    let (bytes, _) =
        ros2(&open(&file_of_stamped_messages((0..20).map(ros1).collect())));
    conformance::check(&FORMAT, bytes);

    let text = "uint16 a\nstring s\n";
    let whole = |a: u8| vec![0, 0, 0, 0, 0, a, 0, 0, 0, 0, 0, 3, b'h', b'i', 0];
    let messages = vec![whole(1), vec![0, 1], vec![], whole(2)];
    let bytes = file(&[("/x", "cdr", "a/msg/B", text, "ros2msg", messages)], "ros2");
    let (batch, lost) = table(&open(&bytes));
    let numbers = batch.column_by_name("a").unwrap().as_primitive::<UInt16Type>();
    assert_eq!(numbers.values(), &[1, 2]);
    assert_eq!(lost.iter().map(|damage| damage.records).sum::<u64>(), 2);
    assert!(lost.iter().all(|damage| damage.kind == DamageKind::Undecodable));
}

#[test]
fn unsupported_ros2_definition_has_raw_bytes_and_a_note() {
    let message = vec![0, 1, 0, 0, 0, 0, 0, 0];
    let schema = ("/w", "cdr", "a/msg/W", "wstring s", "ros2msg", vec![message]);
    let log = open(&file(&[schema], "ros2"));
    let manifest = log.manifest();
    assert!(manifest.remarks[0].contains("only raw bytes"), "{:?}", manifest.remarks);
    assert_eq!(table(&log).0.schema().field(1).name(), "payload");
}

#[test]
fn durability_is_read_as_number_and_as_word() {
    for (profiles, is_latched) in [
        ("- history: 3\n  durability: 1\n", true),
        ("- history: keep_last\n  durability: transient_local", true),
        ("- {depth: 1, durability: 1}", true),
        ("- durability: 2\n", false),
        ("- durability: volatile\n", false),
        ("", false),
    ] {
        let mut options = WriterOptions::default();
        options.profile = "ros2".to_owned();
        let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
        let schema = file.schema("a/msg/B", "ros2msg", b"uint8 a").unwrap();
        let metadata = [("offered_qos_profiles".to_owned(), profiles.to_owned())];
        let channel = file.channel("/x", schema, "cdr", metadata.into()).unwrap();
        let time = Timestamp::from_nanos(1);
        file.write(channel, 0, time, time, &[0, 1, 0, 0, 5]).unwrap();
        let log = open(&file.finish().unwrap().into_inner().into());
        let expected: &[u32] = if is_latched { &[0] } else { &[] };
        assert_eq!(log.manifest().topics[0].latched, expected, "{profiles}");
    }
}

/// The rules of `rmw_validate_full_topic_name`.
#[test]
fn topics_invalid_in_ros2_have_other_names() {
    let names = ["/1abc/2", "/a-b", "/a_b", "//c//d/", "e", "/fine_1/_x", "/\u{e4}~"];
    let topics: Vec<Topic<'_>> = names
        .map(|name| (name, "ros1", "pkg/Byte", "uint8 a", "ros1msg", vec![vec![1]]))
        .into();
    let log = open(&file(&topics, "ros1"));
    let slice = LogSlice { manifest: log.manifest(), selection: Selection::default() };
    let out = Box::new(Cursor::new(Vec::new()));
    let remarks = FORMAT.writer(out, &[slice], &options()).unwrap().remarks();
    assert_eq!(
        remarks,
        ["topics that ROS 2 does not allow have other names: \"//c//d/\" → /c/d, \
          \"/1abc/2\" → /topic_1abc/topic_2, \"/a-b\" → /a_b_2, \"/\u{e4}~\" → /__"]
    );
    let after = open(&ros2(&log).0);
    let topics = after.manifest().topics.iter();
    let mut topics: Vec<_> = topics.map(|topic| topic.name.as_str()).collect();
    topics.sort_unstable();
    let expected =
        ["/__", "/a_b", "/a_b_2", "/c/d", "/fine_1/_x", "/topic_1abc/topic_2", "e"];
    assert_eq!(topics, expected);
}

#[test]
fn names_invalid_in_ros2_are_changed_and_reported() {
    let with_type = |type_name: &'static str, text: &'static str| {
        ("/x", "ros1", type_name, text, "ros1msg", vec![vec![1]])
    };
    let remarks = |topic| {
        let log = open(&file(&[topic], "ros1"));
        let (manifest, selection) = (log.manifest(), Selection::default());
        let slice = LogSlice { manifest, selection };
        let out = Box::new(Cursor::new(Vec::new()));
        FORMAT.writer(out, &[slice], &options()).unwrap().remarks()
    };
    assert_eq!(
        remarks(with_type("pkg/Fine", "uint8 a_1\nuint8 OK=1")),
        Vec::<String>::new()
    );
    assert_eq!(
        remarks(with_type("pkg/odd", "uint8 camelCase\nuint8 a__b=1")),
        [
            "the topic \"/x\": names that ROS 2 does not allow are changed: pkg/odd → pkg/Odd, \
          pkg/odd.a__b → A_B, pkg/odd.camelCase → camel_case"
        ]
    );
}
