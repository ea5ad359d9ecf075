//! Anomalous bags of the kinds that some recorders write, built here byte by byte.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::sync::Arc;

use arrow_schema::DataType;
use bytes::Bytes;
use logtool_core::{
    Block, DamageKind, Findings, Log as _, Selection, TopicId, count_columns,
};
use logtool_rosbag::{OpenMode, RosbagLog, RosbagOptions};

/// Builds a bag, record by record.
#[derive(Default)]
struct BagBuilder {
    bytes: Vec<u8>,
    /// The position of each chunk, and the number of its messages of connection 0.
    chunks: Vec<(u64, u32)>,
}

fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let len = (name.len() + 1 + value.len()) as u32;
    [&len.to_le_bytes()[..], name.as_bytes(), b"=", value].concat()
}

fn record(fields: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let fields = fields.concat();
    let lengths = [fields.len(), data.len()].map(|len| (len as u32).to_le_bytes());
    [&lengths[0], fields.as_slice(), &lengths[1], data].concat()
}

/// Returns a connection record without an MD5 sum.
fn connection(id: u32, topic: &str, type_name: &str, text: &str) -> Vec<u8> {
    connection_with_md5sum(id, topic, type_name, "*", text)
}

/// Returns a connection record with this MD5 sum.
fn connection_with_md5sum(
    id: u32,
    topic: &str,
    type_name: &str,
    sum: &str,
    text: &str,
) -> Vec<u8> {
    let data = [
        field("md5sum", sum.as_bytes()),
        field("message_definition", text.as_bytes()),
        field("topic", topic.as_bytes()),
        field("type", type_name.as_bytes()),
    ];
    let fields = [
        field("conn", &id.to_le_bytes()),
        field("op", &[7]),
        field("topic", topic.as_bytes()),
    ];
    record(&fields, &data.concat())
}

fn chatter() -> Vec<u8> {
    connection(0, "/chatter", "std_msgs/String", "string data")
}

/// Returns messages of connection 0 in the seconds `secs`.
fn messages(secs: std::ops::Range<u32>) -> Vec<u8> {
    let message = |sec: u32| {
        let time = [sec.to_le_bytes(), [0; 4]].concat();
        let fields = [field("conn", &[0; 4]), field("op", &[2]), field("time", &time)];
        record(&fields, b"\x02\0\0\0hi")
    };
    secs.flat_map(message).collect()
}

impl BagBuilder {
    fn new() -> Self {
        let mut bag = Self::default();
        bag.bytes.extend(b"#ROSBAG V2.0\n");
        bag.write_header(0, 0);
        bag
    }

    /// Writes the bag header, or overwrites it.
    fn write_header(&mut self, index_at: u64, connections: u32) {
        let fields = [
            field("chunk_count", &(self.chunks.len() as u32).to_le_bytes()),
            field("conn_count", &connections.to_le_bytes()),
            field("index_pos", &index_at.to_le_bytes()),
            field("op", &[3]),
        ];
        let header = record(&fields, &[b' '; 40]);
        match self.bytes.len() {
            13 => self.bytes.extend(header),
            _ => self.bytes[13..13 + header.len()].copy_from_slice(&header),
        }
    }

    /// Adds a chunk of `records` with `count` messages, without index data.
    fn chunk(mut self, records: &[u8], count: u32) -> Self {
        self.chunks.push((self.bytes.len() as u64, count));
        let fields = [
            field("compression", b"none"),
            field("op", &[5]),
            field("size", &(records.len() as u32).to_le_bytes()),
        ];
        self.bytes.extend(record(&fields, records));
        self
    }

    fn append(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Adds the index with `connections` and a chunk info for each chunk, and returns the bag.
    fn finish(mut self, connections: &[Vec<u8>]) -> Vec<u8> {
        self.write_header(self.bytes.len() as u64, connections.len() as u32);
        self.bytes.extend(connections.concat());
        for (at, count) in &self.chunks {
            let time = |sec: u8| [sec, 0, 0, 0, 0, 0, 0, 0];
            let fields = [
                field("chunk_pos", &at.to_le_bytes()),
                field("count", &1_u32.to_le_bytes()),
                field("end_time", &time(99)),
                field("op", &[6]),
                field("start_time", &time(0)),
                field("ver", &1_u32.to_le_bytes()),
            ];
            let counts = [0, *count].map(u32::to_le_bytes).concat();
            self.bytes.extend(record(&fields, &counts));
        }
        self.bytes
    }
}

const MODES: [OpenMode; 4] =
    [OpenMode::Auto, OpenMode::Index, OpenMode::Scan, OpenMode::Full];

/// Returns the number of messages of each topic, for each mode of opening.
fn read(bytes: &[u8]) -> Vec<Vec<(String, usize)>> {
    let read = |mode| {
        let options = RosbagOptions::default().with_mode(mode);
        let source = Arc::new(Bytes::copy_from_slice(bytes));
        let log = RosbagLog::open(source, options).unwrap();
        let mut counts = vec![0; log.manifest().topics.len()];
        let (selection, mut block) = (Selection::default(), Block::default());
        for part in log.manifest().plan(&selection, 0) {
            let mut cursor = log.read(&part, &selection).unwrap();
            while cursor.fill(&mut block).unwrap() {
                for record in block.iter() {
                    counts[record.topic.index()] += 1;
                    let stream = record.stream as usize;
                    assert_eq!(log.connections().nth(stream).unwrap().id, 0);
                }
            }
        }
        let topics = log.manifest().topics.iter();
        topics.map(|topic| topic.label().into_owned()).zip(counts).collect()
    };
    MODES.map(read).to_vec()
}

/// Checks that the only topic is `/chatter`, with this number of messages, in each mode of opening.
fn assert_chatter(bytes: &[u8], count: usize) {
    for topics in read(bytes) {
        assert_eq!(topics, [("/chatter".to_owned(), count)]);
    }
}

#[test]
fn messages_outside_chunks_are_read() {
    let indexed = BagBuilder::new().append(&chatter()).append(&messages(0..10));
    assert_chatter(&indexed.finish(&[chatter()]), 10);
    let unindexed = BagBuilder::new().append(&chatter()).append(&messages(0..10));
    assert_chatter(&unindexed.bytes, 10);
}

#[test]
fn messages_between_chunks_are_read() {
    let bag = BagBuilder::new().chunk(&[chatter(), messages(0..3)].concat(), 3);
    let bag = bag.append(&messages(3..5)).chunk(&messages(5..9), 4);
    assert_chatter(&bag.finish(&[chatter()]), 9);
}

#[test]
fn connection_only_in_the_index_suffices() {
    let bag = BagBuilder::new().chunk(&messages(0..5), 5).chunk(&messages(5..9), 4);
    assert_chatter(&bag.finish(&[chatter()]), 9);
}

#[test]
fn identical_declarations_of_a_connection_are_merged() {
    let bag =
        BagBuilder::new().chunk(&[chatter(), chatter(), messages(0..5)].concat(), 5);
    assert_chatter(&bag.finish(&[chatter(), chatter()]), 5);
}

#[test]
fn reused_connection_id_is_valid_from_its_declaration_on() {
    let other = connection(0, "/other", "std_msgs/String", "string data");
    let bag = BagBuilder::new().chunk(&[chatter(), messages(0..5)].concat(), 5);
    let bag = bag.chunk(&[other, messages(5..8)].concat(), 3);
    let expected = vec![("/chatter".to_owned(), 5), ("/other".to_owned(), 3)];
    for read in read(&bag.bytes) {
        assert_eq!(read, expected);
    }
}

#[test]
fn chunk_that_the_index_does_not_list_is_found() {
    let bag = BagBuilder::new().chunk(&[chatter(), messages(0..5)].concat(), 5);
    let mut bag = bag.chunk(&messages(5..9), 4);
    let chunk = bag.chunks.pop().unwrap();
    assert_eq!(chunk.1, 4);
    assert_chatter(&bag.finish(&[chatter()]), 9);
}

#[test]
fn times_are_not_taken_from_two_index_data_records_of_one_connection() {
    let fields = [
        field("conn", &[0; 4]),
        field("count", &1_u32.to_le_bytes()),
        field("op", &[4]),
        field("ver", &1_u32.to_le_bytes()),
    ];
    // The time is 5 s, and the offset is that of the message after the connection.
    let offset = chatter().len() as u32;
    let entry = [5, 0, offset].map(u32::to_le_bytes).concat();
    let index_data = record(&fields, &entry);
    for (copies, has_times) in [(1, true), (2, false)] {
        let bag = BagBuilder::new().chunk(&[chatter(), messages(5..6)].concat(), 1);
        let bytes = bag.append(&index_data.repeat(copies)).finish(&[chatter()]);
        let options = RosbagOptions::default();
        let log = RosbagLog::open(Arc::new(Bytes::from(bytes)), options).unwrap();
        let mut times = Vec::new();
        let part = &log.manifest().parts[0];
        assert_eq!(log.times(part, &mut times).unwrap(), has_times);
        let times: Vec<_> = times.iter().map(|(_, time)| time.as_nanos()).collect();
        assert_eq!(times, vec![5_000_000_000; usize::from(has_times)]);
    }
}

#[test]
fn few_zeros_between_records_are_not_damage() {
    let bag = BagBuilder::new().chunk(&[chatter(), messages(0..5)].concat(), 5);
    let bag = bag.append(&[0; 49]).chunk(&messages(5..9), 4).append(&[0; 3]);
    let bytes = bag.finish(&[chatter()]);
    assert_chatter(&bytes, 9);
    let options = RosbagOptions::default().with_mode(OpenMode::Full);
    let log = RosbagLog::open(Arc::new(Bytes::from(bytes)), options).unwrap();
    assert_eq!(log.manifest().damage, []);
}

#[test]
fn bag_without_its_first_bytes_is_read() {
    let bag = BagBuilder::new().chunk(&[chatter(), messages(0..5)].concat(), 5);
    let mut bytes = bag.finish(&[chatter()]);
    bytes[..40].fill(0);
    assert_chatter(&bytes, 5);
}

#[test]
fn two_definitions_of_one_topic_are_two_topics() {
    let number = connection(0, "/chatter", "std_msgs/Int64", "int64 data");
    let bag = BagBuilder::new().chunk(&[chatter(), messages(0..5)].concat(), 5);
    let bag = bag.chunk(&[number, messages(5..8)].concat(), 3);
    let expected = vec![("/chatter".to_owned(), 5), ("/chatter.1".to_owned(), 3)];
    for read in read(&bag.bytes) {
        assert_eq!(read, expected);
    }
}

#[test]
fn definition_with_the_declared_sum_is_preferred() {
    // The sum of "int8 a" by md5sum(1).
    let sum = "4eec2979cc688371cc0e7f01aea37ad1";
    let right = "int8 a # a comment";
    for wrong in ["not a definition", "int16 a", ""] {
        for (first, second) in [(wrong, right), (right, wrong)] {
            let declared = [(0, first), (1, second)]
                .map(|(id, text)| connection_with_md5sum(id, "/a", "a/A", sum, text));
            let bag = BagBuilder::new().chunk(&declared.concat(), 0).finish(&declared);
            let source = Arc::new(Bytes::from(bag));
            let log = RosbagLog::open(source, RosbagOptions::default()).unwrap();
            let [topic] = &log.manifest().topics[..] else { panic!("one topic") };
            assert_eq!(topic.definition, right);
            assert_eq!(*topic.schema.field(1).data_type(), DataType::Int8);
            assert_eq!(log.record_definition(TopicId(0)).unwrap().anomaly, None);
        }
    }
}

#[test]
fn different_definitions_without_a_sum_are_different_types() {
    let declared = [(0, "int8 a"), (1, "int16 a")]
        .map(|(id, text)| connection(id, "/a", "a/A", text));
    let bag = BagBuilder::new().chunk(&declared.concat(), 0).finish(&declared);
    let source = Arc::new(Bytes::from(bag));
    let log = RosbagLog::open(source, RosbagOptions::default()).unwrap();
    let topics = log.manifest().topics.iter();
    let types: Vec<_> = topics.map(|t| t.schema.field(1).data_type().clone()).collect();
    assert_eq!(types, [DataType::Int8, DataType::Int16]);
}

#[test]
fn times_with_nanoseconds_over_a_second_are_normalized_and_are_a_finding() {
    let message = |nanos: u32| {
        let time = [5_u32.to_le_bytes(), nanos.to_le_bytes()].concat();
        let fields = [field("conn", &[0; 4]), field("op", &[2]), field("time", &time)];
        record(&fields, b"\x02\0\0\0hi")
    };
    let nanos = [999_999_999, 1_000_000_000, u32::MAX];
    let records = [chatter(), nanos.map(message).concat()].concat();
    let bytes = BagBuilder::new().chunk(&records, 3).finish(&[chatter()]);
    let log = RosbagLog::open(Arc::new(Bytes::from(bytes)), RosbagOptions::default());
    let log = log.unwrap();
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    let mut matches =
        findings.iter().filter(|f| f.code.name == "bag.message.nanoseconds");
    assert_eq!(matches.next().map(|finding| finding.count), Some(2));
    // 5 s + 4.294967295 s: ROS normalizes such times, too.
    assert_eq!(log.manifest().time.unwrap().end.as_nanos() - 1, 9_294_967_295);
}

#[test]
fn list_of_a_type_without_fields_has_its_length_as_a_column_and_a_remark() {
    let line = "=".repeat(80);
    let text =
        format!("B b\nint8 v\n{line}\nMSG: a/B\nE[] e\nE one\n{line}\nMSG: a/E\n");
    let declared = connection(0, "/a", "a/A", &text);
    let bytes =
        BagBuilder::new().chunk(&declared, 0).finish(std::slice::from_ref(&declared));
    let log = RosbagLog::open(Arc::new(Bytes::from(bytes)), RosbagOptions::default());
    let log = log.unwrap();
    let schema = &log.manifest().topics[0].schema;
    let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["time", "b", "v"]);
    assert_eq!(count_columns(schema.fields()), ["b.e"]);
    let remarks = log.manifest().remarks.join("; ");
    assert!(remarks.contains("the elements of b.e have no fields"), "{remarks}");
}

#[test]
fn bag_with_only_its_first_line_is_truncated() {
    for line in ["#ROSBAG V2.0\n", "#ROSBAG V1.2\n"] {
        let source = Arc::new(Bytes::from(line));
        let log = RosbagLog::open(source, RosbagOptions::default()).unwrap();
        let damage = log.manifest().damage.iter();
        let reported: Vec<_> =
            damage.map(|loss| (loss.kind, loss.bytes.clone())).collect();
        assert_eq!(reported, [(DamageKind::Truncated, 13..13)]);
    }
    // If the header declares no chunks and no connections, nothing is lost.
    let log = RosbagLog::open(
        Arc::new(Bytes::from(BagBuilder::new().bytes)),
        RosbagOptions::default(),
    );
    assert_eq!(log.unwrap().manifest().damage, []);
}

#[test]
fn file_that_is_not_a_bag_is_refused_with_a_reason() {
    for bytes in [&b"PK\x03\x04 this is something else"[..], b"", &[0; 5000]] {
        let source = Arc::new(Bytes::copy_from_slice(bytes));
        let err = RosbagLog::open(source, RosbagOptions::default()).unwrap_err();
        assert_eq!(err.kind(), logtool_core::ErrorKind::Unrecognized, "{err}");
    }
}

#[test]
fn messages_of_a_chunk_with_a_broken_header_are_read() {
    for byte in [0, 0xff] {
        let bag = BagBuilder::new().chunk(&[chatter(), messages(0..5)].concat(), 5);
        let bag = bag.chunk(&messages(5..9), 4);
        let chunks = bag.chunks.clone();
        // A chunk header has 45 bytes of fields, and two lengths.
        let with_broken_header = |mut bytes: Vec<u8>, chunk: usize| {
            let at = chunks[chunk].0 as usize;
            bytes[at..at + 40].fill(byte);
            bytes
        };
        let unindexed = bag.bytes.clone();
        let indexed = bag.finish(&[chatter()]);
        for chunk in 0..2 {
            assert_chatter(&with_broken_header(indexed.clone(), chunk), 9);
            let bytes = with_broken_header(unindexed.clone(), chunk);
            assert_chatter(&bytes, 9);
            let options = RosbagOptions::default().with_mode(OpenMode::Full);
            let log = RosbagLog::open(Arc::new(Bytes::from(bytes)), options).unwrap();
            let damage = &log.manifest().damage;
            assert!(damage.iter().any(|d| d.lost_bytes > 0), "{damage:?}");
        }
    }
}
