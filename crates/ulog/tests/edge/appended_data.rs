//! Sections that were appended after a crash.

use logtool_core::{DamageKind, Value};

use crate::edge_log::{Case, Edge};

pub(crate) const CASES: &[Case] = &[
    ("16_append1_clean.ulg", |edge| {
        edge.has_rows(&[("att", 10)]);
        assert!(edge.damage().is_empty());
        has_hardfaults(edge, 1);
    }),
    ("17_append3_cut.ulg", |edge| {
        edge.has_rows(&[("att", 9)]);
        loses_the_cut_record(edge);
        has_hardfaults(edge, 3);
    }),
    ("18_append3_cut_data.ulg", |edge| {
        edge.has_rows(&[("att", 9 + 6)]);
        loses_the_cut_record(edge);
        has_hardfaults(edge, 3);
        // The file contains 9 rows at intervals of 10 µs, then 2 rows in each section.
        let times = edge.times("att");
        let logged: Vec<f64> = (0..9).map(|i| f64::from(1000 + 10 * i)).collect();
        assert_eq!(times[..9], logged);
        assert_eq!(times[9..11], [5000.0, 5010.0]);
    }),
    ("20_append_offset_past_eof.ulg", |edge| {
        edge.has_rows(&[("att", 10)]);
        assert!(edge.remarks("declared at byte 1000000000"));
    }),
];

/// Each section contains one string in the two parts `abc\n` and `def\n`.
fn has_hardfaults(edge: &Edge, count: usize) {
    let text = Value::Text("abc\ndef\n".to_owned());
    assert_eq!(edge.metadata().info_multiple["hardfault_plain"], vec![text; count]);
}

/// The log ends 7 bytes into the payload of the message at 273; the sections start at
/// 283.
fn loses_the_cut_record(edge: &Edge) {
    let damage = edge.damage();
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!(
        (damage[0].kind, &damage[0].bytes),
        (DamageKind::Truncated, &(273..283))
    );
}
