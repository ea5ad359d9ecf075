//! Which folders are data sets of ours.

use std::path::Path;

use logtool::Error;

/// The folder in a data set that is ours.
pub(super) const STATE: &str = "_logtool";
/// What is in a folder that is none of a data set, and yet nobody's.
const HARMLESS: [&str; 2] = [".DS_Store", "lost+found"];

/// Whether somebody else's files are in a folder in which `name` is.
pub(super) fn is_foreign(name: &str) -> bool {
    !HARMLESS.contains(&name)
}

/// That `dir` has `name`, and so is somebody else's.
pub(super) fn foreign(dir: &Path, name: &str) -> Error {
    let dir = dir.display();
    let what =
        format!("{dir} is no data set that `logtool batch` has made: it has {name}");
    let hint = "name a folder that is empty, or not there yet, with -o";
    Error::invalid(what).with_hint(hint)
}
