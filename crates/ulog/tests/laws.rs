//! ULogs keep the laws of the core: those of our own writer, the edge cases, and real
//! ones.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::path::{Path, PathBuf};

use bytes::Bytes;
use logtool_core::conformance;
use logtool_ulog::FORMAT;

/// The logs in `folder` that other people made; says so where they are missing.
fn samples(folder: &str) -> Vec<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("LOGTOOL_SAMPLES").map_or(default, PathBuf::from);
    let Ok(found) = std::fs::read_dir(root.join(folder)) else {
        eprintln!("no samples in {folder}: set LOGTOOL_SAMPLES; nothing is checked");
        return vec![];
    };
    let paths = found.map(|entry| entry.unwrap().path());
    let mut logs: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "ulg")).collect();
    logs.sort();
    logs
}

fn testdata(name: &str) -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    std::fs::read(path).unwrap().into()
}

#[test]
fn sound_logs_of_our_own_keep_the_laws() {
    for name in ["pasta.ulg", "hostile_types.ulg", "quad_flight.ulg"] {
        conformance::check(&FORMAT, testdata(name));
    }
}

#[test]
fn damaged_logs_of_our_own_keep_the_laws() {
    for name in ["damaged/crashed.ulg", "damaged/lost_sector.ulg"] {
        conformance::check_damaged(&FORMAT, testdata(name));
    }
}

#[test]
fn every_edge_case_that_opens_keeps_the_laws() {
    for path in samples("ulog/edge") {
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        let options = logtool_core::OpenOptions::default();
        let source = std::sync::Arc::new(bytes.clone());
        match logtool_core::open(&[&FORMAT], "", source, options) {
            Ok(_) => conformance::check_damaged(&FORMAT, bytes),
            Err(err) => eprintln!("{}: {err}", path.display()),
        }
    }
}

#[test]
fn small_real_logs_keep_the_laws() {
    for path in samples("ulog") {
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        if bytes.len() < 600_000 {
            eprintln!("{}", path.display());
            conformance::check_damaged(&FORMAT, bytes);
        }
    }
}
