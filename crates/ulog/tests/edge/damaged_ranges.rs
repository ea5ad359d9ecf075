//! Generated logs of 1000 records with ascending values and a damaged range.

use std::ops::Range;

use logtool_core::DamageKind;

use crate::edge_log::{Case, Edge};

pub(crate) const CASES: &[Case] = &[
    ("60_trailing_zeros.ulg", |edge| {
        edge.has_rows(&[("att", 20)]);
        loses(edge, 483..4579);
    }),
    ("61_all_zero_after_defs.ulg", |edge| {
        edge.has_rows(&[]);
        loses(edge, 134..8326);
    }),
    ("62_bitflip_size.ulg", |edge| {
        // Only the record with the wrong size is lost.
        has_true_rows(edge, 999);
        loses(edge, 4788..4805);
    }),
    ("64_lost_bytes.ulg", |edge| {
        // 5 of the 17 bytes of a record are missing.
        has_true_rows(edge, 999);
        loses(edge, 4788..4800);
    }),
    ("66_random_block.ulg", |edge| {
        // The random bytes are between two records.
        has_true_rows(edge, 1000);
        loses(edge, 4618..5130);
    }),
    ("67_huge_unknown.ulg", |edge| {
        has_true_rows(edge, 1000);
        assert!(edge.damage().is_empty());
        assert!(edge.remarks("unknown type 'Z'"));
    }),
];

/// Asserts that exactly these bytes are reported as damage.
fn loses(edge: &Edge, bytes: Range<u64>) {
    let damage = edge.damage();
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!((damage[0].kind, &damage[0].bytes), (DamageKind::Garbled, &bytes));
}

/// Asserts that there are `count` records, all with the values that were written: 20
/// rows of 50 records. Rows are 1000 µs apart, records within a row 10 µs, and values
/// in a row are ascending.
fn has_true_rows(edge: &Edge, count: usize) {
    edge.has_rows(&[("att", count)]);
    let (times, values) = (edge.times("att"), edge.column("att", "x"));
    for (time, value) in times.iter().zip(&values) {
        let (row, remainder) = ((time / 1000.0).floor(), time % 1000.0);
        assert!((1.0..=20.0).contains(&row), "at {time} µs");
        assert_eq!(*value, remainder / 10.0, "at {time} µs");
    }
    assert!(times.is_sorted_by(|a, b| a < b));
}
