//! Files of an earlier run, left in the folders of this one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use logtool::units::counted;

use crate::{paint, terminal::say};

/// What lists the files of a folder.
const LIST: &str = "index.csv";

/// Says aloud where beside the `files` that were written, in folders with a list of them, lie
/// others like them: who reads the whole folder would read both.
pub(super) fn warn(files: &[(PathBuf, u64)]) {
    let mut folders: BTreeMap<&Path, BTreeSet<&OsStr>> = BTreeMap::new();
    for (file, _) in files {
        if let (Some(folder), Some(name)) = (file.parent(), file.file_name()) {
            folders.entry(folder).or_default().insert(name);
        }
    }
    for (folder, names) in folders.iter().filter(|(_, n)| n.contains(OsStr::new(LIST)))
    {
        let count = others_like(names, folder);
        if count > 0 {
            say!(
                "{} {}: {} of an earlier run still there, which {LIST} does not list",
                paint::for_stderr().yellow("warning:"),
                folder.display(),
                counted(count, "file")
            );
        }
    }
}

/// How many files in `folder` are not among `names`, and end as some of these.
fn others_like(names: &BTreeSet<&OsStr>, folder: &Path) -> u64 {
    fn end(name: &OsStr) -> Option<OsString> {
        Path::new(name).extension().map(OsStr::to_owned)
    }
    let listed = names.iter().filter(|name| **name != OsStr::new(LIST));
    let ends: BTreeSet<Option<OsString>> = listed.map(|name| end(name)).collect();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.file_name()).filter(|name| {
        !names.contains(name.as_os_str()) && name != LIST && ends.contains(&end(name))
    });
    others.count() as u64
}
