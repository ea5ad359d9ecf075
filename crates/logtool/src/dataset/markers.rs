//! The names by which a folder is recognised as a dataset.

use std::path::Path;

use crate::error::Error;

/// The folder in a dataset that holds the journal and the locks.
pub(super) const STATE: &str = "_logtool";
/// Files that operating systems create in folders.
const SYSTEM_FILES: [&str; 2] = [".DS_Store", "lost+found"];

/// Returns whether the file `name` shows that its folder is used by another program.
pub(super) fn is_foreign(name: &str) -> bool {
    !SYSTEM_FILES.contains(&name)
}

/// Returns the error for a folder `dir` that is not a dataset, because it has `name`.
pub(super) fn not_a_dataset(dir: &Path, name: &str) -> Error {
    let dir = dir.display();
    let message =
        format!("{dir} is not a dataset of `logtool batch`: it contains {name}");
    let hint = "the output has to be a new or empty folder, or a dataset";
    Error::invalid_request(message).with_hint(hint)
}
