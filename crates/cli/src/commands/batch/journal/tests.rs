use std::{fs, slice::from_ref};

use super::*;
use crate::commands::batch::column_type::ColumnType;

fn entry(log: &str) -> Entry {
    Entry {
        log: log.to_owned(),
        source: format!("/logs/{log}.ulg"),
        files: vec![format!("gps/log={log}/part-0.parquet")],
        ..Entry::default()
    }
}

fn begin(journal: &mut Journal, log: &str, files: &[String]) {
    let source = &*format!("/logs/{log}.ulg");
    journal.note(&Line::Begun { log, source, files }).unwrap();
}

#[test]
fn what_was_noted_is_known_to_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let files = entry("a").files;
    {
        let mut journal = Journal::open(&path).unwrap();
        begin(&mut journal, "a", &files);
        assert!(journal.done("a").is_none());
        journal.note(&Line::Done(&entry("a"))).unwrap();
        begin(&mut journal, "b", &files);
        journal.note(&Line::Done(&entry("c"))).unwrap();
        journal.note(&Line::Gone { log: "c" }).unwrap();
    }
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.entry("a").unwrap().unwrap().files, files);
    assert!(journal.done("a").is_some_and(|known| known.begun.is_empty()));
    let names: Vec<_> =
        journal.logs().map(|(name, known)| (&**name, known.begun.len())).collect();
    assert_eq!(names, [("a", 0), ("b", 1)]);
    assert!(journal.entry("b").unwrap().is_none());
}

#[test]
fn a_line_that_was_cut_anywhere_counts_for_nothing_and_harms_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut journal = Journal::open(&path).unwrap();
    journal.note(&Line::Done(&entry("a"))).unwrap();
    let whole = fs::read(&path).unwrap();
    journal.note(&Line::Done(&entry("b"))).unwrap();
    let both = fs::read(&path).unwrap();
    for len in whole.len()..both.len() {
        fs::write(&path, &both[..len]).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert!(journal.done("a").is_some() && journal.done("b").is_none(), "{len}");
        journal.note(&Line::Done(&entry("c"))).unwrap();
        let again = Journal::open(&path).unwrap();
        assert!(again.done("a").is_some() && again.done("c").is_some(), "{len}");
        assert_eq!(again.entry("c").unwrap().unwrap().log, "c");
    }
}

#[test]
fn two_runs_know_of_each_others_tables() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let shape = |of: ColumnType| Shape {
        topic: "gps".to_owned(),
        instance: 0,
        has_instances: false,
        type_name: String::new(),
        columns: [("lat".to_owned(), of)].into(),
    };
    let (number, text) = (shape(ColumnType::Number), shape(ColumnType::Text));
    let mut one = Journal::open(&path).unwrap();
    let mut other = Journal::open(&path).unwrap();
    assert_eq!(one.place(from_ref(&number)).unwrap(), ["gps"]);
    assert_ne!(other.place(from_ref(&text)).unwrap(), ["gps"]);
    assert_eq!(other.place(from_ref(&number)).unwrap(), ["gps"]);
}
