//! Where the source opens files. Files that users name are opened by `open_regular_file` and
//! `open_own_file` of `logtool-core`, and written by `Outputs` of `logtool-sinks`: those neither wait
//! for a pipe nor follow a link.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The calls that open files.
const CALLS: [&str; 9] = [
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "fs::copy(",
];

/// The files of the source that may have such calls, and why.
const ALLOWED: [(&str, &str); 15] = [
    ("core/src/io/regular_file.rs", "the common functions"),
    ("logtool/src/dataset/schedule/memory.rs", "files of the system"),
    ("logtool/src/dataset/storage/journal.rs", "options for `open_own_file`"),
    ("logtool/src/dataset/storage/local.rs", "options for `open_own_file`"),
    ("logtool/src/dataset/storage/remote.rs", "a temporary folder"),
    ("logtool/src/dataset/storage/remote/listing.rs", "a temporary folder"),
    ("logtool/src/dataset/storage/remote/lock_owner.rs", "files of the system"),
    ("logtool/src/jobs/record/recorded_file.rs", "options for `open_own_file`"),
    ("logtool/src/source/input.rs", "logs, which may be pipes"),
    ("logtool/src/source/remote/upload.rs", "a temporary folder"),
    ("mavlink/src/link/serial.rs", "a device"),
    ("sinks/src/files/staged_outputs.rs", "temporary files of outputs"),
    ("sinks/src/files/staged_outputs/file.rs", "temporary files of outputs"),
    ("sinks/src/files/staged_outputs/sync.rs", "temporary files of outputs"),
    ("sinks/src/files/staged_outputs/temporary.rs", "temporary files of outputs"),
];

/// Adds the files of source in `folder` to `files`.
fn find_source(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_source(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn files_are_opened_by_common_functions() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            find_source(&source, &mut files);
        }
    }
    let mut found = BTreeSet::new();
    for file in files {
        let name = file.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        // Tests are at the end of a file, or in files of their own.
        let code = text.split("\nmod tests {").next().unwrap();
        let is_test = name.ends_with("tests.rs") || name.contains("/testing");
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let opens = |line: &str| CALLS.iter().any(|call| line.contains(call));
        if !is_test && code.lines().filter(is_code).any(opens) {
            found.insert(name);
        }
    }
    let allowed: BTreeSet<String> =
        ALLOWED.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(found, allowed);
}
