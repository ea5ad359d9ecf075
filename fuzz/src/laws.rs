//! The laws of every log that opens.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Columns, Damage, DamageKind, Decoder, Format as _, Log, LogSlice, Manifest,
    OpenOptions, Selection, TimeRange, Timestamp, TopicId, TopicOrigin, TopicSet, View,
    WriteOptions, conformance,
};
use logtool_ulog::{FORMAT, UlogLog};

use crate::reading::{OwnedRecord, read};

/// Files up to this length are also checked with all laws of the core.
const SHORT: usize = 2_048;
/// The maximum number of topics that are read alone.
const ALONE: usize = 4;

/// Opens `file`, reads and decodes it completely in all ways, and panics if a law is violated.
pub fn check(file: &[u8]) {
    let file = Bytes::copy_from_slice(file);
    // Unusual block lengths, but not so short that no record fits.
    let block_bytes = [1 << 20, 4_099, 64, 257][file.len() % 4];
    let mut options = OpenOptions::default();
    (options.block_bytes, options.force) = (block_bytes, file.len().is_multiple_of(3));
    let Ok(log) = UlogLog::open(Arc::new(file.clone()), options) else { return };
    check_manifest(log.manifest(), &file);

    let all = Selection::default();
    let (whole, damage) = read(&log, &file, &log.manifest().plan(&all, u64::MAX), &all);
    for target in [0, 1_000] {
        let parts = read(&log, &file, &log.manifest().plan(&all, target), &all);
        assert!(
            parts.0 == whole,
            "parts of {target} bytes have the records of the whole"
        );
    }
    check_counts(log.manifest(), &whole);
    check_resumed(&log, &file, options, &whole);
    check_selections(&log, &file, &whole);
    for view in [View::Nested, View::Flat] {
        check_columns(&log, view, &whole);
    }
    check_header(&log);
    if damage.is_empty() && log.manifest().damage.is_empty() {
        check_written(&log, &file, &whole);
    }
    if file.len() <= SHORT && log.manifest().topics.len() < 16 && !options.force {
        conformance::check_damaged(&FORMAT, file);
    }
}

fn check_manifest(manifest: &Manifest, file: &Bytes) {
    let len = file.len() as u64;
    assert_eq!(manifest.bytes, len);
    let mut at = 16;
    for part in &manifest.parts {
        assert_eq!(part.bytes.start, at, "parts follow on each other");
        assert!(part.bytes.end > at, "no part is empty");
        at = part.bytes.end;
    }
    assert_eq!(at, len.max(16), "the parts are the whole file");
    for lost in &manifest.damage {
        assert!(
            lost.bytes.start <= lost.bytes.end && lost.bytes.end <= len,
            "{lost:?}"
        );
    }
    let starts = manifest.damage.iter().map(|damage| damage.bytes.start);
    assert!(starts.is_sorted(), "damage is in the order of the file");
    let labels: BTreeSet<_> = manifest.topics.iter().map(|t| t.label()).collect();
    assert_eq!(labels.len(), manifest.topics.len(), "labels are unique");

    let format_state: serde_json::Value =
        serde_json::from_str(&manifest.format_state).expect("a format state");
    let damaged_ranges: Vec<Damage> =
        serde_json::from_value(format_state["damaged_ranges"].clone())
            .expect("damaged ranges");
    let mut at = 16;
    for damage in damaged_ranges {
        let bytes = &damage.bytes;
        assert!(at <= bytes.start && bytes.start < bytes.end, "{damage:?}");
        assert!(matches!(damage.kind, DamageKind::Garbled | DamageKind::Truncated));
        at = bytes.end;
    }
    assert!(at <= len.max(16), "no damaged range exceeds the file");
}

/// Checks that the counts in the manifest are those of a full read.
fn check_counts(manifest: &Manifest, whole: &[OwnedRecord]) {
    let mut counted = vec![(0, 0); manifest.topics.len()];
    for (topic, time, payload) in whole {
        let (records, bytes) = &mut counted[topic.index()];
        *records += 1;
        *bytes += payload.len() as u64;
        let declared = manifest.topics[topic.index()].time;
        assert!(
            declared.is_none_or(|range| range.contains(*time)),
            "{topic:?} at {time:?}"
        );
    }
    for (topic, (records, bytes)) in manifest.topics.iter().zip(counted) {
        assert_eq!(topic.records.unwrap_or(records), records, "{:?}", topic.label());
        assert_eq!(topic.bytes.unwrap_or(bytes), bytes, "{:?}", topic.label());
    }
}

/// Checks that a log that is opened from its serialised manifest has the same records.
fn check_resumed(
    log: &UlogLog,
    file: &Bytes,
    options: OpenOptions,
    whole: &[OwnedRecord],
) {
    let text = serde_json::to_string(log.manifest()).expect("a manifest serialises");
    let parsed: Manifest = serde_json::from_str(&text).expect("and deserialises");
    assert_eq!(serde_json::to_string(&parsed).expect("again"), text);
    let resumed =
        UlogLog::open_with_manifest(Arc::new(file.clone()), Arc::new(parsed), options);
    let (resumed, all) = (resumed.expect("it resumes"), Selection::default());
    let records = read(&resumed, file, &resumed.manifest().plan(&all, 5_000), &all).0;
    assert!(records == whole, "opening with the manifest changes the records");
    let (header, again) = (log.metadata(), resumed.metadata());
    // Not `==`: floats may be NaN.
    assert_eq!(format!("{:?}", header.parameters), format!("{:?}", again.parameters));
    assert_eq!(format!("{:?}", header.info), format!("{:?}", again.info));
    assert_eq!(header.file_header, again.file_header);
    let lists = |header: &logtool_ulog::Metadata| format!("{:?}", header.info_multiple);
    assert_eq!(lists(header), lists(again));
}

/// Checks that reading a selection is the same as reading everything and filtering afterwards.
fn check_selections(log: &UlogLog, file: &Bytes, whole: &[OwnedRecord]) {
    let mut times: Vec<Timestamp> = whole.iter().map(|record| record.1).collect();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    let topics = log.manifest().topics.len();
    let some = (0..topics).step_by(topics.div_ceil(ALONE)).map(|id| TopicId(id as u32));
    let alone = some.map(|id| TopicSet::from_iter([id]));
    for topics in alone.chain([TopicSet::All]) {
        let late = TimeRange { start: middle, end: Timestamp::MAX };
        let early = TimeRange { start: Timestamp::MIN, end: middle };
        for time in [early, late] {
            let selection = Selection { topics: topics.clone(), time };
            let plan = log.manifest().plan(&selection, 3_000);
            let found = read(log, file, &plan, &selection).0;
            let wanted =
                whole.iter().filter(|(topic, at, _)| selection.contains(*topic, *at));
            assert!(wanted.eq(&found), "{selection:?} changes the answer");
        }
    }
}

/// Checks that every record of every topic is a row or is reported as damage.
fn check_columns(log: &UlogLog, view: View, whole: &[OwnedRecord]) {
    let manifest = log.manifest();
    let mut decoders: Vec<Option<Box<dyn Decoder>>> = Vec::new();
    for (id, topic) in manifest.topics() {
        let decoder = log.decoder(id, &Columns::new(view)).ok();
        if let (Some(decoder), View::Nested) = (&decoder, view) {
            assert_eq!(decoder.schema(), &topic.schema, "{:?}", topic.label());
        }
        assert!(decoder.is_some() || view == View::Flat, "{:?}", topic.label());
        decoders.push(decoder);
    }
    let all = Selection::default();
    let mut lost = Vec::new();
    let (mut block, mut sort) = (Block::default(), Default::default());
    for part in manifest.plan(&all, 1 << 16) {
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
    let mut rows = 0;
    for decoder in decoders.iter_mut().flatten() {
        rows += decoder.rows();
        let batch = decoder.take().expect("rows make a table");
        assert_eq!(batch.schema_ref(), decoder.schema());
        assert_eq!(decoder.rows(), 0);
    }
    let decodable = |record: &&OwnedRecord| {
        decoders.get(record.0.index()).is_some_and(Option::is_some)
    };
    let lost: u64 = lost.iter().map(|damage| damage.records).sum();
    assert_eq!(rows as u64 + lost, whole.iter().filter(decodable).count() as u64);
}

/// Checks that the metadata of the log can be read.
fn check_header(log: &UlogLog) {
    let header = log.metadata();
    for value in header.info.values().chain(header.info_multiple.values().flatten()) {
        value.to_string();
    }
    for parameter in header.parameters.values() {
        parameter.is_non_default();
        let offsets = parameter.changes.iter().map(|change| change.offset);
        assert!(offsets.is_sorted(), "changes are in the order of the file");
    }
}

/// Checks that rewriting an undamaged log keeps all records and causes no damage.
fn check_written(log: &UlogLog, file: &Bytes, whole: &[OwnedRecord]) {
    let mut out = std::io::Cursor::new(Vec::new());
    let topics = logged_topics(log);
    let selection = Selection { topics: topics.clone(), ..Selection::default() };
    let slice = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    let mut writer = FORMAT
        .writer(Box::new(&mut out), &[slice], &WriteOptions::default())
        .expect("a ULog is written");
    for part in log.manifest().plan(&selection, u64::MAX) {
        let mut cursor = log.read(&part, &selection).expect("a planned part opens");
        logtool_core::copy_records(&mut *cursor, &mut *writer)
            .expect("a record is written");
    }
    writer.finish().expect("the log is finished");

    let out = Bytes::from(out.into_inner());
    let again = UlogLog::open(Arc::new(out.clone()), OpenOptions::default())
        .expect("the written log opens");
    let selection = Selection { topics: logged_topics(&again), ..Selection::default() };
    let plan = again.manifest().plan(&selection, u64::MAX);
    let (records, damage) = read(&again, &out, &plan, &selection);
    assert_eq!(damage, [], "the written log is undamaged");
    let wanted = whole.iter().filter(|record| topics.contains(record.0));
    assert!(
        with_labels(log, wanted).eq(with_labels(&again, records.iter())),
        "writing changes records ({} bytes)",
        file.len()
    );
}

fn with_labels<'l>(
    log: &'l UlogLog,
    records: impl Iterator<Item = &'l OwnedRecord>,
) -> impl Iterator<Item = (String, &'l Timestamp, &'l Vec<u8>)> {
    records.map(|(topic, time, payload)| {
        let topic = log.manifest().topic(*topic).expect("a record has a topic");
        (topic.label().into_owned(), time, payload)
    })
}

/// Returns all topics except derived ones.
fn logged_topics(log: &UlogLog) -> TopicSet {
    let topics = log.manifest().topics();
    topics.filter(|(_, t)| t.origin != TopicOrigin::Derived).map(|(id, _)| id).collect()
}
