//! Points and packets are topics beside those that they are made of.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Columns, Log as _, Selection, TopicId, TopicOrigin, TopicSet, conformance,
};
use logtool_rosbag::{RosbagLog, RosbagOptions, Survey};

/// The repository's `rover.bag`; `testdata/README.md` says what it holds.
fn rover() -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rover.bag");
    std::fs::read(path).unwrap().into()
}

fn open(bytes: &Bytes, survey: Survey) -> RosbagLog {
    let options = RosbagOptions::default().with_survey(survey);
    RosbagLog::open(Arc::new(bytes.clone()), options).unwrap()
}

/// How many records `topics` have.
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

/// The columns of `topic`, and how many rows it has.
fn table(log: &RosbagLog, topic: TopicId) -> (String, usize) {
    let selection = Selection { topics: [topic].into_iter().collect(), ..all() };
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

fn all() -> Selection {
    Selection::default()
}

#[test]
fn reading_all_but_what_is_derived_gives_every_message_once() {
    let bytes = rover();
    for survey in [Survey::Index, Survey::Scan, Survey::Full] {
        let log = open(&bytes, survey);
        let topics = log.manifest().topics();
        let is_derived = |origin| origin == TopicOrigin::Derived;
        let (derived, logged): (Vec<_>, Vec<_>) =
            topics.partition(|(_, topic)| is_derived(topic.origin));
        let mut names: Vec<&str> =
            derived.iter().map(|(_, t)| t.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["/points/points", "/scan/points"], "{survey:?}");
        assert_eq!(count(&log, logged.iter().map(|(id, _)| *id).collect()), 491);
        assert_eq!(count(&log, derived.iter().map(|(id, _)| *id).collect()), 70);
        assert_eq!(count(&log, TopicSet::All), 561);
    }
}

#[test]
fn points_have_the_columns_of_the_first_message_also_in_a_resumed_log() {
    let bytes = rover();
    let log = open(&bytes, Survey::Index);
    let points = log.manifest().topic("/points/points").unwrap();
    let names = "time stamp index x y z intensity ring";
    assert_eq!(table(&log, points), (names.to_owned(), 20 * 24));
    // The manifest, which is made of the index alone, has those that all points have.
    let known = &log.manifest().topics[points.index()].schema;
    assert_eq!(known.fields().len(), 3);

    let manifest = Arc::new(log.manifest().clone());
    let source = Arc::new(bytes.clone());
    let again = RosbagLog::resume(source, manifest, RosbagOptions::default()).unwrap();
    assert_eq!(table(&again, points), (names.to_owned(), 20 * 24));
}

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("rosbag/{name}"))
}

#[test]
fn packets_of_a_scan_are_records_of_1206_bytes() {
    let name = "synthetic-velodynescan-compressedimage.bag";
    let Some(bytes) = sample(name) else { return };
    let log = open(&bytes, Survey::Index);
    let packets = log.manifest().topic("/velodyne_packets/packets").unwrap();
    let topic = log.manifest().get(packets).unwrap();
    assert_eq!((topic.encoding.as_str(), topic.records), ("velodyne", None));
    // 10 scans of 76 packets, as the Python package rosbags 0.11 reads it.
    assert_eq!(table(&log, packets), ("time payload".to_owned(), 760));
}

#[test]
fn real_clouds_and_scans_have_as_many_points_as_numpy_finds() {
    let rows = [
        ("bag-reader-java-PointCloud2.bag", "/pointcloud2/points", 124_914),
        ("embag-test.bag", "/luminar_pointcloud/points", 180_822),
        ("embag-test.bag", "/base_scan/points", 450),
        ("tilt_laser.bag", "/scan/points", 191_884),
    ];
    for (bag, topic, rows) in rows {
        let Some(bytes) = sample(bag) else { return };
        let log = open(&bytes, Survey::Index);
        let topic = log.manifest().topic(topic).unwrap();
        assert_eq!(table(&log, topic).1, rows, "{bag}");
    }
}
