use std::{fs, slice::from_ref};

use super::*;
use crate::dataset::tables::ColumnType;

fn entry(log: &str) -> LogEntry {
    LogEntry {
        log: log.to_owned(),
        source: format!("/logs/{log}.ulg"),
        files: vec![format!("gps/log={log}/part-0.parquet")],
        ..LogEntry::default()
    }
}

fn append_begun(journal: &mut Journal, log: &str, files: &[String]) {
    let source = &*format!("/logs/{log}.ulg");
    journal.append(&JournalLine::Begun { log, source, files }).unwrap();
}

#[test]
fn appended_lines_are_known_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let files = entry("a").files;
    {
        let mut journal = Journal::open(&path).unwrap();
        append_begun(&mut journal, "a", &files);
        assert!(journal.finished_log("a").is_none());
        journal.append(&JournalLine::Done(&entry("a"))).unwrap();
        append_begun(&mut journal, "b", &files);
        journal.append(&JournalLine::Done(&entry("c"))).unwrap();
        journal.append(&JournalLine::Gone { log: "c" }).unwrap();
    }
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.entry("a").unwrap().unwrap().files, files);
    assert!(journal.finished_log("a").is_some_and(|log| log.pending_files.is_empty()));
    let logs = journal.logs();
    let pending: Vec<_> =
        logs.map(|(name, log)| (&**name, log.pending_files.len())).collect();
    assert_eq!(pending, [("a", 0), ("b", 1)]);
    assert!(journal.entry("b").unwrap().is_none());
}

#[test]
fn truncated_line_is_ignored_and_others_survive() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut journal = Journal::open(&path).unwrap();
    journal.append(&JournalLine::Done(&entry("a"))).unwrap();
    let first = fs::read(&path).unwrap();
    journal.append(&JournalLine::Done(&entry("b"))).unwrap();
    let complete = fs::read(&path).unwrap();
    for len in first.len()..complete.len() {
        fs::write(&path, &complete[..len]).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        let is_finished =
            |journal: &Journal, name: &str| journal.finished_log(name).is_some();
        assert!(is_finished(&journal, "a") && !is_finished(&journal, "b"), "{len}");
        journal.append(&JournalLine::Done(&entry("c"))).unwrap();
        let reopened = Journal::open(&path).unwrap();
        assert!(is_finished(&reopened, "a") && is_finished(&reopened, "c"), "{len}");
        assert_eq!(reopened.entry("c").unwrap().unwrap().log, "c");
    }
}

#[test]
fn assign_tables_respects_the_tables_of_other_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let schema = |column: ColumnType| RowSchema {
        topic: "gps".to_owned(),
        instance: 0,
        has_instances: false,
        type_name: String::new(),
        columns: [("lat".to_owned(), column)].into(),
    };
    let (number, text) = (schema(ColumnType::Number), schema(ColumnType::Text));
    let mut one = Journal::open(&path).unwrap();
    let mut other = Journal::open(&path).unwrap();
    assert_eq!(one.assign_tables(from_ref(&number)).unwrap(), ["gps"]);
    assert_ne!(other.assign_tables(from_ref(&text)).unwrap(), ["gps"]);
    assert_eq!(other.assign_tables(from_ref(&number)).unwrap(), ["gps"]);
}
