//! Points and packets are topics in addition to the topics from which they are derived.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Columns, Log as _, Selection, Severity, Timestamp, TopicId, TopicOrigin,
    TopicSet, check, conformance,
};
use logtool_rosbag::{
    Compression, ConnectionHeader, OpenMode, RosbagLog, RosbagOptions, Writer,
    WriterOptions,
};

/// The repository's `rover.bag`, which `testdata/README.md` describes.
fn rover() -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rover.bag");
    std::fs::read(path).unwrap().into()
}

fn open(bytes: &Bytes, mode: OpenMode) -> RosbagLog {
    let options = RosbagOptions::default().with_mode(mode);
    RosbagLog::open(Arc::new(bytes.clone()), options).unwrap()
}

/// Returns the number of records of `topics`.
fn count(log: &RosbagLog, topics: TopicSet) -> usize {
    let selection = Selection { topics, ..Selection::default() };
    let (mut block, mut records) = (Block::default(), 0);
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            records += block.len();
        }
    }
    records
}

/// Returns the columns of `topic`, and the number of its rows.
fn table(log: &RosbagLog, topic: TopicId) -> (String, usize) {
    let selection =
        Selection { topics: [topic].into_iter().collect(), ..Selection::default() };
    let mut decoder = log.decoder(topic, &Columns::default()).unwrap();
    let (mut block, mut damage) = (Block::default(), Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
        }
    }
    assert_eq!(damage, []);
    let fields = decoder.schema().fields().clone();
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    (names.join(" "), decoder.rows())
}

#[test]
fn reading_logged_topics_returns_every_message_once() {
    let bytes = rover();
    for mode in [OpenMode::Index, OpenMode::Scan, OpenMode::Full] {
        let log = open(&bytes, mode);
        let topics = log.manifest().topics();
        let is_derived = |origin| origin == TopicOrigin::Derived;
        let (derived, logged): (Vec<_>, Vec<_>) =
            topics.partition(|(_, topic)| is_derived(topic.origin));
        let mut names: Vec<&str> =
            derived.iter().map(|(_, t)| t.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["/points/points", "/scan/points"], "{mode:?}");
        assert_eq!(count(&log, logged.iter().map(|(id, _)| *id).collect()), 491);
        assert_eq!(count(&log, derived.iter().map(|(id, _)| *id).collect()), 70);
        assert_eq!(count(&log, TopicSet::All), 561);
    }
}

#[test]
fn points_have_the_columns_of_their_messages_also_with_an_existing_manifest() {
    let bytes = rover();
    let log = open(&bytes, OpenMode::Index);
    let points = log.manifest().topic_id("/points/points").unwrap();
    let names = "time stamp index x y z intensity ring";
    assert_eq!(table(&log, points), (names.to_owned(), 20 * 24));
    // The manifest is built from the index alone, so it has only the columns of all points.
    let schema = &log.manifest().topics[points.index()].schema;
    assert_eq!(schema.fields().len(), 3);

    let manifest = Arc::new(log.manifest().clone());
    let source = Arc::new(bytes.clone());
    let reopened =
        RosbagLog::open_with_manifest(source, manifest, RosbagOptions::default())
            .unwrap();
    assert_eq!(table(&reopened, points), (names.to_owned(), 20 * 24));
}

/// Returns a cloud with this number of points and these fields, all of them `float32` and 0.
fn cloud(fields: &[&str], points: usize) -> Vec<u8> {
    let mut message = [&[0; 12][..], &1_u32.to_le_bytes(), b"f"].concat();
    let push_u32 = |message: &mut Vec<u8>, number: usize| {
        message.extend((number as u32).to_le_bytes());
    };
    [1, points, fields.len()].iter().for_each(|n| push_u32(&mut message, *n));
    for (index, name) in fields.iter().enumerate() {
        push_u32(&mut message, name.len());
        message.extend(name.as_bytes());
        push_u32(&mut message, 4 * index);
        message.push(7); // FLOAT32
        push_u32(&mut message, 1);
    }
    message.push(0);
    let step = 4 * fields.len();
    [step, points * step, points * step]
        .iter()
        .for_each(|n| push_u32(&mut message, *n));
    message.extend(vec![0; points * step]);
    message.push(1);
    message
}

/// Returns a bag of point clouds. Only the cloud with the index `late_cloud` has the field `late`.
fn with_late_field(clouds: usize, points: usize, late_cloud: usize) -> RosbagLog {
    let options = WriterOptions::default().with_chunk_bytes(10_000);
    let mut bag = Writer::new(std::io::Cursor::new(Vec::new()), options).unwrap();
    let definition = logtool_rosmsg::Definition::by_name("sensor_msgs/PointCloud2");
    let text = definition.unwrap().text();
    let header = ConnectionHeader::new("/points", "sensor_msgs/PointCloud2", &text);
    let connection = bag.connect(&header).unwrap();
    for number in 0..clouds {
        let fields = ["x", "y", "z", "late"];
        let fields = if number == late_cloud { &fields[..] } else { &fields[..3] };
        let time = Timestamp::from_nanos(1_000_000_000 + number as i64);
        bag.write(connection, time, &cloud(fields, points)).unwrap();
    }
    open(&bag.finish().unwrap().into_inner().into(), OpenMode::Index)
}

#[test]
fn all_clouds_of_a_short_bag_are_inspected() {
    // A chunk contains 99 clouds of one point.
    let log = with_late_field(250, 1, 195);
    assert!(log.manifest().parts.len() <= 8);
    let points = log.manifest().topic_id("/points/points").unwrap();
    let names = "time stamp index x y z late";
    assert_eq!(table(&log, points), (names.to_owned(), 250));
}

#[test]
fn field_without_a_column_is_not_a_fault_of_the_bag() {
    // There are 40 chunks of one cloud. Four clouds are inspected at each of eight positions; the
    // cloud with the index 4 is between two positions.
    let log = with_late_field(40, 1000, 4);
    assert_eq!(log.manifest().parts.len(), 40);
    let findings = check(&log, &|_| {}).unwrap();
    let no_column =
        findings.iter().find(|finding| finding.code.name == "values.no_column");
    assert_eq!(no_column.map(|finding| finding.code.severity), Some(Severity::Note));
    assert_eq!(findings.count(Severity::Error), 0, "{findings:?}");
}

#[test]
fn clouds_of_several_publishers_have_the_fields_of_all_as_columns() {
    let definition = logtool_rosmsg::Definition::by_name("sensor_msgs/PointCloud2");
    let text = definition.unwrap().text();
    for compression in [Compression::None, Compression::Lz4] {
        let options = WriterOptions::default()
            .with_compression(compression)
            .with_chunk_bytes(10_000);
        let mut bag = Writer::new(std::io::Cursor::new(Vec::new()), options).unwrap();
        let [front, rear] = ["/front", "/rear"].map(|caller| {
            let header =
                ConnectionHeader::new("/points", "sensor_msgs/PointCloud2", &text);
            bag.connect(&header.with_caller(caller)).unwrap()
        });
        // There are 200 chunks of one cloud. In the last 40, the publishers alternate.
        for number in 0..200 {
            let (connection, fields): (_, &[&str]) =
                match number > 160 && number % 2 == 1 {
                    true => (rear, &["x", "y", "z", "intensity"]),
                    false => (front, &["x", "y", "z"]),
                };
            let time = Timestamp::from_nanos(1_000_000_000 + number);
            bag.write(connection, time, &cloud(fields, 1000)).unwrap();
        }
        let bytes: Bytes = bag.finish().unwrap().into_inner().into();
        let log = open(&bytes, OpenMode::Index);
        assert!(log.manifest().parts.len() >= 200);
        let points = log.manifest().topic_id("/points/points").unwrap();
        let names = "time stamp index x y z intensity";
        assert_eq!(table(&log, points), (names.to_owned(), 200_000));
    }
}

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("rosbag/{name}"))
}

#[test]
fn packets_of_a_scan_are_records_of_1206_bytes() {
    let name = "synthetic-velodynescan-compressedimage.bag";
    let Some(bytes) = sample(name) else { return };
    let log = open(&bytes, OpenMode::Index);
    let packets = log.manifest().topic_id("/velodyne_packets/packets").unwrap();
    let topic = log.manifest().topic(packets).unwrap();
    assert_eq!((topic.encoding.as_str(), topic.records), ("velodyne", None));
    // The Python package rosbags 0.11 reads 10 scans of 76 packets.
    assert_eq!(table(&log, packets), ("time payload".to_owned(), 760));
}

#[test]
fn real_clouds_and_scans_have_as_many_points_as_in_numpy() {
    let rows = [
        ("bag-reader-java-PointCloud2.bag", "/pointcloud2/points", 124_914),
        ("embag-test.bag", "/luminar_pointcloud/points", 180_822),
        ("embag-test.bag", "/base_scan/points", 450),
        ("tilt_laser.bag", "/scan/points", 191_884),
    ];
    for (bag, topic, rows) in rows {
        let Some(bytes) = sample(bag) else { return };
        let log = open(&bytes, OpenMode::Index);
        let topic = log.manifest().topic_id(topic).unwrap();
        assert_eq!(table(&log, topic).1, rows, "{bag}");
    }
}
