//! What there is in folders.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use logtool::Error;

use crate::commands::batch::{inputs::globs::Wild, markers::STATE};

/// A file, before anybody has looked what it is.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// Whether it was named, and did not just lie in a folder.
    pub(super) is_named: bool,
}

/// Goes through folders.
#[derive(Default)]
pub(super) struct Walk {
    /// The folder that is not gone into, or the file that is left out.
    pub(super) but: Option<PathBuf>,
    pub(super) files: Vec<Candidate>,
    /// What could not be looked at.
    pub(super) failed: Vec<(PathBuf, Error)>,
    /// Data sets of ours that nobody named: what is in them was made of logs.
    pub(super) sets: Vec<PathBuf>,
}

/// Folders are in folders so often.
const DEEPEST: usize = 256;

impl Walk {
    /// Adds what is in `folder`, or of that what `wild` means.
    pub(super) fn folder(&mut self, folder: &Path, wild: Option<&Wild>) {
        self.walk(folder, wild, wild.is_none(), &mut BTreeSet::new());
    }

    /// `is_all`: whether all that is in `folder` is meant.
    fn walk(
        &mut self,
        folder: &Path,
        wild: Option<&Wild>,
        is_all: bool,
        above: &mut BTreeSet<PathBuf>,
    ) {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let real = match fs::canonicalize(here) {
            Ok(real) => real,
            Err(err) => return self.fail(here, unseen(here, err)),
        };
        let is_set = is_all && !above.is_empty() && real.join(STATE).is_dir();
        if Some(&real) == self.but.as_ref() {
            return;
        }
        if is_set {
            return self.sets.push(here.to_owned());
        }
        if above.len() == DEEPEST {
            let what = format!("it is in {DEEPEST} folders, and no deeper one is read");
            return self.fail(here, Error::failed(what));
        }
        // A link may lead back.
        if !above.insert(real.clone()) {
            return;
        }
        let entries = fs::read_dir(here).and_then(Iterator::collect::<io::Result<_>>);
        let mut entries: Vec<fs::DirEntry> = entries.unwrap_or_else(|err| {
            self.fail(here, err.into());
            Vec::new()
        });
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.join(entry.file_name());
            let about = fs::metadata(&path);
            let is_dir = about.as_ref().is_ok_and(fs::Metadata::is_dir);
            let is_meant =
                is_all || wild.is_some_and(|wild| wild.is_match(&path, is_dir));
            match about {
                Ok(_) if is_dir => self.walk(&path, wild, is_meant, above),
                Ok(about) if about.is_file() && is_meant => {
                    if self.but.as_ref() == Some(&real.join(entry.file_name())) {
                        continue;
                    }
                    self.files.push(Candidate { path, is_named: !is_all });
                }
                Ok(_) => {}
                // It may be a folder with something that is meant.
                Err(err) if is_meant || err.kind() != io::ErrorKind::NotFound => {
                    let why = unseen(&path, err);
                    self.fail(&path, why);
                }
                Err(_) => {}
            }
        }
        above.remove(&real);
    }

    fn fail(&mut self, path: &Path, why: Error) {
        self.failed.push((path.to_owned(), why));
    }
}

/// Why `path` cannot be looked at, in words, if `err` came of it.
pub(super) fn unseen(path: &Path, err: io::Error) -> Error {
    match err.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => {
            Error::failed("it is a link to what is not there")
        }
        io::ErrorKind::NotFound => Error::failed("there is no such file"),
        _ => err.into(),
    }
}
