//! File headers that are complete, unusual, from other formats, or truncated.

use logtool_core::{DamageKind, ErrorKind, Log as _};

use crate::edge_log::{Case, Edge};

pub(crate) const CASES: &[Case] = &[
    ("01_ok.ulg", |edge| {
        edge.has_rows(&[("att", 20)]);
        assert!(edge.damage().is_empty() && edge.log().manifest().remarks.is_empty());
        let counted: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(edge.column("att", "x"), counted);
        let times: Vec<f64> = (0..20).map(|i| f64::from(1000 + 10 * i)).collect();
        assert_eq!(edge.times("att"), times);
    }),
    ("02_empty_file.ulg", |edge| {
        is_not_a_ulog(edge);
        assert!(edge.refusal().contains("not a ULog"));
    }),
    ("03_header_only.ulg", |edge| edge.has_rows(&[])),
    ("04_header_cut.ulg", |edge| {
        is_not_a_ulog(edge);
        assert!(edge.refusal().contains("truncated within its header"));
    }),
    ("05_wrong_magic.ulg", is_not_a_ulog),
    ("06_version_0_no_B.ulg", |edge| {
        edge.has_rows(&[("att", 5)]);
        assert_eq!(edge.metadata().file_header.version, 0);
    }),
    ("07_version_7.ulg", |edge| {
        edge.has_rows(&[("att", 5)]);
        assert!(edge.remarks("version 7"));
    }),
    ("08_trunc_in_payload.ulg", |edge| {
        edge.has_rows(&[("att", 19)]);
        is_cut(edge, 466..478);
    }),
    ("09_trunc_in_header.ulg", |edge| {
        edge.has_rows(&[("att", 20)]);
        is_cut(edge, 483..484);
    }),
    ("10_trunc_in_definitions.ulg", |edge| {
        edge.has_rows(&[]);
        is_cut(edge, 93..118);
    }),
    ("11_trunc_defs_header.ulg", |edge| {
        edge.has_rows(&[]);
        is_cut(edge, 93..94);
    }),
    ("12_incompat_bit1.ulg", |edge| {
        assert_eq!(
            edge.opened.as_ref().unwrap_err().kind(),
            ErrorKind::IncompatibleFlag
        );
        assert!(edge.refusal().contains("flag bit 1 of byte 0"), "{}", edge.refusal());
    }),
    ("14_compat_unknown.ulg", |edge| {
        edge.has_rows(&[("att", 3)]);
        assert_eq!(
            edge.metadata().file_header.compatible_flags,
            [0xfe, 0, 0, 0, 0, 0, 0, 0]
        );
    }),
    ("15_B_longer.ulg", |edge| edge.has_rows(&[("att", 3)])),
    ("59_no_data.ulg", |edge| edge.has_rows(&[("att", 0)])),
];

fn is_not_a_ulog(edge: &Edge) {
    assert_eq!(edge.opened.as_ref().unwrap_err().kind(), ErrorKind::Unrecognized);
}

fn is_cut(edge: &Edge, bytes: std::ops::Range<u64>) {
    let damage = edge.damage();
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!((damage[0].kind, &damage[0].bytes), (DamageKind::Truncated, &bytes));
}
