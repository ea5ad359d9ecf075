//! The bags in `testdata/` are those that the generator writes, and keep the laws.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

#[path = "../examples/make_bags/files.rs"]
mod files;

use std::{fs, path::Path, sync::Arc};

use bytes::Bytes;
use logtool_core::{Block, Damage, DamageKind, Log as _, Selection, conformance};
use logtool_rosbag::{FORMAT, OpenMode, RosbagLog, RosbagOptions};

#[test]
fn generator_writes_the_files_in_testdata() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    for (name, bytes) in files::all_bags().unwrap() {
        let stored = fs::read(folder.join(name)).unwrap();
        // `assert_eq` would print both files.
        assert!(
            stored == bytes,
            "{name} differs from the output of the generator: run \
             `cargo run -p logtool-rosbag --example make_bags`"
        );
    }
}

#[test]
fn bags_in_testdata_are_small() {
    let sizes = files::all_bags().unwrap().into_iter().map(|(_, bytes)| bytes.len());
    let sizes: Vec<usize> = sizes.collect();
    assert!(sizes.iter().all(|size| *size < 100_000), "{sizes:?}");
}

/// Returns the number of logged messages of a bag, and its damage.
fn read(bytes: &Bytes, mode: OpenMode) -> (usize, Vec<Damage>) {
    let options = RosbagOptions::default().with_mode(mode);
    let log = RosbagLog::open(Arc::new(bytes.clone()), options).unwrap();
    let selection =
        Selection { topics: log.manifest().logged_topics(), ..Selection::default() };
    let (mut block, mut records, mut damage) = (Block::default(), 0, Vec::new());
    for part in log.manifest().plan(&Selection::default(), 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            records += block.len();
            damage.extend_from_slice(block.damage());
        }
    }
    (records, damage)
}

#[test]
fn damage_to_index_data_loses_no_message() {
    let (_, mut rover) = files::all_bags().unwrap().pop().unwrap();
    // According to a record parser in Python, the index data of connection 0 after the fourth chunk
    // end at 30,647, and those of connection 1 at 30,822.
    rover[30_208..30_720].fill(0);
    let rover = Bytes::from(rover);
    for mode in [OpenMode::Index, OpenMode::Scan, OpenMode::Full] {
        let (records, damage) = read(&rover, mode);
        assert_eq!(records, 491, "{mode:?}");
        let [damage] = &damage[..] else { panic!("{mode:?}: {damage:?}") };
        assert_eq!((damage.kind, damage.records), (DamageKind::Index, 0));
        assert_eq!((damage.bytes.end, damage.lost_bytes), (30_822, 0));
    }
}

#[test]
fn every_bad_bag_keeps_the_laws() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bad");
    let mut checked = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "bag") {
            conformance::check_damaged(&FORMAT, Bytes::from(fs::read(&path).unwrap()));
            checked += 1;
        }
    }
    assert_eq!(checked, 4);
}
