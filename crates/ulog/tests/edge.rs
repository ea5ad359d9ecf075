//! The edge cases of `EDGE.tsv`, row by row: what each file is, and what a reader has to
//! make of it, was written down with the files. The expectations here are that table's,
//! and what one reads in the files' own few bytes; none is taken from this reader.

// clippy sees helpers outside #[test] as no test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "edge/appended.rs"]
mod appended;
#[path = "edge/broken.rs"]
mod broken;
#[path = "edge/edge_log.rs"]
mod edge_log;
#[path = "edge/head.rs"]
mod head;
#[path = "edge/messages.rs"]
mod messages;
#[path = "edge/metadata.rs"]
mod metadata;
#[path = "edge/real.rs"]
mod real;
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
    appended::CASES,
    shapes::CASES,
    times::CASES,
    topics::CASES,
    messages::CASES,
    metadata::CASES,
    broken::CASES,
    real::CASES,
];

#[test]
fn a_head_is_read_or_refused_with_a_reason() {
    check(head::CASES);
}

#[test]
fn appended_sections_belong_to_the_log() {
    check(appended::CASES);
}

#[test]
fn records_have_the_shape_that_their_format_says() {
    check(shapes::CASES);
}

#[test]
fn times_of_any_width_become_one_axis() {
    check(times::CASES);
}

#[test]
fn topics_are_what_the_file_subscribes_to() {
    check(topics::CASES);
}

#[test]
fn odd_messages_do_not_stop_a_reader() {
    check(messages::CASES);
}

#[test]
fn information_and_parameters_are_typed_and_whole() {
    check(metadata::CASES);
}

#[test]
fn only_what_is_broken_is_lost() {
    check(broken::CASES);
}

#[test]
fn real_logs_give_all_that_lies_outside_the_damage() {
    check(real::CASES);
}

#[test]
fn one_lost_sector_of_a_real_log_costs_the_records_in_it() {
    let Some(rows) = real::rows_without_a_sector() else { return };
    assert!(rows >= 14_590, "{rows} of 14,604");
}

#[test]
fn every_row_of_the_table_has_an_expectation() {
    let Some(folder) = samples() else { return };
    let table = std::fs::read_to_string(folder.join("EDGE.tsv")).unwrap();
    let rows = table.lines().skip(1).filter_map(|line| line.split('\t').next());
    let rows: BTreeSet<&str> = rows.collect();
    let expected = GROUPS.iter().flat_map(|group| group.iter().map(|case| case.0));
    let expected: BTreeSet<&str> = expected.collect();
    let without: Vec<_> = rows.difference(&expected).collect();
    assert!(without.is_empty(), "nothing is expected of {without:?}");
    let gone: Vec<_> = expected.difference(&rows).collect();
    assert!(gone.is_empty(), "the table has no row for {gone:?}");
}
