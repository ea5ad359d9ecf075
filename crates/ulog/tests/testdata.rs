//! The logs in `testdata/` are the ones that the generator writes.

#[path = "../examples/make_ulogs/files.rs"]
mod files;

use std::{fs, path::Path};

#[test]
fn the_generator_writes_what_lies_in_testdata() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    for (name, bytes) in files::all().unwrap() {
        let stored = fs::read(folder.join(name)).unwrap();
        // Not `assert_eq`: it would print both.
        assert!(
            stored == bytes,
            "{name} differs; cargo run -p logtool-ulog --example make_ulogs"
        );
    }
}

#[test]
fn the_logs_are_small() {
    let sizes = files::all().unwrap().into_iter().map(|(_, bytes)| bytes.len());
    let sizes: Vec<usize> = sizes.collect();
    assert!(sizes.iter().all(|size| *size < 100_000), "{sizes:?}");
    assert!(sizes.iter().sum::<usize>() < 300_000, "{sizes:?}");
}
