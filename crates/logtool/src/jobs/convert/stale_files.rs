//! Files of an earlier conversion that are still in the folders of this one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use crate::jobs::convert::report::OutputFile;

/// The table of the files in a folder.
const INDEX: &str = "index.csv";

/// Files in a folder that its new `index.csv` does not list, though they have the extension of
/// files that it lists: a reader of the whole folder would read both.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StaleFiles {
    /// The folder.
    pub folder: PathBuf,
    /// The number of files.
    pub count: u64,
}

/// Returns the files of earlier conversions in the folders of `files`.
pub(super) fn find(files: &[OutputFile]) -> Vec<StaleFiles> {
    let mut folders: BTreeMap<&Path, BTreeSet<&OsStr>> = BTreeMap::new();
    for OutputFile { path, .. } in files {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            folders.entry(folder).or_default().insert(name);
        }
    }
    let indexed = folders.iter().filter(|(_, names)| names.contains(OsStr::new(INDEX)));
    let stale = indexed.map(|(folder, names)| StaleFiles {
        folder: folder.to_path_buf(),
        count: count_unlisted(names, folder),
    });
    stale.filter(|stale| stale.count > 0).collect()
}

/// Returns the number of files in `folder` that are not in `names` but have the extension of
/// one of them.
fn count_unlisted(names: &BTreeSet<&OsStr>, folder: &Path) -> u64 {
    fn extension(name: &OsStr) -> Option<OsString> {
        Path::new(name).extension().map(OsStr::to_owned)
    }
    let listed = names.iter().filter(|name| **name != OsStr::new(INDEX));
    let extensions: BTreeSet<Option<OsString>> =
        listed.map(|name| extension(name)).collect();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let unlisted = entries.map(|entry| entry.file_name()).filter(|name| {
        !names.contains(name.as_os_str())
            && name != INDEX
            && extensions.contains(&extension(name))
    });
    unlisted.count() as u64
}
