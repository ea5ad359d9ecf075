//! Bags with every oddity that was found or thought of give as many messages as can be
//! had from them.
//!
//! `edge/EXPECT.tsv` says how many that are; it was written by hand beside the
//! generator of the bags, and knows nothing of this crate.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers outside #[test]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, ErrorKind, Log as _, OpenOptions, Result, Selection,
};
use logtool_rosbag::{Key, RosbagLog, RosbagOptions, Survey};

/// The folder of the bags; says so where it is missing.
fn folder() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("LOGTOOL_SAMPLES").map_or(default, PathBuf::from);
    let folder = root.join("rosbag/edge");
    if !folder.is_dir() {
        eprintln!("no bags in rosbag/edge: set LOGTOOL_SAMPLES; nothing is checked");
        return None;
    }
    Some(folder)
}

/// What reading a bag gave.
struct Read {
    records: u64,
    damage: Vec<Damage>,
    log: RosbagLog,
}

fn read(bytes: &Bytes, options: RosbagOptions) -> Result<Read> {
    let log = RosbagLog::open(Arc::new(bytes.clone()), options)?;
    let (all, mut block) = (Selection::default(), Block::default());
    let (mut records, mut damage) = (0, Vec::new());
    for part in log.manifest().plan(&all, 0) {
        let mut cursor = log.read(&part, &all)?;
        while cursor.fill(&mut block)? {
            records += block.len() as u64;
            damage.extend_from_slice(block.damage());
        }
    }
    Ok(Read { records, damage, log })
}

const SURVEYS: [Survey; 4] = [Survey::Auto, Survey::Index, Survey::Scan, Survey::Full];

/// Bags that are not opened, or not read, and why.
const REFUSED: [(&str, ErrorKind, &str); 3] = [
    ("crlf_magic.bag", ErrorKind::Malformed, "text mode"),
    ("lfs_pointer.bag", ErrorKind::Unrecognized, "Git LFS pointer"),
    ("encrypted_unknown.bag", ErrorKind::Unsupported, "acme/Rot13"),
];

/// Bags of which more can be had than the table says, how much, and why.
const MORE: [(&str, u64, &str); 2] = [
    ("active_unterminated_bz2.bag", 100, "the last chunk lacks only its checksum; 75+"),
    ("corrupt_chunk2_none.bag", 99, "one message is broken; the next, 38, is as it was"),
];

#[test]
fn every_bag_gives_what_can_be_had() {
    let Some(folder) = folder() else { return };
    let table = std::fs::read_to_string(folder.join("EXPECT.tsv")).unwrap();
    let mut failures = Vec::new();
    for row in table.lines().skip(1) {
        let [name, count, ..] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let count: u64 = count.parse().expect("every row has a count");
        let more = MORE.iter().find(|more| more.0 == name);
        let count = more.map_or(count, |more| more.1.max(count));
        let bytes = Bytes::from(std::fs::read(folder.join(name)).unwrap());
        for survey in SURVEYS {
            let mut options = RosbagOptions::default().with_survey(survey);
            if name == "bz2_bomb.bag" {
                // Its one message is 300 MB: who wants it has to allow for that.
                options.open.record_bytes = 512 << 20;
            }
            match read(&bytes, options) {
                Ok(read) if read.records == count => {}
                Ok(read) => failures.push(format!(
                    "{name}: {} instead of {count} ({survey:?}); {:?} {:?}",
                    read.records,
                    read.damage,
                    read.log.manifest().remarks
                )),
                Err(err) => {
                    let refused = REFUSED.iter().find(|refused| refused.0 == name);
                    let is_right = refused.is_some_and(|(_, kind, why)| {
                        err.kind() == *kind && err.to_string().contains(why)
                    });
                    if !is_right {
                        failures.push(format!("{name}: {err} ({survey:?})"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
