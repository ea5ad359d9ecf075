//! The edge cases of `EDGE.tsv`, row by row. The table was written together with the
//! files; it describes each file and the expected behavior of a reader. The
//! expectations here are from that table and from the bytes of the files, not from the
//! output of this reader.

// Clippy does not recognize helper functions as tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "edge/appended_data.rs"]
mod appended_data;
#[path = "edge/damaged_ranges.rs"]
mod damaged_ranges;
#[path = "edge/edge_log.rs"]
mod edge_log;
#[path = "edge/head.rs"]
mod head;
#[path = "edge/messages.rs"]
mod messages;
#[path = "edge/metadata.rs"]
mod metadata;
#[path = "edge/real_logs.rs"]
mod real_logs;
#[path = "edge/shapes.rs"]
mod shapes;
#[path = "edge/times.rs"]
mod times;
#[path = "edge/topics.rs"]
mod topics;

use std::collections::BTreeSet;

use crate::edge_log::{Case, check, samples};

const GROUPS: &[&[Case]] = &[
    head::CASES,
    appended_data::CASES,
    shapes::CASES,
    times::CASES,
    topics::CASES,
    messages::CASES,
    metadata::CASES,
    damaged_ranges::CASES,
    real_logs::CASES,
];

#[test]
fn file_header_is_read_or_rejected_with_reason() {
    check(head::CASES);
}

#[test]
fn appended_sections_are_read() {
    check(appended_data::CASES);
}

#[test]
fn records_match_their_format() {
    check(shapes::CASES);
}

#[test]
fn times_of_any_width_are_on_one_clock() {
    check(times::CASES);
}

#[test]
fn topics_match_subscriptions() {
    check(topics::CASES);
}

#[test]
fn unusual_messages_do_not_stop_reading() {
    check(messages::CASES);
}

#[test]
fn information_and_parameters_are_typed_and_complete() {
    check(metadata::CASES);
}

#[test]
fn only_damaged_records_are_lost() {
    check(damaged_ranges::CASES);
}

#[test]
fn real_logs_lose_only_damaged_records() {
    check(real_logs::CASES);
}

#[test]
fn lost_sector_loses_only_its_records() {
    let Some(rows) = real_logs::rows_without_a_sector() else { return };
    assert!(rows >= 14_590, "{rows} of 14,604");
}

#[test]
fn every_edge_case_has_expectation() {
    let Some(folder) = samples() else { return };
    let table = std::fs::read_to_string(folder.join("EDGE.tsv")).unwrap();
    let rows = table.lines().skip(1).filter_map(|line| line.split('\t').next());
    let rows: BTreeSet<&str> = rows.collect();
    let expected = GROUPS.iter().flat_map(|group| group.iter().map(|case| case.0));
    let expected: BTreeSet<&str> = expected.collect();
    let without_expectation: Vec<_> = rows.difference(&expected).collect();
    assert!(
        without_expectation.is_empty(),
        "no expectation for {without_expectation:?}"
    );
    let without_row: Vec<_> = expected.difference(&rows).collect();
    assert!(without_row.is_empty(), "the table has no row for {without_row:?}");
}
