//! Files for which the reader once returned wrong results, did not end, or used too much memory.
//! Files found by fuzzing are in `testdata/bad`; larger ones are generated here.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{
    io,
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use logtool_core::{
    Columns, DamageKind, Format as _, Log as _, OpenOptions, Source, TopicId, Value,
    View, conformance,
};
use logtool_ulog::{FORMAT, UlogLog};

/// The time limit for reading a few megabytes. Without limits in the reader, it took minutes or
/// hours.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Returns the contents of the file `name` in `testdata/bad`.
fn bad_file(name: &str) -> Bytes {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bad");
    std::fs::read(folder.join(name)).unwrap().into()
}

fn open(bytes: impl Into<Bytes>) -> UlogLog {
    UlogLog::open(Arc::new(bytes.into()), OpenOptions::default()).unwrap()
}

fn labels(log: &UlogLog) -> Vec<String> {
    let topics = log.manifest().topics.iter();
    let logged = topics.filter(|topic| topic.encoding == "ulog");
    logged.map(|topic| topic.label().into_owned()).collect()
}

/// Returns a message: its size, its type, and `payload`.
fn message(kind: u8, payload: &[&[u8]]) -> Vec<u8> {
    let payload = payload.concat();
    let size = u16::try_from(payload.len()).unwrap().to_le_bytes();
    [&size[..], &[kind], &payload].concat()
}

fn format(name: &str, fields: &str) -> Vec<u8> {
    message(b'F', &[name.as_bytes(), b":", fields.as_bytes()])
}

fn subscription(id: u16, name: &str, instance: u8) -> Vec<u8> {
    message(b'A', &[&[instance], &id.to_le_bytes(), name.as_bytes()])
}

fn data(id: u16, record: &[u8]) -> Vec<u8> {
    message(b'D', &[&id.to_le_bytes(), record])
}

/// Returns a file with the header and `messages`.
fn file(messages: impl IntoIterator<Item = Vec<u8>>) -> Bytes {
    let mut file = b"\x55\x4c\x6f\x67\x01\x12\x35\x01\0\0\0\0\0\0\0\0".to_vec();
    messages.into_iter().for_each(|message| file.extend(message));
    file.into()
}

#[test]
fn bad_files_satisfy_laws() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bad");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ulg") {
            let bytes = Bytes::from(std::fs::read(&path).unwrap());
            if FORMAT.open(Arc::new(bytes.clone()), OpenOptions::default()).is_ok() {
                conformance::check_damaged(&FORMAT, bytes);
            }
            checked += 1;
        }
    }
    assert!(checked > 0);
}

#[test]
fn labels_are_unique() {
    assert_eq!(
        labels(&open(bad_file("two_topics_of_one_label.ulg"))),
        ["a.1", "a.1~1"]
    );
    let log = open(bad_file("redefined_into_a_taken_name.ulg"));
    assert_eq!(labels(&log), ["a", "a@2", "a~1"]);
}

#[test]
fn topic_uses_nested_type_at_its_subscription() {
    let log = open(bad_file("inner_type_redefined.ulg"));
    let definition = |label: &str| {
        let id = log.manifest().topic_id(label).unwrap();
        log.manifest().topic(id).unwrap().schema.field(1).data_type().to_string()
    };
    assert!(definition("out").contains("UInt8"), "{}", definition("out"));
    assert!(definition("out.1").contains("UInt32"), "{}", definition("out.1"));
    assert_eq!(log.manifest().damage, []);
}

#[test]
fn types_nested_too_deeply_have_only_raw_bytes() {
    let log = open(bad_file("types_200_deep_one_by_one.ulg"));
    let is_raw = |index: usize| {
        log.manifest().topics[index].schema.field_with_name("payload").is_ok()
    };
    let raw: Vec<usize> = (0..200).filter(|index| is_raw(*index)).collect();
    assert_eq!(raw, (16..200).collect::<Vec<_>>());
}

#[test]
fn topic_event_without_event_fields_has_no_events() {
    let definitions = b"\0\x1auint8_t[1] metadata_events\xfd";
    let log = |fields: &str, record: &[u8]| {
        open(file([
            message(b'B', &[&[0; 40]]),
            message(b'M', &[definitions]),
            format("event", fields),
            subscription(0, "event", 0),
            data(0, record),
        ]))
    };
    let derived = |log: &UlogLog| log.manifest().topic_id("events").is_ok();
    let fields = "uint64_t timestamp;uint32_t id;uint16_t event_sequence;\
                  uint8_t[25] arguments;uint8_t log_levels";
    assert!(derived(&log(fields, &[1; 40])));
    assert!(!derived(&log("uint64_t timestamp;uint32_t id", &[1; 12])));
    assert!(!derived(&log("no fields at all", &[1; 12])));
}

#[test]
fn excessive_column_names_are_rejected() {
    let log = open(bad_file("long_name_in_many_columns.ulg"));
    assert!(log.decoder(TopicId(0), &Columns::new(View::Nested)).is_ok());
    assert!(log.decoder(TopicId(0), &Columns::new(View::Flat)).is_err());
    let log = open(bad_file("long_name_in_many_types.ulg"));
    assert!(log.manifest().topics[0].schema.field_with_name("payload").is_ok());
}

#[test]
fn garbage_like_long_messages_has_bounded_cost() {
    let start = Instant::now();
    for kind in b"FALIDMPQ" {
        let head = [format("t", "uint64_t timestamp;"), subscription(0, "t", 0)];
        let garbage = vec![*kind; 1 << 20];
        let log = open(file(head.into_iter().chain([vec![0; 3], garbage])));
        assert!(!log.manifest().damage.is_empty());
    }
    assert!(start.elapsed() < TIME_LIMIT, "{:?}", start.elapsed());
}

#[test]
fn value_of_many_parts_has_bounded_cost() {
    let start = Instant::now();
    // The two bytes of an é are always split between two parts.
    let key = b"\x0achar[16] a";
    let part = |index: u32| match index % 2 {
        0 => message(b'M', &[&[1], key, b"xxxxxxxxxxxxxxx\xc3"]),
        _ => message(b'M', &[&[1], key, b"\xa9xxxxxxxxxxxxxxx"]),
    };
    let log = open(file((0..200_000).map(part)));
    let Value::Text(text) = &log.metadata().info_multiple["a"][0] else {
        panic!("the joined value is text")
    };
    assert_eq!(text.matches('é').count(), 100_000);
    assert!(start.elapsed() < TIME_LIMIT, "{:?}", start.elapsed());
}

#[test]
fn definitions_of_many_topics_have_bounded_size() {
    let start = Instant::now();
    let fields = |last_field: &str| format!("{}{last_field}", "float x;".repeat(7_000));
    let formats = [format("fine", &fields("")), format("odd", &fields("odd"))];
    let topics = (0..=255).flat_map(|instance: u8| {
        let id = u16::from(instance);
        [subscription(id, "fine", instance), subscription(id + 256, "odd", instance)]
    });
    let log = open(file(formats.into_iter().chain(topics)));
    let topics = &log.manifest().topics;
    assert!(
        topics.iter().map(|topic| topic.definition.len()).sum::<usize>() <= 16 << 20
    );
    assert_eq!(topics[0].definition, fields(""));
    let columns = topics.iter().map(|topic| topic.schema.fields().len());
    assert!(columns.sum::<usize>() < 2 << 20);
    assert!(start.elapsed() < TIME_LIMIT, "{:?}", start.elapsed());
}

#[test]
fn lists_of_small_numbers_have_bounded_size() {
    let key = b"int8_t[65000] a";
    let list = |_| message(b'M', &[&[0, 15], key, &[7; 65_000]]);
    let log = open(file((0..250).map(list)));
    let lists = log.metadata().info_multiple.values().flatten();
    let numbers = lists.map(|value| match value {
        Value::List(numbers) => numbers.len(),
        _ => 0,
    });
    assert!(numbers.sum::<usize>() <= 2 << 20);
    assert_eq!(log.manifest().damage[0].kind, DamageKind::OverLimit);
}

#[test]
fn state_of_many_counters_has_bounded_size() {
    let name = |topic: u16| format!("t{}", topic / 256);
    let formats = (0..200).map(|t| format(&format!("t{t}"), "uint32_t timestamp;"));
    let topics = (0..50_000).map(|t: u16| subscription(t, &name(t), t as u8));
    let records = (0..300_000_u32)
        .map(|index| data((index % 50_000) as u16, &index.to_le_bytes()));
    let log = open(file(formats.chain(topics).chain(records)));
    assert_eq!(log.manifest().damage, []);
    assert!(
        log.manifest().format_state.len() < 30 << 20,
        "{}",
        log.manifest().format_state.len()
    );
}

/// A source that counts the bytes that are read.
struct CountingSource(Bytes, AtomicU64);

impl Source for CountingSource {
    fn len(&self) -> u64 {
        Source::len(&self.0)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = self.0.read_at(range)?;
        self.1.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

#[test]
fn many_damaged_ranges_do_not_reread_file() {
    let head = [format("t", "uint64_t timestamp;"), subscription(0, "t", 0)];
    let damaged_segment =
        [data(0, &5_000_u64.to_le_bytes()).repeat(6), vec![0; 5]].concat();
    let messages =
        head.into_iter().chain(std::iter::repeat_n(damaged_segment, 200_000));
    let source = Arc::new(CountingSource(file(messages), AtomicU64::new(0)));
    let log = UlogLog::open(source.clone(), OpenOptions::default()).unwrap();
    assert!(log.manifest().damage.len() > 100_000);
    let read = source.1.load(Ordering::Relaxed);
    assert!(read < 4 * Source::len(&*source), "{read} bytes");
}

/// The log of a topic `t` with a record at each of `seconds`.
fn log_at(seconds: &[u64]) -> UlogLog {
    let head = [format("t", "uint64_t timestamp"), subscription(0, "t", 0)];
    let record = |second: &u64| data(0, &(second * 1_000_000).to_le_bytes());
    open(file(head.into_iter().chain(seconds.iter().map(record))))
}

#[test]
fn wrong_time_does_not_make_the_records_after_it_late() {
    let late = |log: &UlogLog| {
        let topic = &log.manifest().topics[0];
        topic.metadata.get("older_than_before").cloned()
    };
    let sound: Vec<u64> = (10..210).collect();
    assert_eq!(late(&log_at(&sound)), None);
    // 100 seconds ahead: the record after it is older.
    let mut ahead = sound.clone();
    ahead[0] = 110;
    assert_eq!(late(&log_at(&ahead)), Some("1".to_owned()));
    // A day ahead is no time of this log, so that no record is older.
    ahead[5] = 86_400;
    ahead[0] = 10;
    assert_eq!(late(&log_at(&ahead)), None);
    let impossible =
        log_at(&ahead).manifest().topics[0].metadata["impossible_times"].clone();
    assert_eq!(impossible, "1");
}
