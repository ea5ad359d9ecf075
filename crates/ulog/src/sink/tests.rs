//! Tests with logs that are written by the tests.

use std::{io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, ErrorKind, Log, LogSlice, OpenOptions, Selection, TimeRange,
    Timestamp, TopicOrigin, TopicSet, WriteOptions, copy_records,
};

use super::UlogSink;
use crate::{
    Level, ParameterValue, UlogLog,
    format_state::{FORMAT_NAME, FormatState},
    topics::registry::Declaration,
    write::{Subscription, Writer},
};

/// A log of `pot` (two instances) and `lid`, with a parameter that changes.
fn kitchen(celsius: &str, sys_name: &str, stove: i32) -> UlogLog {
    let mut log = Writer::new(Vec::new(), 1_000_000);
    log.format("pot", &format!("uint64_t timestamp;{celsius} celsius;knob[2] knobs;"))
        .unwrap();
    log.format("knob", "uint8_t position;").unwrap();
    log.format("lid", "uint64_t timestamp;bool closed;").unwrap();
    log.info_text("sys_name", sys_name).unwrap();
    log.parameter("STOVE", stove).unwrap();
    let pots = [0, 1].map(|instance| {
        log.subscribe(Subscription::new("pot").instance(instance)).unwrap()
    });
    let lid = log.subscribe(Subscription::new("lid")).unwrap();
    let len = if celsius == "double" { 8 } else { 4 };
    for second in 1..=4_u64 {
        let micros = second * 1_000_000;
        let payload =
            [&micros.to_le_bytes()[..], &vec![second as u8; len + 2]].concat();
        for pot in pots {
            log.data(pot, micros, &payload).unwrap();
        }
        log.data(lid, micros, &[&micros.to_le_bytes()[..], &[1]].concat()).unwrap();
        if second == 2 {
            log.parameter_change("STOVE", stove + 100).unwrap();
            log.string(Level::WARNING, micros, "it boils").unwrap();
        }
    }
    open(log.finish().unwrap())
}

fn open(bytes: Vec<u8>) -> UlogLog {
    UlogLog::open(Arc::new(Bytes::from(bytes)), OpenOptions::default()).unwrap()
}

/// Selects all topics with one of `labels`.
fn select_labels(log: &UlogLog, labels: &[&str]) -> Selection {
    let topics = log.manifest().topics();
    let selected = topics.filter(|(_, topic)| labels.contains(&&*topic.label()));
    let topics: TopicSet = selected.map(|(id, _)| id).collect();
    Selection { topics, ..Selection::default() }
}

fn select_logged(log: &UlogLog) -> Selection {
    let topics = log.manifest().topics();
    let logged = topics.filter(|(_, topic)| topic.origin != TopicOrigin::Derived);
    Selection { topics: logged.map(|(id, _)| id).collect(), ..Selection::default() }
}

/// Writes the selections of `logs` one after the other.
fn write(
    logs: &[(&UlogLog, Selection)],
    options: &WriteOptions,
) -> logtool_core::Result<(UlogLog, Vec<String>)> {
    let slice = |(log, selection): &(&UlogLog, Selection)| LogSlice {
        manifest: Box::leak(Box::new(log.manifest().clone())),
        selection: selection.clone(),
    };
    let slices: Vec<LogSlice<'_>> = logs.iter().map(slice).collect();
    let mut out = Vec::new();
    let mut sink: Box<dyn logtool_core::RecordSink> =
        Box::new(UlogSink::new(Cursor::new(&mut out), &slices, options)?);
    let mut block = Block::default();
    for (slice_index, (log, selection)) in logs.iter().enumerate() {
        for part in log.manifest().plan(selection, u64::MAX) {
            let mut cursor = log.read(&part, selection)?;
            while cursor.fill(&mut block)? {
                block.iter().try_for_each(|record| sink.write(slice_index, record))?;
            }
        }
    }
    let remarks = sink.remarks();
    sink.finish()?;
    let log = open(out);
    assert_eq!(log.manifest().damage, [] as [Damage; 0]);
    Ok((log, remarks))
}

/// Returns the labels and the record counts of the logged topics.
fn topics(log: &UlogLog) -> Vec<(String, u64)> {
    let topics = log.manifest().topics.iter();
    let logged = topics.filter(|topic| topic.origin == TopicOrigin::Logged);
    logged.map(|t| (t.label().into_owned(), t.records.unwrap())).collect()
}

/// Returns the names of the defined types.
fn formats(log: &UlogLog) -> Vec<String> {
    let format_state: FormatState = log.manifest().decode_state(FORMAT_NAME).unwrap();
    let mut names: Vec<String> = format_state
        .declarations
        .into_iter()
        .filter_map(|declaration| match declaration {
            Declaration::Format(name, _) => Some(name),
            _ => None,
        })
        .collect();
    names.sort();
    names
}

fn rename(old: &str, new: &str) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.rename.insert(old.to_owned(), new.to_owned());
    options
}

#[test]
fn log_of_some_topics_declares_only_these() {
    let log = kitchen("float", "home", 1);
    let (new, _) =
        write(&[(&log, select_labels(&log, &["pot.1"]))], &WriteOptions::default())
            .unwrap();
    assert_eq!(topics(&new), [("pot.1".to_owned(), 4)]);
    assert_eq!(formats(&new), ["knob", "pot"]);
    assert_eq!(new.metadata().info, log.metadata().info);
}

#[test]
fn parameter_has_its_value_at_the_start_of_the_selection() {
    let log = kitchen("float", "home", 1);
    let time =
        TimeRange { start: Timestamp::from_micros(3_000_000), end: Timestamp::MAX };
    let cut = Selection { time, ..select_logged(&log) };
    let (new, _) = write(&[(&log, cut)], &WriteOptions::default()).unwrap();
    let stove = &new.metadata().parameters["STOVE"];
    assert_eq!(stove.initial, Some(ParameterValue::Int(101)));
    assert_eq!(stove.changes, []);
    let whole = &log.metadata().parameters["STOVE"];
    assert_eq!((whole.initial, whole.changes.len()), (Some(ParameterValue::Int(1)), 1));
}

#[test]
fn type_of_renamed_topic_is_renamed() {
    let log = kitchen("float", "home", 1);
    let (new, _) =
        write(&[(&log, select_logged(&log))], &rename("lid", "cover")).unwrap();
    let names: Vec<String> = topics(&new).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["pot", "pot.1", "cover"]);
    assert_eq!(formats(&new), ["cover", "knob", "pot"]);
    // The instance is unchanged, unless the name contains one.
    let (new, _) =
        write(&[(&log, select_labels(&log, &["pot.1"]))], &rename("pot.1", "pan"))
            .unwrap();
    assert_eq!(topics(&new), [("pan.1".to_owned(), 4)]);
    let (new, _) =
        write(&[(&log, select_labels(&log, &["pot.1"]))], &rename("pot.1", "pan.0"))
            .unwrap();
    assert_eq!(topics(&new), [("pan".to_owned(), 4)]);
}

#[test]
fn two_topics_with_same_name_are_rejected() {
    let log = kitchen("float", "home", 1);
    for (old, new) in [("pot.1", "pot.0"), ("lid", "pot"), ("lid", "a:b")] {
        let err =
            write(&[(&log, select_logged(&log))], &rename(old, new)).err().unwrap();
        assert_eq!(err.kind(), ErrorKind::Unsupported, "{old} as {new}: {err}");
    }
}

#[test]
fn topics_with_same_name_and_type_are_merged() {
    let (first, second) = (kitchen("float", "home", 1), kitchen("float", "home", 1));
    let logs = [
        (&first, select_logged(&first)),
        (&second, select_labels(&second, &["pot", "lid"])),
    ];
    let (new, remarks) = write(&logs, &WriteOptions::default()).unwrap();
    let want = [("pot", 8), ("pot.1", 4), ("lid", 8)].map(|(n, c)| (n.to_owned(), c));
    assert_eq!(topics(&new), want);
    assert_eq!(remarks, [] as [&str; 0]);
}

#[test]
fn metadata_of_first_log_is_kept() {
    let (first, other) = (kitchen("float", "home", 1), kitchen("float", "away", 2));
    let logs = [(&first, select_logged(&first)), (&other, select_logged(&other))];
    let (new, remarks) = write(&logs, &WriteOptions::default()).unwrap();
    assert_eq!(new.metadata().info, first.metadata().info);
    assert_eq!(
        new.metadata().parameters["STOVE"].initial,
        Some(ParameterValue::Int(1))
    );
    assert_eq!(remarks.len(), 1);
    assert!(remarks[0].ends_with("are kept: STOVE, sys_name"), "{remarks:?}");
}

#[test]
fn conflicting_types_are_rejected_with_their_names() {
    let (first, other) = (kitchen("float", "home", 1), kitchen("double", "home", 1));
    let logs = [(&first, select_logged(&first)), (&other, select_logged(&other))];
    let err = write(&logs, &WriteOptions::default()).err().unwrap();
    let text = err.to_string();
    for word in ["log 1 and log 2", "\"pot\"", "float celsius", "double celsius"] {
        assert!(text.contains(word), "{text}");
    }
    // If only one of the logs needs the type, there is no conflict.
    let logs =
        [(&first, select_logged(&first)), (&other, select_labels(&other, &["lid"]))];
    let (new, _) = write(&logs, &WriteOptions::default()).unwrap();
    assert_eq!(topics(&new)[2], ("lid".to_owned(), 8));
}

#[test]
fn unsupported_options_are_rejected() {
    let log = kitchen("float", "home", 1);
    let mut packed = WriteOptions::default();
    packed.compression = Some("lz4".to_owned());
    let mut retimed = WriteOptions::default();
    retimed.changes_times = true;
    for options in [packed, retimed] {
        let err = write(&[(&log, select_logged(&log))], &options).err().unwrap();
        assert_eq!(err.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn record_of_unselected_topic_is_error() {
    let log = kitchen("float", "home", 1);
    let slice =
        LogSlice { manifest: log.manifest(), selection: select_labels(&log, &["lid"]) };
    let sink =
        UlogSink::new(Cursor::new(Vec::new()), &[slice], &WriteOptions::default());
    let mut sink = sink.ok().unwrap();
    let all = select_logged(&log);
    let part = &log.manifest().plan(&all, u64::MAX)[0];
    let mut cursor = log.read(part, &all).unwrap();
    let err = copy_records(&mut *cursor, &mut sink).err().unwrap();
    assert_eq!(err.kind(), ErrorKind::NoSuch);
}
