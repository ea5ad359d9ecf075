//! The search for the logs that inputs name.

mod folders;
mod globs;
mod list;

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use logtool_core::{FileSource, open_regular_file, special_file_kind};
use rayon::prelude::*;

use crate::{
    dataset::inputs::{
        folders::{Candidate, FolderSearch},
        globs::FileGlob,
    },
    error::{Context as _, Error, ErrorKind, Result},
    formats::LogFormat,
    source::{
        input::{
            digest::digest_of,
            expand::{self, FolderContents},
            open, url,
        },
        remote::{self, ListedObject},
        session::{NoticeLevel, Session},
    },
};

/// A log that was found.
#[derive(Clone, Debug)]
pub(crate) struct InputLog {
    /// The path as it was named, or as it was found in a named folder.
    pub(crate) path: PathBuf,
    /// The absolute path without links, or the URL without secrets. It identifies the log.
    pub(super) source: String,
    /// Like `source`, but with the name of the link if the file is one.
    pub(super) named_path: String,
    /// The length of the file.
    pub(super) bytes: u64,
    /// When the file was changed, in nanoseconds of Unix time, if it is known.
    pub(super) modified_ns: Option<i64>,
}

impl InputLog {
    /// Returns the name to show: the path, or the URL without secrets.
    pub(crate) fn display_name(&self) -> String {
        if url::from_path(&self.path).is_some() {
            self.source.clone()
        } else {
            path_text(&self.path)
        }
    }
}

/// The result of the search.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The logs, each once, sorted by their sources.
    pub(crate) logs: Vec<InputLog>,
    /// The number of files in folders that are not logs.
    pub(super) other_files: u64,
    /// The inputs that could not be inspected.
    pub(crate) failed: Vec<(PathBuf, Error)>,
    /// The datasets in folders, which are not searched.
    pub(super) datasets: Vec<PathBuf>,
    /// Whether the output was an input too, and was not searched.
    has_output: bool,
}

impl Inputs {
    /// Checks that there is something to do.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.logs.is_empty() || !self.failed.is_empty() {
            return Ok(());
        }
        let hint = if self.has_output {
            "the output (-o) is not searched for logs: choose another output"
        } else {
            "an input is a log, a folder, a pattern, @list.txt or `-`"
        };
        Err(Error::other("there are no logs in the inputs").with_hint(hint))
    }

    /// Returns whether the log `source` may be in an input that could not be inspected.
    pub(super) fn may_hide(&self, source: &str) -> bool {
        self.failed.iter().any(|(path, _)| {
            if let Some(url) = url::from_path(path) {
                return source.starts_with(expand::literal_prefix(url));
            }
            // A link hides its target; a pattern hides everything that it could match.
            let target = fs::read_link(path).ok();
            let target = target.map(|target| url::parent(path).join(target));
            let base = globs::base(path);
            let hidden = if path.exists() { path } else { &base };
            let hidden = resolve(target.as_deref().unwrap_or(hidden));
            Path::new(source).starts_with(Path::new(&path_text(&hidden)))
        })
    }
}

/// Returns the absolute form of `path`. Links are resolved in the part of it that exists.
fn resolve(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = path.ancestors().find_map(|ancestor| {
        let existing = fs::canonicalize(ancestor).ok()?;
        Some(existing.join(path.strip_prefix(ancestor).ok()?))
    });
    resolved.unwrap_or(path)
}

/// Returns `path` as a string that no other path has: bytes that are not UTF-8 are written as
/// `\x9f`.
pub(super) fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Returns the logs in `folder` and its subfolders, with the paths that could not be inspected,
/// so that opening them reports the reason. Pipes and devices, which would be waited for, are left
/// out with a warning. Returns `folder` itself if it has no logs.
///
/// # Errors
/// Those of [`BatchRequest::run`](crate::dataset::BatchRequest::run) about inputs.
pub fn logs_in_folder(folder: &Path, session: &Session) -> Result<Vec<PathBuf>> {
    let inputs = find(&[folder.to_owned()], Path::new(""), session)?;
    let logs = inputs.logs.into_iter().map(|log| log.path);
    let mut paths: Vec<PathBuf> = logs.collect();
    for (path, err) in inputs.failed {
        let metadata = fs::metadata(&path);
        if metadata.is_ok_and(|file| special_file_kind(file.file_type()).is_some()) {
            let (name, text) =
                (path.display().to_string(), format!("{err}; it is left out"));
            session.progress.notice(NoticeLevel::Warning, &name, &text);
        } else {
            paths.push(path);
        }
    }
    Ok(if paths.is_empty() { vec![folder.to_owned()] } else { paths })
}

/// Returns the logs that `inputs` name, without those in `output`, a file or a folder.
pub(crate) fn find(
    inputs: &[PathBuf],
    output: &Path,
    session: &Session,
) -> Result<Inputs> {
    let mut search = Search {
        session,
        folders: FolderSearch::new(fs::canonicalize(output).ok()),
        output_url: url::from_path(output).map_or(String::new(), |url| {
            let url = remote::without_secrets(url);
            format!("{}/", url.trim_end_matches('/'))
        }),
        found: Inputs::default(),
    };
    for input in inputs {
        for input in list::expand(input)? {
            search.add(&input)?;
        }
    }
    let Search { folders, found: mut inputs, .. } = search;
    inputs.failed.extend(folders.failed);
    inputs.datasets.extend(folders.datasets);
    inputs.datasets.sort();
    inputs.datasets.dedup();
    let inspected: Vec<_> = folders.files.into_par_iter().map(inspect).collect();
    for result in inspected {
        match result {
            Ok(Some(log)) => inputs.logs.push(log),
            Ok(None) => inputs.other_files += 1,
            Err((path, err)) => inputs.failed.push((path, err)),
        }
    }
    // A dataset that was named itself is not left out.
    let Inputs { logs, datasets, .. } = &mut inputs;
    datasets.retain(|dataset| !logs.iter().any(|log| log.path.starts_with(dataset)));
    remove_duplicates(&mut inputs);
    Ok(inputs)
}

/// Sorts the logs and removes duplicates. Different files with the same source are failures.
fn remove_duplicates(inputs: &mut Inputs) {
    let Inputs { logs, failed, .. } = inputs;
    logs.sort_by(|a, b| (&a.source, &a.path).cmp(&(&b.source, &b.path)));
    logs.dedup_by(|next, first| {
        let is_duplicate = next.source == first.source;
        if is_duplicate && let Some(message) = ambiguity(first, next) {
            failed.push((next.source.clone().into(), Error::other(message)));
        }
        is_duplicate
    });
}

/// Returns why `first` and `next`, which have the same source, are different logs, if they are.
fn ambiguity(first: &InputLog, next: &InputLog) -> Option<&'static str> {
    if url::from_path(&next.path).is_some() {
        let message = "another URL differs from it only after the `?`";
        (next.path != first.path).then_some(message)
    } else {
        let canonical = |log: &InputLog| fs::canonicalize(&log.path).ok();
        let message = "another file has the same name when it is written as text";
        (canonical(next) != canonical(first)).then_some(message)
    }
}

/// Returns whether the log `source` exists, or cannot be checked cheaply because it is remote.
pub(super) fn may_exist(source: &str) -> bool {
    let path = Path::new(source);
    url::from_path(path).is_some() || path.exists()
}

/// Returns the digest of the local file at `path`.
pub(super) fn file_digest(path: &Path) -> Result<String> {
    let file = open_regular_file(path).context("it cannot be opened")?;
    Ok(digest_of(&FileSource::new(file)?)?)
}

/// A search for logs.
struct Search<'s> {
    session: &'s Session,
    folders: FolderSearch,
    /// The URL of the output with a slash at its end; empty if it is local.
    output_url: String,
    found: Inputs,
}

impl Search<'_> {
    /// Adds the logs that `input` names: a file, a folder, a pattern, or a URL of one of these.
    fn add(&mut self, input: &Path) -> Result<()> {
        if let Some(url) = url::from_path(input) {
            if let Err(err) = self.add_url(url) {
                if err.kind() == ErrorKind::InvalidRequest {
                    return Err(err);
                }
                self.found.failed.push((remote::without_secrets(url).into(), err));
            }
            return Ok(());
        }
        if self.folders.is_excluded(input) {
            self.found.has_output = true;
            return Ok(());
        }
        if input.is_dir() {
            self.folders.add_folder(input);
            return Ok(());
        }
        let glob = if input.exists() { None } else { FileGlob::parse(input)? };
        let Some(glob) = glob else {
            let path = input.to_owned();
            self.folders.files.push(Candidate { path, is_named: true });
            return Ok(());
        };
        if !self.folders.add_matches(&glob) {
            let err = Error::other("no file matches the pattern");
            self.found.failed.push((input.to_owned(), err));
        }
        Ok(())
    }

    fn add_url(&mut self, url: &str) -> Result<()> {
        let log = |path: &str, object: ListedObject| {
            let ListedObject { url, bytes, modified, .. } = object;
            InputLog {
                path: path.into(),
                named_path: url.clone(),
                source: url,
                bytes,
                modified_ns: modified,
            }
        };
        let inputs = &mut self.found;
        match expand::list_objects(url, &self.output_url, self.session)? {
            Some(FolderContents { logs, other_objects, mut datasets }) => {
                let named = remote::without_secrets(url);
                datasets.retain(|dataset| !named.starts_with(&**dataset));
                inputs.other_files += other_objects;
                let is_in_dataset = |log: &ListedObject| {
                    datasets.iter().any(|dataset| log.url.starts_with(&**dataset))
                };
                let logs = logs.into_iter().filter(|log| !is_in_dataset(log));
                inputs.logs.extend(logs.map(|object| log(&object.url.clone(), object)));
                inputs.datasets.extend(datasets.into_iter().map(PathBuf::from));
            }
            None => inputs.logs.push(log(url, remote::stat(url, self.session)?)),
        }
        Ok(())
    }
}

/// Returns the log in the file `candidate`; `None` if it is not a log.
fn inspect(candidate: Candidate) -> Result<Option<InputLog>, (PathBuf, Error)> {
    let Candidate { path, is_named } = candidate;
    inspect_file(&path, is_named).map_err(|err| (path, err))
}

fn inspect_file(path: &Path, is_named: bool) -> Result<Option<InputLog>> {
    let metadata = fs::metadata(path).map_err(|err| folders::explain(path, err))?;
    if !metadata.is_file() {
        return Err(Error::other("it is a pipe or a device, not a file"));
    }
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    // A file with the extension of a log is a damaged log, whatever its first bytes are.
    let has_extension =
        LogFormat::from_file_name(name).is_some_and(|format| !format.is_table());
    if !is_named && !has_extension && !open::is_log(path)? {
        return Ok(None);
    }
    let canonical = fs::canonicalize(path)?;
    let named_path = match path.file_name().filter(|_| path.is_symlink()) {
        Some(name) => fs::canonicalize(url::parent(path))?.join(name),
        None => canonical.clone(),
    };
    let modified = metadata.modified().ok().and_then(|time| {
        let since_epoch = time.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since_epoch.as_nanos()).ok()
    });
    Ok(Some(InputLog {
        path: path.to_owned(),
        source: path_text(&canonical),
        named_path: path_text(&named_path),
        bytes: metadata.len(),
        modified_ns: modified,
    }))
}

#[cfg(test)]
mod tests;
