//! Bags keep the laws of the core: real ones, and every edge case.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use logtool_core::{
    Block, Format, Likeness, Log, Manifest, OpenOptions, Result, Selection, Source,
    conformance,
};
use logtool_rosbag::{FORMAT, RosbagLog, RosbagOptions, Survey};

/// Bags in `folder`; says so where they are missing.
fn samples(folder: &str) -> Vec<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("LOGTOOL_SAMPLES").map_or(default, PathBuf::from);
    let Ok(found) = std::fs::read_dir(root.join(folder)) else {
        eprintln!("no samples in {folder}: set LOGTOOL_SAMPLES; nothing is checked");
        return vec![];
    };
    let paths = found.map(|entry| entry.unwrap().path());
    let is_bag = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "bag" || end == "active")
    };
    let mut bags: Vec<PathBuf> = paths.filter(is_bag).collect();
    bags.sort();
    bags
}

/// Bags, looked through in one way.
struct Surveyed(Survey);

impl Format for Surveyed {
    fn name(&self) -> &'static str {
        FORMAT.name()
    }

    fn likeness(&self, name: &str, head: &[u8]) -> Likeness {
        FORMAT.likeness(name, head)
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let options = RosbagOptions::from(options).with_survey(self.0);
        Ok(Box::new(RosbagLog::open(source, options)?))
    }

    fn resume(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        FORMAT.resume(source, manifest, options)
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

#[test]
fn every_edge_case_that_opens_keeps_the_laws() {
    for path in samples("rosbag/edge") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        if BOMBS.contains(&name.as_str()) {
            continue;
        }
        for survey in [Survey::Auto, Survey::Index, Survey::Scan] {
            eprintln!("{name} {survey:?}");
            match is_sound(&bytes) {
                Some(true) if survey == Survey::Auto => {
                    conformance::check(&Surveyed(survey), bytes.clone());
                }
                Some(_) => conformance::check_damaged(&Surveyed(survey), bytes.clone()),
                None => {}
            }
        }
    }
}

#[test]
fn small_real_bags_keep_the_laws() {
    for path in samples("rosbag") {
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        if bytes.len() < 30_000 && is_sound(&bytes) == Some(true) {
            eprintln!("{}", path.display());
            conformance::check(&FORMAT, bytes);
        }
    }
}

#[test]
fn real_bags_keep_the_laws_of_damaged_ones() {
    for path in samples("rosbag") {
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        if is_sound(&bytes).is_some() {
            eprintln!("{}", path.display());
            conformance::check_damaged(&FORMAT, bytes);
        }
    }
}
