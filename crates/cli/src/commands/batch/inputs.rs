//! From what was typed to the logs that are meant.

mod globs;
mod list;
mod walk;

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use logtool::{
    Error, ErrorKind, Result, Session,
    formats::LogFormat,
    input::{
        expand::{self, Folder},
        open, url,
    },
    remote::{self, Listed},
};
use rayon::prelude::*;

use self::{
    globs::Wild,
    walk::{Candidate, Walk},
};

/// A file that is taken for a log.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// As it was typed, or the folder that was typed led to it.
    pub(super) path: PathBuf,
    /// The whole path, without links, or the URL without what is secret in it: what tells it
    /// from others.
    pub(super) source: String,
    /// The same as it was found: where the file is a link, the path of that.
    pub(super) called: String,
    /// How long it is.
    pub(super) bytes: u64,
    /// When it was changed, in nanoseconds of Unix time, if the system tells.
    pub(super) modified: Option<i64>,
}

impl Found {
    /// As it is to be shown to people: without what is secret in a URL.
    pub(super) fn shown(&self) -> String {
        match url::of(&self.path) {
            Some(_) => self.source.clone(),
            None => text(&self.path),
        }
    }
}

/// What the inputs are.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// Each log once, in the order of the whole paths.
    pub(super) logs: Vec<Found>,
    /// How many files in folders are no logs.
    pub(super) others: u64,
    /// What could not be looked at.
    pub(super) failed: Vec<(PathBuf, Error)>,
    /// Data sets in folders, which are left out.
    pub(super) sets: Vec<PathBuf>,
    /// Whether what is written was named too, and left out.
    has_out: bool,
}

impl Inputs {
    /// Refuses to do nothing.
    pub(super) fn check(&self) -> Result<()> {
        let none = Error::failed("there are no logs here");
        match (self.logs.is_empty() && self.failed.is_empty(), self.has_out) {
            (false, _) => Ok(()),
            (true, true) => Err(none.with_hint(
                "what is written (-o) is not read: name another place for it",
            )),
            (true, false) => {
                Err(none.with_hint("a folder, a pattern, @list.txt or `-` names them"))
            }
        }
    }

    /// Whether `source`, a whole path, is what could not be looked at, or in it.
    pub(super) fn may_hide(&self, source: &str) -> bool {
        self.failed.iter().any(|(path, _)| {
            if let Some(url) = url::of(path) {
                return source.starts_with(expand::literal_prefix(url));
            }
            // Of a link what it leads to; of a pattern, all that it could mean.
            let target = fs::read_link(path).ok();
            let target = target.map(|to| url::parent(path).join(to));
            let plain = globs::plain(path);
            let place = if path.exists() { path } else { &plain };
            let place = whole(target.as_deref().unwrap_or(place));
            Path::new(source).starts_with(Path::new(&text(&place)))
        })
    }
}

/// `path` from the root and without links, as far as it is there.
fn whole(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = path.ancestors().find_map(|above| {
        let real = fs::canonicalize(above).ok()?;
        Some(real.join(path.strip_prefix(above).ok()?))
    });
    real.unwrap_or(path)
}

/// `path` as a text that tells it from others: what is none in it, as its bytes.
pub(super) fn text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}"); // to a text, that never fails
        }
    }
    text
}

/// Finds what `typed` means, without the file `but`, or what is in that folder.
pub(super) fn find(typed: &[PathBuf], but: &Path, session: &Session) -> Result<Inputs> {
    let mut finding = Finding {
        session,
        walk: Walk { but: fs::canonicalize(but).ok(), ..Walk::default() },
        but_url: url::of(but).map_or(String::new(), |url| {
            let url = remote::shown(url);
            format!("{}/", url.trim_end_matches('/'))
        }),
        inputs: Inputs::default(),
    };
    for input in typed {
        for input in list::listed(input)? {
            finding.add(&input)?;
        }
    }
    let Finding { walk, mut inputs, .. } = finding;
    inputs.failed.extend(walk.failed);
    inputs.sets.extend(walk.sets);
    inputs.sets.sort();
    inputs.sets.dedup();
    let looked: Vec<_> = walk.files.into_par_iter().map(look).collect();
    for looked in looked {
        match looked {
            Ok(Some(found)) => inputs.logs.push(found),
            Ok(None) => inputs.others += 1,
            Err((path, err)) => inputs.failed.push((path, err)),
        }
    }
    let Inputs { logs, sets, .. } = &mut inputs;
    sets.retain(|set| !logs.iter().any(|log| log.path.starts_with(set))); // it is named too
    inputs.logs.sort_by(|a, b| (&a.source, &a.path).cmp(&(&b.source, &b.path)));
    let failed = &mut inputs.failed;
    inputs.logs.dedup_by(|next, first| {
        let is_same = next.source == first.source;
        let what = match url::of(&next.path) {
            _ if !is_same => None,
            Some(_) if next.path != first.path => {
                Some("another URL differs from it only in what comes after `?`")
            }
            Some(_) => None,
            None if fs::canonicalize(&next.path).ok()
                != fs::canonicalize(&first.path).ok() =>
            {
                Some("the name of another file is written so")
            }
            None => None,
        };
        if let Some(what) = what {
            failed.push((next.source.clone().into(), Error::failed(what)));
        }
        is_same
    });
    Ok(inputs)
}

/// Whether the log `source` is there still, as far as that is easily told.
pub(super) fn is_there(source: &str) -> bool {
    let path = Path::new(source);
    url::of(path).is_some() || path.exists()
}

struct Finding<'s> {
    session: &'s Session,
    walk: Walk,
    /// The folder that is left out, if it is a URL; else empty.
    but_url: String,
    inputs: Inputs,
}

impl Finding<'_> {
    /// Adds what `input` means: a file, a folder, a pattern, or a URL of one of these.
    fn add(&mut self, input: &Path) -> Result<()> {
        if let Some(url) = url::of(input) {
            if let Err(err) = self.add_url(url) {
                if err.kind() == ErrorKind::InvalidRequest {
                    return Err(err);
                }
                self.inputs.failed.push((remote::shown(url).into(), err));
            }
            return Ok(());
        }
        if self.walk.but.is_some() && fs::canonicalize(input).ok() == self.walk.but {
            self.inputs.has_out = true;
            return Ok(());
        }
        if input.is_dir() {
            self.walk.folder(input, None);
            return Ok(());
        }
        let wild = if input.exists() { None } else { Wild::new(input)? };
        let Some(wild) = wild else {
            let path = input.to_owned();
            self.walk.files.push(Candidate { path, is_named: true });
            return Ok(());
        };
        let found = |walk: &Walk| walk.files.len() + walk.failed.len();
        let before = found(&self.walk);
        self.walk.folder(&wild.base, Some(&wild));
        if found(&self.walk) == before {
            let err = Error::failed("no file is called so");
            self.inputs.failed.push((input.to_owned(), err));
        }
        Ok(())
    }

    fn add_url(&mut self, url: &str) -> Result<()> {
        let found = |path: &str, object: Listed| {
            let Listed { url, bytes, modified } = object;
            Found {
                path: path.into(),
                called: url.clone(),
                source: url,
                bytes,
                modified,
            }
        };
        match expand::listed(url, &self.but_url, self.session)? {
            Some(Folder { logs, others, mut sets }) => {
                let typed = remote::shown(url);
                sets.retain(|set| !typed.starts_with(&**set));
                self.inputs.others += others;
                let is_in_set =
                    |log: &Listed| sets.iter().any(|set| log.url.starts_with(&**set));
                let logs = logs.into_iter().filter(|log| !is_in_set(log));
                self.inputs.logs.extend(logs.map(|log| found(&log.url.clone(), log)));
                self.inputs.sets.extend(sets.into_iter().map(PathBuf::from));
            }
            None => self.inputs.logs.push(found(url, remote::look(url, self.session)?)),
        }
        Ok(())
    }
}

/// What is known of a file, if it is to be taken for a log.
fn look(candidate: Candidate) -> Result<Option<Found>, (PathBuf, Error)> {
    let Candidate { path, is_named } = candidate;
    let look = || -> Result<Option<Found>> {
        let about = fs::metadata(&path).map_err(|err| walk::unseen(&path, err))?;
        if !about.is_file() {
            return Err(Error::failed("it is a pipe or a device, and no file"));
        }
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        // A file with the name of a log that does not begin as one is a broken log.
        let is_called_so = LogFormat::from_file_name(name).is_some();
        if !is_named && !is_called_so && !open::is_log(&path)? {
            return Ok(None);
        }
        let real = fs::canonicalize(&path)?;
        let called = match path.file_name().filter(|_| path.is_symlink()) {
            Some(name) => fs::canonicalize(url::parent(&path))?.join(name),
            None => real.clone(),
        };
        let modified = about.modified().ok().and_then(|time| {
            let since = time.duration_since(UNIX_EPOCH).ok()?;
            i64::try_from(since.as_nanos()).ok()
        });
        let (path, source, called) = (path.clone(), text(&real), text(&called));
        Ok(Some(Found { path, source, called, bytes: about.len(), modified }))
    };
    look().map_err(|err| (path.clone(), err))
}

#[cfg(test)]
mod tests;
