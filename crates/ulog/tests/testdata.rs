//! The logs in `testdata/` are those that the generator writes.

#[path = "../examples/make_ulogs/files.rs"]
mod files;

use std::{fs, path::Path};

#[test]
fn generator_writes_files_of_testdata() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    for (name, bytes) in files::all_logs().unwrap() {
        let stored = fs::read(folder.join(name)).unwrap();
        // Not `assert_eq`, which would print both files.
        assert!(
            stored == bytes,
            "{name} differs; cargo run -p logtool-ulog --example make_ulogs"
        );
    }
}

#[test]
fn generated_logs_are_small() {
    let sizes = files::all_logs().unwrap().into_iter().map(|(_, bytes)| bytes.len());
    let sizes: Vec<usize> = sizes.collect();
    assert!(sizes.iter().all(|size| *size < 100_000), "{sizes:?}");
    assert!(sizes.iter().sum::<usize>() < 300_000, "{sizes:?}");
}
