//! The laws of every bag that opens.

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{
    Block, Columns, Damage, DamageKind, Decoder, Format, Log, Manifest,
    MatchConfidence, OpenOptions, Part, Result, Selection, Source, Timestamp, TopicId,
    TopicOrigin, View, conformance,
};
use logtool_rosbag::{FORMAT, OpenMode, RosbagLog, RosbagOptions};

/// An owned record, for comparisons.
pub type OwnedRecord = (TopicId, u32, Timestamp, Vec<u8>);

/// Files up to this length are also checked with all laws of the core.
const SHORT: usize = 2_048;
/// The maximum record length, which is low so that decompression takes little time.
const LONGEST: u32 = 1 << 18;

/// Opens bags in one mode, and with little memory.
struct FixedMode(OpenMode);

impl FixedMode {
    fn options(&self, mut open: OpenOptions) -> RosbagOptions {
        open.record_bytes = open.record_bytes.min(LONGEST);
        RosbagOptions::from(open).with_mode(self.0)
    }
}

impl Format for FixedMode {
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
        Ok(Box::new(RosbagLog::open(source, self.options(options))?))
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let log =
            RosbagLog::open_with_manifest(source, manifest, self.options(options))?;
        Ok(Box::new(log))
    }
}

/// Opens `file`, reads and decodes it completely, and panics if a law is violated.
pub fn check(file: &[u8]) {
    let file = Bytes::copy_from_slice(file);
    let modes = [OpenMode::Auto, OpenMode::Index, OpenMode::Scan, OpenMode::Full];
    let format = FixedMode(modes[file.len() % 4]);
    let mut open = OpenOptions::default();
    open.block_bytes = [1 << 20, 4_099, 64, 257][file.len() / 4 % 4];
    let options = format.options(open);
    let Ok(log) = RosbagLog::open(Arc::new(file.clone()), options) else { return };
    let all = Selection::default();
    let plan = log.manifest().plan(&all, u64::MAX);
    // An encrypted bag opens, but cannot be read.
    if plan.first().is_some_and(|part| log.read(part, &all).is_err()) {
        return;
    }
    check_manifest(log.manifest(), file.len() as u64);
    for connection in log.connections() {
        assert!(connection.header().len() <= file.len().max(LONGEST as usize));
    }
    let (whole, _) = read(&log, &plan, &all);
    // An index may be wrong, and its contents are only trusted if the reader asked for that. If an id
    // is used by several connections, messages of a chunk may be counted for the wrong one.
    let is_exact =
        matches!(format.0, OpenMode::Auto | OpenMode::Full) && !is_disputed(&log);
    if is_exact {
        check_parts(&log, &all);
    }
    let parts = read(&log, &log.manifest().plan(&all, 0), &all).0;
    assert!(parts == whole, "the parts have the records of the whole");
    for view in [View::Nested, View::Flat] {
        check_columns(&log, view, &whole);
    }
    if is_exact && file.len() <= SHORT && log.manifest().topics.len() < 12 {
        conformance::check_damaged(&format, file);
    }
}

/// Returns whether several connections have the same id.
fn is_disputed(log: &RosbagLog) -> bool {
    let mut ids: Vec<u32> = log.connections().map(|connection| connection.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    ids.len() < count
}

fn check_manifest(manifest: &Manifest, len: u64) {
    assert_eq!(manifest.bytes, len);
    let mut at = 0;
    for part in &manifest.parts {
        let Part { bytes, .. } = part;
        assert!(at <= bytes.start && bytes.start <= bytes.end, "{bytes:?}");
        assert!(bytes.end <= len, "{bytes:?} of {len}");
        at = bytes.end;
    }
    for Damage { kind, bytes, .. } in &manifest.damage {
        // A truncated file was longer, which its header shows by the offset of the index.
        let is_beyond = *kind == DamageKind::Truncated && bytes.start == len;
        let is_in_it = bytes.end <= len || is_beyond;
        assert!(bytes.start <= bytes.end && is_in_it, "{bytes:?} of {len}");
    }
    let mut labels: Vec<_> = manifest.topics.iter().map(|t| t.label()).collect();
    labels.sort_unstable();
    let count = labels.len();
    labels.dedup();
    assert_eq!(labels.len(), count, "labels are unique");
}

/// Checks that all records have a topic and a time of their part.
fn check_parts(log: &dyn Log, all: &Selection) {
    let mut block = Block::default();
    for part in &log.manifest().parts {
        let mut cursor = log.read(part, all).expect("a part opens");
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            for record in block.iter() {
                assert!(part.topics.contains(record.topic), "{record:?} in {part:?}");
                assert!(part.time.contains(record.time), "{record:?} in {part:?}");
            }
        }
    }
}

/// Returns the records and the damage in the parts of `plan`.
pub fn read(
    log: &dyn Log,
    plan: &[Part],
    selection: &Selection,
) -> (Vec<OwnedRecord>, Vec<Damage>) {
    let (mut block, mut records, mut damage) = (Block::default(), vec![], vec![]);
    let len = log.manifest().bytes;
    for part in plan {
        let mut cursor = log.read(part, selection).expect("a planned part opens");
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            for lost in block.damage() {
                let range = &lost.bytes;
                assert!(range.start <= range.end && range.end <= len, "{lost:?}");
                damage.push(lost.clone());
            }
            for record in block.iter() {
                assert!(selection.contains(record.topic, record.time), "{record:?}");
                let payload = record.payload.to_vec();
                records.push((record.topic, record.stream, record.time, payload));
            }
        }
        assert!(!cursor.fill(&mut block).expect("the end stays the end"));
    }
    (records, damage)
}

/// Checks that every record of every topic is a row or is reported as damage. A record of a derived
/// topic may have any number of rows.
pub fn check_columns(log: &dyn Log, view: View, whole: &[OwnedRecord]) {
    let topics = log.manifest().topics();
    let mut decoders: Vec<Option<Box<dyn Decoder>>> =
        topics.map(|(id, _)| log.decoder(id, &Columns::new(view)).ok()).collect();
    let (all, mut lost) = (Selection::default(), Vec::new());
    let (mut block, mut sort) = (Block::default(), Default::default());
    for part in log.manifest().plan(&all, 1 << 16) {
        let mut cursor = log.read(&part, &all).expect("a planned part opens");
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            block.sort_by_topic(&mut sort);
            for run in block.runs() {
                if let Some(decoder) = &mut decoders[run.topic().index()] {
                    decoder.append(run, &mut lost);
                }
            }
        }
    }
    for ((id, topic), decoder) in log.manifest().topics().zip(&mut decoders) {
        let Some(decoder) = decoder else {
            assert!(view == View::Flat, "{:?} has no columns", topic.label());
            continue;
        };
        let rows = decoder.rows() as u64;
        let batch = decoder.take().expect("rows make a table");
        assert_eq!(batch.num_rows() as u64, rows);
        assert_eq!(batch.schema_ref(), decoder.schema());
        assert_eq!(decoder.rows(), 0);
        if topic.origin != TopicOrigin::Derived {
            let is_lost =
                |damage: &&Damage| damage.topic == Some(id) && damage.kind.is_loss();
            let lost = lost.iter().filter(is_lost);
            let lost: u64 = lost.map(|damage| damage.records).sum();
            let records = whole.iter().filter(|record| record.0 == id).count() as u64;
            assert_eq!(rows + lost, records, "{:?}", topic.label());
        }
    }
}
