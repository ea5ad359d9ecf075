//! Messages that are unknown, too short, too early, or empty.

use logtool_core::{DamageKind, Log as _};

use crate::edge_log::{Case, Edge};

pub(crate) const CASES: &[Case] = &[
    ("40_unknown_type.ulg", |edge| {
        edge.has_rows(&[("att", 4)]);
        assert!(edge.remarks("unknown type 'Z'"));
        assert!(edge.damage().is_empty());
    }),
    ("41_unknown_type_in_defs.ulg", |edge| edge.has_rows(&[("att", 2)])),
    ("43_keylen_overrun.ulg", |edge| {
        edge.has_rows(&[("att", 4)]);
        // The four messages with invalid keys are adjacent; opening reports them.
        let damage = &edge.log().manifest().damage;
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!((&damage[0].bytes, damage[0].records), (&(177..229), 4));
    }),
    ("44_key_without_space.ulg", |edge| edge.has_rows(&[("att", 2)])),
    ("54_dropout.ulg", |edge| {
        edge.has_rows(&[("att", 4)]);
        let durations = edge.column("dropouts", "duration_ms");
        assert_eq!(durations, [120.0, 65_535.0, 1.0]);
        assert_eq!(durations.iter().sum::<f64>(), 65_656.0);
        // The time of the record before them, which is 1010 µs in the file.
        assert_eq!(edge.times("dropouts"), [1010.0; 3]);
    }),
    ("57_D_too_short.ulg", |edge| {
        // The record of a wrong length is delivered, and its decoder rejects it.
        edge.has_rows(&[("att", 5)]);
        assert_eq!(edge.table("att").num_rows(), 4);
        let damage = &edge.log().manifest().damage;
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(damage[0].kind, DamageKind::Undecodable);
        assert_eq!((&damage[0].bytes, damage[0].records), (&(177..190), 1));
        assert_eq!(damage[0].topic.map(|topic| topic.0), Some(0));
    }),
    ("69_bad_sync.ulg", |edge| edge.has_rows(&[("att", 4)])),
    ("70_log_levels.ulg", |edge| {
        edge.has_rows(&[("att", 1)]);
        let mut expected = vec![
            ("emergency", "m"),
            ("alert", "m"),
            ("critical", "m"),
            ("error", "m"),
            ("warning", "m"),
            ("notice", "m"),
            ("info", "m"),
            ("debug", "m"),
        ];
        // The number 3 instead of the digit, an empty text, and a trailing tab.
        expected.extend([("error", "raw3"), ("info", ""), ("info", "tab\t")]);
        assert_eq!(strings(edge).len(), 11);
        let strings = strings(edge);
        let strings: Vec<(&str, &str)> =
            strings.iter().map(|(l, t)| (&**l, &**t)).collect();
        assert_eq!(strings, expected);
    }),
];

fn strings(edge: &Edge) -> Vec<(String, String)> {
    let levels = edge.texts("logged_strings", "level");
    levels.into_iter().zip(edge.texts("logged_strings", "message")).collect()
}
