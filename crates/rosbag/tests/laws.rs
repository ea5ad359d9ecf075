//! Real bags and all edge cases keep the laws of the core.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{
    Block, Format, Log, Manifest, MatchConfidence, OpenOptions, Result, Selection,
    Source, conformance,
};
use logtool_rosbag::{FORMAT, OpenMode, RosbagLog, RosbagOptions};

/// Returns the bags in `folder`.
fn samples(folder: &str) -> impl Iterator<Item = (String, Bytes)> {
    conformance::samples(folder, &["bag", "active"])
}

/// The bag format with a fixed mode of opening.
struct FixedMode(OpenMode);

impl Format for FixedMode {
    fn name(&self) -> &'static str {
        FORMAT.name()
    }

    fn probe(&self, name: &str, first_bytes: &[u8]) -> MatchConfidence {
        FORMAT.probe(name, first_bytes)
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let options = RosbagOptions::from(options).with_mode(self.0);
        Ok(Box::new(RosbagLog::open(source, options)?))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        FORMAT.open_with_manifest(source, manifest, options)
    }
}

/// Returns whether a bag has records and no damage, or `None` if it cannot be opened and read.
fn is_sound(bytes: &Bytes) -> Option<bool> {
    let options = RosbagOptions::default().with_mode(OpenMode::Full);
    let log = RosbagLog::open(Arc::new(bytes.clone()), options).ok()?;
    let (selection, mut block, mut records) =
        (Selection::default(), Block::default(), 0);
    for part in log.manifest().plan(&selection, u64::MAX) {
        let mut cursor = log.read(&part, &selection).ok()?;
        while cursor.fill(&mut block).unwrap() {
            records += block.len();
        }
    }
    Some(log.manifest().damage.is_empty() && records > 0)
}

/// Edge cases that decompress to too many bytes to be read repeatedly.
const BOMBS: [&str; 1] = ["bz2_bomb.bag"];

/// Checks that each edge case, opened with `mode`, keeps the laws of damaged logs.
fn check_edge_cases(mode: OpenMode) {
    for (name, bytes) in samples("rosbag/edge") {
        if !BOMBS.contains(&name.as_str()) && is_sound(&bytes).is_some() {
            eprintln!("{name}");
            conformance::check_damaged(&FixedMode(mode), bytes);
        }
    }
}

#[test]
fn every_edge_case_that_opens_keeps_the_laws() {
    check_edge_cases(OpenMode::Auto);
}

#[test]
fn every_edge_case_keeps_the_laws_by_its_index() {
    check_edge_cases(OpenMode::Index);
}

#[test]
fn every_edge_case_keeps_the_laws_without_its_index() {
    check_edge_cases(OpenMode::Scan);
}

/// Sound bags of all kinds. The laws include that they are truncated and garbled at many positions.
const SOUND: [&str; 10] = [
    "empty_chunk.bag",
    "hdr_unpadded.bag",
    "lz4_linked_contentsize.bag",
    "multi_conn_same_topic.bag",
    "no_inner_topic.bag",
    "ok_bz2.bag",
    "ok_lz4.bag",
    "ok_none.bag",
    "two_types_one_topic.bag",
    "v12_indexed.bag",
];

fn check_sound(mode: OpenMode) {
    for (name, bytes) in samples("rosbag/edge") {
        if SOUND.contains(&name.as_str()) {
            eprintln!("{name}");
            assert_eq!(is_sound(&bytes), Some(true), "{name}");
            conformance::check(&FixedMode(mode), bytes);
        }
    }
}

#[test]
fn sound_bags_keep_all_laws() {
    check_sound(OpenMode::Auto);
}

#[test]
fn sound_bags_keep_all_laws_by_their_index() {
    check_sound(OpenMode::Index);
}

#[test]
fn sound_bags_keep_all_laws_without_their_index() {
    check_sound(OpenMode::Scan);
}

#[test]
fn real_bags_keep_the_laws() {
    for (name, bytes) in samples("rosbag") {
        match is_sound(&bytes) {
            Some(true) if bytes.len() < 10_000 => {
                eprintln!("{name}");
                conformance::check(&FORMAT, bytes);
            }
            Some(_) if bytes.len() < 1_000_000 => {
                eprintln!("{name}");
                conformance::check_damaged(&FORMAT, bytes);
            }
            _ => {}
        }
    }
}
