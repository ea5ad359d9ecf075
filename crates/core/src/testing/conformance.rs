//! The laws that every format must satisfy, to be called from the tests of each format.
//!
//! ```text
//! #[test]
//! fn satisfies_the_laws() {
//!     logtool_core::conformance::check(&logtool_ulog::FORMAT, sample().into());
//! }
//! ```
//!
//! All functions panic if a law is violated, because they are tests.

#![allow(clippy::expect_used, clippy::unwrap_used)] // these are tests

mod excerpt;
mod manifest;
mod samples;

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;

use crate::{
    error::{ErrorKind, Result},
    log::{Columns, Cursor, Format, Log, View},
    model::{
        damage::Damage,
        manifest::{Manifest, Part, Selection},
        open_options::OpenOptions,
        time::{TimeRange, Timestamp},
        topic::{TopicId, TopicSet},
    },
    operations::{
        copy::{CopyJob, copy},
        merge::{Merge, TimeOrder},
        read_ahead::ReadAhead,
    },
    record::block::Block,
    sink::{LogSlice, RecordSink, WriteOptions},
};

pub use self::samples::{sample, sample_path, samples};

/// Returns `count` finite pseudo-random floats, the same in every run.
pub fn random_doubles(count: usize) -> impl Iterator<Item = f64> {
    // SplitMix64
    let mut state = 29_u64;
    let bits = std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    });
    bits.map(f64::from_bits).filter(|value| value.is_finite()).take(count)
}

/// Checks that `parse` returns each of 100,000 random floats from two texts: the shortest
/// one, and one with 17 digits.
pub fn check_float_parser(parse: impl Fn(&str) -> f64) {
    let differs = |value: f64| {
        let texts = [format!("{value:?}"), format!("{value:.16e}")];
        texts.iter().any(|text| parse(text).to_bits() != value.to_bits())
    };
    let wrong_count = random_doubles(100_000).filter(|value| differs(*value)).count();
    assert_eq!(wrong_count, 0, "floats that differ");
}

/// The content of a record, for comparisons.
type OwnedRecord = (TopicId, Timestamp, Vec<u8>);

/// The maximum number of offsets at which a file is truncated or changed.
const MAX_OFFSETS: usize = 400;

/// Checks all laws on a sound log.
pub fn check(format: &dyn Format, bytes: Bytes) {
    let log = open(format, bytes.clone());
    assert_eq!(log.manifest().damage, [], "the sample is sound");
    check_damaged(format, bytes.clone());

    let selection = Selection::default();
    let (full_read, damage) =
        read(&*log, &log.manifest().plan(&selection, u64::MAX), &selection);
    assert_eq!(damage, [], "the sample is sound");
    manifest::counts_and_times_are_those_of_the_records(log.manifest(), &full_read);
    assert!(!full_read.is_empty(), "the sample has records");
    a_shorter_file_gives_a_prefix(format, &bytes, &full_read);
    a_garbled_file_ends(format, &bytes);
    writing_gives_back_every_record(format, &*log);
}

/// Checks the laws that also apply to damaged logs.
pub fn check_damaged(format: &dyn Format, bytes: Bytes) {
    let log = open(format, bytes.clone());
    let selection = Selection::default();
    let (full_read, damage) =
        read(&*log, &log.manifest().plan(&selection, u64::MAX), &selection);
    manifest::manifest_states_what_a_full_read_finds(&*log, &full_read, &damage);
    parts_are_the_whole(&*log, &full_read);
    reading_ahead_and_in_order_of_time_reads_the_same(&*log, &full_read);
    selecting_only_saves_work(&*log, &full_read);
    opening_with_the_manifest_reads_the_same(
        format,
        &bytes,
        log.manifest(),
        &full_read,
    );
    excerpt::excerpts_read_the_same(format, &bytes, &*log);
    blocks_of_any_length_read_the_same(format, &bytes, &full_read);
    fewer_columns_are_the_same_columns(&*log);
}

/// Law 1: reading the parts one by one gives the whole log.
fn parts_are_the_whole(log: &dyn Log, full_read: &[OwnedRecord]) {
    for target_bytes in [0, 64, 4096] {
        let selection = Selection::default();
        let plan = log.manifest().plan(&selection, target_bytes);
        let (records, _) = read(log, &plan, &selection);
        assert!(
            records == full_read,
            "parts of {target_bytes} bytes are not the whole"
        );
    }
}

/// Law 1, with other threads and another order: reading ahead gives the whole log, and
/// reading in the order of time gives the stably sorted records with any memory limit.
fn reading_ahead_and_in_order_of_time_reads_the_same(
    log: &dyn Log,
    full_read: &[OwnedRecord],
) {
    let selection = Selection::default();
    for target_bytes in [0, 4096] {
        let plan = log.manifest().plan(&selection, target_bytes);
        let (records, _) = drain(&mut ReadAhead::new(log, plan, selection.clone()));
        assert!(records == full_read, "reading ahead changes what is read");
    }
    let mut sorted = full_read.to_vec();
    sorted.sort_by_key(|record| record.1);
    for (budget, part_bytes) in [(usize::MAX, 0), (64 << 10, 4096)] {
        let merge =
            Merge::with_budget(budget, part_bytes, vec![(log, selection.clone())]);
        let (records, _) = drain(&mut TimeOrder::from(merge));
        assert!(records == sorted, "the order of time is not that of a stable sort");
    }
}

/// Law 2: reading a selection is the same as filtering a full read. If records produce
/// rows with other times, all records that may produce selected rows are read.
fn selecting_only_saves_work(log: &dyn Log, full_read: &[OwnedRecord]) {
    let mut times: Vec<Timestamp> = full_read.iter().map(|record| record.1).collect();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    let late = TimeRange { start: middle, end: Timestamp::MAX };
    let early = TimeRange { start: Timestamp::MIN, end: middle };
    let single_topics =
        log.manifest().topics().map(|(id, _)| TopicSet::from_iter([id]));
    for topics in single_topics.chain([TopicSet::All, TopicSet::EMPTY]) {
        for time in [TimeRange::ALL, late, early] {
            let selection = Selection { topics: topics.clone(), time };
            let plan = log.manifest().plan(&selection, 0);
            let expected = full_read.iter().filter(|(topic, time, _)| {
                log.manifest().needs_record(&selection, *topic, *time)
            });
            let (records, _) = read(log, &plan, &selection);
            assert!(expected.eq(&records), "{selection:?} changes the records");
        }
    }
}

/// Law 3: a worker that gets the serialised manifest reads the same records.
fn opening_with_the_manifest_reads_the_same(
    format: &dyn Format,
    bytes: &Bytes,
    manifest: &Manifest,
    full_read: &[OwnedRecord],
) {
    let text = serde_json::to_string(manifest).expect("a manifest serialises");
    let manifest: Manifest = serde_json::from_str(&text).expect("and deserialises");
    let source = Arc::new(bytes.clone());
    let log = format
        .open_with_manifest(source, Arc::new(manifest), OpenOptions::default())
        .expect("a log opens with its manifest");
    let selection = Selection::default();
    let (records, _) = read(&*log, &log.manifest().plan(&selection, 0), &selection);
    assert!(records == full_read, "a log opened with its manifest has other records");
}

/// Law 4: the size of blocks does not affect the result.
fn blocks_of_any_length_read_the_same(
    format: &dyn Format,
    bytes: &Bytes,
    full_read: &[OwnedRecord],
) {
    let lengths: &[u32] = if bytes.len() < 1 << 16 { &[1, 7, 64] } else { &[4099] };
    for block_bytes in lengths {
        let options =
            OpenOptions { block_bytes: *block_bytes, ..OpenOptions::default() };
        let log =
            format.open(Arc::new(bytes.clone()), options).expect("the sample opens");
        let selection = Selection::default();
        let plan = log.manifest().plan(&selection, 256);
        let (records, _) = read(&*log, &plan, &selection);
        assert!(
            records == full_read,
            "blocks of {block_bytes} bytes have other records"
        );
    }
}

/// Law 5, first half: the records before a truncation are still read. The last record may
/// be the beginning of the truncated one.
fn a_shorter_file_gives_a_prefix(
    format: &dyn Format,
    bytes: &Bytes,
    full_read: &[OwnedRecord],
) {
    for len in (0..bytes.len()).step_by(bytes.len().div_ceil(MAX_OFFSETS)) {
        let source = Arc::new(bytes.slice(..len));
        let Ok(log) = format.open(source, OpenOptions::default()) else { continue };
        let selection = Selection {
            // Derived topics exist only if everything that they need was read.
            topics: log.manifest().logged_topics(),
            ..Selection::default()
        };
        let (records, _) = read(&*log, &log.manifest().plan(&selection, 0), &selection);
        let with_label = |log: &dyn Log, record: &OwnedRecord| {
            let topic = log.manifest().topic(record.0).expect("a record has a topic");
            (topic.label().into_owned(), record.1, record.2.clone())
        };
        let full_log = open(format, bytes.clone());
        let logged = full_log.manifest().logged_topics();
        let mut full_read = full_read.iter().filter(|record| logged.contains(record.0));
        for (index, record) in records.iter().enumerate() {
            let expected =
                full_read.next().expect("a truncated file has no more records");
            let (record, mut expected) =
                (with_label(&*log, record), with_label(&*full_log, expected));
            if index + 1 == records.len() && expected.2.starts_with(&record.2) {
                expected.2.truncate(record.2.len());
            }
            assert_eq!(record, expected, "truncated to {len} bytes");
        }
    }
}

/// Law 5, second half: reading any bytes ends without a panic.
fn a_garbled_file_ends(format: &dyn Format, bytes: &Bytes) {
    for offset in (0..bytes.len()).step_by(bytes.len().div_ceil(MAX_OFFSETS)) {
        for flipped_bits in [0xff, 0x80, 0x01] {
            let mut garbled = bytes.to_vec();
            garbled[offset] ^= flipped_bits;
            let source = Arc::new(Bytes::from(garbled));
            let Ok(log) = format.open(source, OpenOptions::default()) else { continue };
            let selection = Selection::default();
            let plan = log.manifest().plan(&selection, 64);
            // The changed file may declare encryption or an unknown compression.
            let first_cursor = plan.first().map(|part| log.read(part, &selection));
            if first_cursor.is_some_and(|cursor| is_refused(&cursor)) {
                continue;
            }
            read(&*log, &plan, &selection);
            for (id, _) in log.manifest().topics() {
                if let Ok(decoder) = log.decoder(id, &Columns::default()) {
                    decode(&*log, id, decoder);
                }
            }
        }
    }
}

/// Returns whether the log is sound but cannot be read.
fn is_refused<T>(result: &Result<T>) -> bool {
    let kinds = [ErrorKind::Unsupported, ErrorKind::NeedsKey];
    result.as_ref().is_err_and(|err| kinds.contains(&err.kind()))
}

/// Law 6: decoding some columns gives the same columns as decoding all.
fn fewer_columns_are_the_same_columns(log: &dyn Log) {
    for (id, _) in log.manifest().topics() {
        for view in [View::Nested, View::Flat] {
            let Ok(decoder) = log.decoder(id, &Columns::new(view)) else { continue };
            let all_columns = decode(log, id, decoder);
            let indices: Vec<usize> =
                (0..all_columns.num_columns()).step_by(2).collect();
            let columns =
                Columns { indices: Some(indices.clone()), ..Columns::new(view) };
            let decoder = log.decoder(id, &columns).expect("columns can be selected");
            let expected = all_columns.project(&indices).expect("the columns exist");
            assert_eq!(
                decode(log, id, decoder),
                expected,
                "{:?}",
                log.manifest().topic(id)
            );
        }
    }
}

/// Law 7: reading a written log returns the same records, also after a complete copy.
fn writing_gives_back_every_record(format: &dyn Format, log: &dyn Log) {
    let selection =
        Selection { topics: log.manifest().logged_topics(), ..Selection::default() };
    let plan = log.manifest().plan(&selection, u64::MAX);
    let written = write_and_open(format, log, &selection, |writer| {
        for part in &plan {
            let mut cursor = log.read(part, &selection).expect("a planned part opens");
            crate::operations::export_tables::copy_records(&mut *cursor, writer)
                .expect("a record is written");
        }
    });
    let Some(reopened) = written else { return };
    assert!(
        labelled_records(&*reopened) == labelled_records(log),
        "writing loses records"
    );

    let job = CopyJob {
        log,
        slice_index: 0,
        selection: selection.clone(),
        verify: false,
        drops_doubtful: false,
        progress: &|_| {},
    };
    let copied = write_and_open(format, log, &selection, |writer| {
        let copied = copy(&job, None, writer).expect("a sound log is copied");
        assert_eq!(
            copied.records,
            labelled_records(log).len() as u64,
            "records are miscounted"
        );
    });
    let reopened = copied.expect("the format has a writer");
    assert!(
        labelled_records(&*reopened) == labelled_records(log),
        "a copy has other records"
    );
    let counts = |log: &dyn Log| -> Vec<_> {
        let topics = log.manifest().topics.iter();
        topics.map(|topic| (topic.label().into_owned(), topic.records)).collect()
    };
    assert_eq!(counts(&*reopened), counts(log), "a copy has other topics");
}

/// Returns the log that `write` writes from the `selection` of `log`, or `None` if the
/// format has no writer.
fn write_and_open(
    format: &dyn Format,
    log: &dyn Log,
    selection: &Selection,
    write: impl FnOnce(&mut dyn RecordSink),
) -> Option<Box<dyn Log>> {
    let mut out = std::io::Cursor::new(Vec::new());
    let slice = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    let options = WriteOptions::default();
    let mut writer = match format.writer(Box::new(&mut out), &[slice], &options) {
        Ok(writer) => writer,
        Err(err)
            if [ErrorKind::Unsupported, ErrorKind::UnsuitableEncoding]
                .contains(&err.kind()) =>
        {
            return None;
        }
        Err(err) => panic!("{err}"),
    };
    write(&mut *writer);
    writer.finish().expect("the log is finished");
    Some(open(format, out.into_inner().into()))
}

/// Returns the records of a sound log, each with the label of its topic.
fn labelled_records(log: &dyn Log) -> Vec<(String, Timestamp, Vec<u8>)> {
    let selection =
        Selection { topics: log.manifest().logged_topics(), ..Selection::default() };
    let (records, damage) =
        read(log, &log.manifest().plan(&selection, u64::MAX), &selection);
    assert_eq!(damage, [], "what is written is sound");
    let with_label = |(topic, time, payload)| {
        let topic = log.manifest().topic(topic).expect("a record has a topic");
        (topic.label().into_owned(), time, payload)
    };
    records.into_iter().map(with_label).collect()
}

fn open(format: &dyn Format, bytes: Bytes) -> Box<dyn Log> {
    let log = format.open(Arc::new(bytes), OpenOptions::default());
    log.expect("the sample opens")
}

fn decode(
    log: &dyn Log,
    topic: TopicId,
    mut decoder: Box<dyn crate::log::Decoder>,
) -> RecordBatch {
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let (mut block, mut damage) = (Block::default(), vec![]);
    for part in log.manifest().plan(&selection, 1 << 16) {
        let mut cursor = log.read(&part, &selection).expect("a planned part opens");
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
        }
    }
    decoder.take().expect("rows make a table")
}

fn read(
    log: &dyn Log,
    plan: &[Part],
    selection: &Selection,
) -> (Vec<OwnedRecord>, Vec<Damage>) {
    let (mut records, mut damage) = (vec![], vec![]);
    for part in plan {
        let mut cursor = log.read(part, selection).expect("a planned part opens");
        let (more_records, more_damage) = drain(&mut *cursor);
        records.extend(more_records);
        damage.extend(more_damage);
    }
    (records, damage)
}

/// Returns all records and damage of `cursor`.
fn drain(cursor: &mut dyn Cursor) -> (Vec<OwnedRecord>, Vec<Damage>) {
    let (mut block, mut records, mut damage) = (Block::default(), vec![], vec![]);
    while cursor.fill(&mut block).expect("a memory source does not fail") {
        damage.extend_from_slice(block.damage());
        let owned = block.iter().map(|r| (r.topic, r.time, r.payload.to_vec()));
        records.extend(owned);
    }
    (records, damage)
}
