//! Bags keep the laws of the core: real ones, and every edge case.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{
    Block, Format, Log, Manifest, MatchConfidence, OpenOptions, Result, Selection,
    Source, conformance,
};
use logtool_rosbag::{FORMAT, RosbagLog, RosbagOptions, Survey};

/// The bags in `folder`.
fn samples(folder: &str) -> impl Iterator<Item = (String, Bytes)> {
    conformance::samples(folder, &["bag", "active"])
}

/// Bags, looked through in one way.
struct Surveyed(Survey);

impl Format for Surveyed {
    fn name(&self) -> &'static str {
        FORMAT.name()
    }

    fn probe(&self, name: &str, head: &[u8]) -> MatchConfidence {
        FORMAT.probe(name, head)
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let options = RosbagOptions::from(options).with_survey(self.0);
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

/// Whether a bag opens and can be read, has records, and is sound.
fn is_sound(bytes: &Bytes) -> Option<bool> {
    let options = RosbagOptions::default().with_survey(Survey::Full);
    let log = RosbagLog::open(Arc::new(bytes.clone()), options).ok()?;
    let (all, mut block, mut records) = (Selection::default(), Block::default(), 0);
    for part in log.manifest().plan(&all, u64::MAX) {
        let mut cursor = log.read(&part, &all).ok()?;
        while cursor.fill(&mut block).unwrap() {
            records += block.len();
        }
    }
    Some(log.manifest().damage.is_empty() && records > 0)
}

/// Edge cases that unpack to so much that reading them often takes too long.
const BOMBS: [&str; 1] = ["bz2_bomb.bag"];

/// Each edge case that is opened `survey`ed keeps the laws that damaged logs keep.
fn check_edge_cases(survey: Survey) {
    for (name, bytes) in samples("rosbag/edge") {
        if !BOMBS.contains(&name.as_str()) && is_sound(&bytes).is_some() {
            eprintln!("{name}");
            conformance::check_damaged(&Surveyed(survey), bytes);
        }
    }
}

#[test]
fn every_edge_case_that_opens_keeps_the_laws() {
    check_edge_cases(Survey::Auto);
}

#[test]
fn every_edge_case_keeps_the_laws_by_its_index() {
    check_edge_cases(Survey::Index);
}

#[test]
fn every_edge_case_keeps_the_laws_without_its_index() {
    check_edge_cases(Survey::Scan);
}

/// Sound bags of all sorts, which are cut and garbled at many places.
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

fn check_sound(survey: Survey) {
    for (name, bytes) in samples("rosbag/edge") {
        if SOUND.contains(&name.as_str()) {
            eprintln!("{name}");
            assert_eq!(is_sound(&bytes), Some(true), "{name}");
            conformance::check(&Surveyed(survey), bytes);
        }
    }
}

#[test]
fn sound_bags_keep_all_laws() {
    check_sound(Survey::Auto);
}

#[test]
fn sound_bags_keep_all_laws_by_their_index() {
    check_sound(Survey::Index);
}

#[test]
fn sound_bags_keep_all_laws_without_their_index() {
    check_sound(Survey::Scan);
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
