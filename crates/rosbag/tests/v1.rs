//! Bags of version 1.2, built here byte by byte according to the ROS wiki ("Bags/Format/1.2").

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, Format as _, Log as _, LogSlice, Selection, WriteOptions,
};
use logtool_rosbag::{Connection, FORMAT, RosbagLog, RosbagOptions};

/// The name of a type and its MD5 sum, by `rosmsg md5`.
type Type = (&'static str, &'static str);

const STRING: Type = ("std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1");
const UINT8: Type = ("std_msgs/UInt8", "7c8164229e7d2c17eb95e9231617fdee");
/// A type that is not built in, with the definition `int8 a`. Its sum is by md5sum(1).
const CUSTOM: Type = ("my/A", "4eec2979cc688371cc0e7f01aea37ad1");

fn record(fields: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
    let fields = fields.iter().flat_map(|(name, value)| {
        let len = (name.len() + 1 + value.len()) as u32;
        [&len.to_le_bytes()[..], name.as_bytes(), b"=", value].concat()
    });
    let fields: Vec<u8> = fields.collect();
    let lengths = [fields.len(), data.len()].map(|len| (len as u32).to_le_bytes());
    [&lengths[0], fields.as_slice(), &lengths[1], data].concat()
}

fn definition(topic: &str, (name, sum): Type, text: &str) -> Vec<u8> {
    let fields: [(&str, &[u8]); 5] = [
        ("op", &[1]),
        ("topic", topic.as_bytes()),
        ("md5", sum.as_bytes()),
        ("type", name.as_bytes()),
        ("def", text.as_bytes()),
    ];
    record(&fields, b"")
}

/// Returns a message in the second `sec`. `publisher` is the name of the publisher, and whether it
/// is latching.
fn message(
    topic: &str,
    (name, sum): Type,
    sec: u32,
    publisher: Option<(&str, &str)>,
    data: &[u8],
) -> Vec<u8> {
    let (sec, nsec) = (sec.to_le_bytes(), [0; 4]);
    let mut fields: Vec<(&str, &[u8])> = vec![
        ("op", &[2]),
        ("topic", topic.as_bytes()),
        ("md5", sum.as_bytes()),
        ("type", name.as_bytes()),
        ("sec", &sec),
        ("nsec", &nsec),
    ];
    if let Some((caller, latching)) = publisher {
        fields.push(("callerid", caller.as_bytes()));
        fields.push(("latching", latching.as_bytes()));
    }
    record(&fields, data)
}

fn bag(records: &[Vec<u8>]) -> Vec<u8> {
    let header = record(&[("op", &[3]), ("index_pos", &[0; 8])], &[b' '; 40]);
    [b"#ROSBAG V1.2\n".to_vec(), header, records.concat()].concat()
}

fn open(bytes: Vec<u8>) -> RosbagLog {
    RosbagLog::open(Arc::new(Bytes::from(bytes)), RosbagOptions::default()).unwrap()
}

/// A record: the label of its topic, the caller, and the payload.
type ReadRecord = (String, Option<String>, Vec<u8>);

/// Returns all records, and the damage that cursors report.
fn read(log: &RosbagLog) -> (Vec<ReadRecord>, Vec<Damage>) {
    let (mut records, mut damage) = (Vec::new(), Vec::new());
    let (selection, mut block) = (Selection::default(), Block::default());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            damage.extend_from_slice(block.damage());
            records.extend(block.iter().map(|record| {
                let label = log.manifest().topic(record.topic).unwrap().label();
                let connection = log.connections().nth(record.stream as usize);
                let caller = connection.unwrap().caller.clone();
                (label.into_owned(), caller, record.payload.to_vec())
            }));
        }
    }
    (records, damage)
}

#[test]
fn messages_without_a_definition_are_read_as_doubtful() {
    let log = open(bag(&[
        message("/known", UINT8, 1, None, &[7]),
        message("/other", CUSTOM, 2, None, &[8]),
        message("/other", CUSTOM, 3, None, &[9]),
        definition("/defined", CUSTOM, "int8 a # comment"),
        message("/raw", ("my/B", STRING.1), 4, None, &[1]),
    ]));
    let (records, damage) = read(&log);
    assert_eq!((records.len(), damage), (4, vec![]));
    let manifest = log.manifest();
    let topic = |name: &str| manifest.topic_id(name).unwrap();
    let losses = manifest.damage.iter().map(|damage| {
        assert_eq!(damage.kind, DamageKind::Doubtful);
        (manifest.topic(damage.topic.unwrap()).unwrap().name.as_str(), damage.records)
    });
    let mut losses: Vec<_> = losses.collect();
    losses.sort_unstable();
    assert_eq!(losses, [("/known", 1), ("/other", 2), ("/raw", 1)]);
    let definition =
        |name| log.connections_of(topic(name)).next().unwrap().definition.clone();
    assert_eq!(definition("/other"), "int8 a # comment");
    assert_eq!(definition("/known"), "");
    let columns = |name| &manifest.topic(topic(name)).unwrap().schema;
    assert_eq!(columns("/known").field(1).name(), "data");
    assert_eq!(columns("/other").field(1).name(), "a");
}

#[test]
fn broken_definition_loses_no_message() {
    let first = definition("/a", STRING, "string data\n");
    let text =
        |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let messages = (1..6).map(|sec| message("/a", STRING, sec, None, &text("hi")));
    let sound = bag(&[vec![first.clone()], messages.collect()].concat());
    let start = sound.len()
        - 5 * message("/a", STRING, 1, None, &text("hi")).len()
        - first.len();
    for at in (start..start + first.len() - 4).step_by(3) {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(b"\xff\xfe\xfd\xfc");
        let log = open(bytes);
        let (records, _) = read(&log);
        assert_eq!(records.len(), 5, "{at}");
        assert!(records.iter().all(|(label, ..)| label.starts_with("/a")), "{at}");
        let lost = log.manifest().damage.iter().filter(|damage| damage.kind.is_loss());
        assert!(lost.count() <= 1, "{at}");
    }
}

#[test]
fn copy_has_the_publishers_and_latching() {
    let log = open(bag(&[
        definition("/a", UINT8, "uint8 data"),
        message("/a", UINT8, 1, Some(("/one", "1")), &[1]),
        message("/a", UINT8, 2, Some(("/two", "0")), &[2]),
        message("/a", UINT8, 3, Some(("/one", "1")), &[3]),
    ]));
    let publishers_of = |log: &RosbagLog| -> Vec<_> {
        let publisher = |connection: &Connection| {
            assert_eq!(connection.definition, "uint8 data");
            (connection.caller.clone().unwrap(), connection.is_latching())
        };
        let mut publishers: Vec<_> = log.connections().map(publisher).collect();
        publishers.sort_unstable();
        publishers
    };
    let expected = [("/one".to_owned(), true), ("/two".to_owned(), false)];
    let record =
        |caller: &str, data: u8| ("/a".to_owned(), Some(caller.to_owned()), vec![data]);
    let records = vec![record("/one", 1), record("/two", 2), record("/one", 3)];
    assert_eq!(publishers_of(&log), expected);
    assert_eq!(read(&log), (records.clone(), vec![]));
    assert_eq!(log.manifest().damage, []);
    assert_eq!(log.manifest().topics[0].latched.len(), 1);

    let mut out = Cursor::new(Vec::new());
    let slice = LogSlice { manifest: log.manifest(), selection: Selection::default() };
    let options = WriteOptions::default();
    let mut sink = FORMAT.writer(Box::new(&mut out), &[slice], &options).unwrap();
    let (all, mut block) = (Selection::default(), Block::default());
    for part in log.manifest().plan(&all, 0) {
        let mut cursor = log.read(&part, &all).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.iter().for_each(|record| sink.write(0, record).unwrap());
        }
    }
    sink.finish().unwrap();
    let copy = open(out.into_inner());
    assert_eq!(copy.version(), Some((2, 0)));
    assert_eq!((publishers_of(&copy), read(&copy).0), (expected.to_vec(), records));
}
