//! The search for files in folders.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    dataset::{inputs::globs::FileGlob, markers::STATE},
    error::{Error, ErrorKind},
    formats::LogFormat,
};

/// Returns whether a file called `name` is a log, by its extension.
fn has_log_name(name: &OsStr) -> bool {
    let format = name.to_str().and_then(LogFormat::from_file_name);
    format.is_some_and(|format| !format.is_table())
}

/// A file that may be a log.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// Whether the path or a pattern named the file, and not only its folder.
    pub(super) is_named: bool,
}

/// Searches folders for files.
#[derive(Default)]
pub(super) struct FolderSearch {
    /// The canonical path of a file or folder that is not searched.
    excluded: Option<PathBuf>,
    pub(super) files: Vec<Candidate>,
    /// The paths that could not be inspected.
    pub(super) failed: Vec<(PathBuf, Error)>,
    /// The datasets in the folders. They are not searched, because their files were made of
    /// logs.
    pub(super) datasets: Vec<PathBuf>,
}

/// The maximum depth of nested folders.
const MAX_DEPTH: usize = 256;

impl FolderSearch {
    /// Creates a search that skips the canonical path `excluded`.
    pub(super) fn new(excluded: Option<PathBuf>) -> Self {
        Self { excluded, ..Self::default() }
    }

    /// Returns whether `path` is the excluded file or folder.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        self.excluded.is_some() && fs::canonicalize(path).ok() == self.excluded
    }

    /// Adds the files in `folder` and its subfolders.
    pub(super) fn add_folder(&mut self, folder: &Path) {
        self.search(folder, &Filter::All, &mut BTreeSet::new());
    }

    /// Adds the files that `glob` matches, and those in folders that it matches. Returns
    /// whether anything was added.
    pub(super) fn add_matches(&mut self, glob: &FileGlob) -> bool {
        let before = self.files.len() + self.failed.len();
        self.search(&glob.base, &Filter::Glob(glob), &mut BTreeSet::new());
        self.files.len() + self.failed.len() > before
    }

    /// Searches `folder`, which is in the folders with the canonical paths `parents`.
    fn search(
        &mut self,
        folder: &Path,
        filter: &Filter<'_>,
        parents: &mut BTreeSet<PathBuf>,
    ) {
        let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let canonical = match fs::canonicalize(path) {
            Ok(canonical) => canonical,
            Err(err) => return self.fail(path, explain(path, err)),
        };
        if self.excluded.as_ref() == Some(&canonical) {
            return;
        }
        let is_nested = filter.is_all() && !parents.is_empty();
        if is_nested && canonical.join(STATE).is_dir() {
            return self.datasets.push(path.to_owned());
        }
        if parents.len() == MAX_DEPTH {
            let message =
                format!("folders are only searched to a depth of {MAX_DEPTH}");
            return self.fail(path, Error::other(message));
        }
        // A link may lead back to a parent.
        if !parents.insert(canonical.clone()) {
            return;
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<_>>);
        let mut entries: Vec<fs::DirEntry> = entries.unwrap_or_else(|err| {
            self.fail(path, err.into());
            Vec::new()
        });
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.join(&name);
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    self.search(&path, &filter.in_folder(&path), parents);
                }
                // A pipe with the name of a log is reported as a log that cannot be read.
                Ok(metadata)
                    if filter.matches_file(&path)
                        && (metadata.is_file()
                            || !filter.is_all()
                            || has_log_name(&name)) =>
                {
                    if self.excluded.as_ref() != Some(&canonical.join(&name)) {
                        let is_named = !filter.is_all();
                        self.files.push(Candidate { path, is_named });
                    }
                }
                Ok(_) => {}
                // A folder that cannot be inspected may have matches in it.
                Err(err)
                    if filter.matches_file(&path)
                        || err.kind() != io::ErrorKind::NotFound =>
                {
                    let err = explain(&path, err);
                    self.fail(&path, err);
                }
                Err(_) => {}
            }
        }
        parents.remove(&canonical);
    }

    fn fail(&mut self, path: &Path, err: Error) {
        self.failed.push((path.to_owned(), err));
    }
}

/// Which files are searched for.
enum Filter<'f> {
    /// All files.
    All,
    /// Those that a pattern matches.
    Glob(&'f FileGlob),
}

impl<'f> Filter<'f> {
    fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    fn matches_file(&self, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Glob(glob) => glob.matches_file(path),
        }
    }

    /// Returns the filter for the files in the folder `path`.
    fn in_folder(&self, path: &Path) -> Filter<'f> {
        match self {
            Self::Glob(glob) if !glob.matches_folder(path) => Filter::Glob(glob),
            _ => Filter::All,
        }
    }
}

/// Returns the error for `path`, which could not be inspected because of `err`.
pub(super) fn explain(path: &Path, err: io::Error) -> Error {
    match err.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => {
            Error::other("it is a link to a missing file")
        }
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NoSuchFile, "there is no such file")
        }
        _ => err.into(),
    }
}
