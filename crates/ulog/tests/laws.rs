//! ULogs satisfy the laws of the core: logs of our own writer, edge cases, and real
//! logs.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::path::Path;

use bytes::Bytes;
use logtool_core::conformance;
use logtool_ulog::FORMAT;

fn testdata(name: &str) -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    std::fs::read(path).unwrap().into()
}

#[test]
fn valid_generated_logs_satisfy_laws() {
    for name in ["pasta.ulg", "hostile_types.ulg", "quad_flight.ulg"] {
        conformance::check(&FORMAT, testdata(name));
    }
}

#[test]
fn damaged_generated_logs_satisfy_laws() {
    for name in ["damaged/crashed.ulg", "damaged/lost_sector.ulg"] {
        conformance::check_damaged(&FORMAT, testdata(name));
    }
}

#[test]
fn edge_cases_satisfy_laws() {
    for (name, bytes) in conformance::samples("ulog/edge", &["ulg"]) {
        let options = logtool_core::OpenOptions::default();
        let source = std::sync::Arc::new(bytes.clone());
        match logtool_core::open(&[&FORMAT], "", source, options) {
            Ok(_) => conformance::check_damaged(&FORMAT, bytes),
            Err(err) => eprintln!("{name}: {err}"),
        }
    }
}

#[test]
fn small_real_logs_satisfy_laws() {
    for (name, bytes) in conformance::samples("ulog", &["ulg"]) {
        if bytes.len() < 600_000 {
            eprintln!("{name}");
            conformance::check_damaged(&FORMAT, bytes);
        }
    }
}
