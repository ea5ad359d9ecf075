//! From what was typed to the logs that are meant.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    path::{Component, Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::{Context as _, Result};
use globset::{GlobBuilder, GlobMatcher};
use rayon::prelude::*;

use crate::{
    complaint::{self, Complaint},
    input::STDIN,
    inputs::{self, Folder},
    opened,
    remote::{self, Listed},
    url,
};

/// A file that is taken for a log.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// As it was typed, or the folder that was typed led to it.
    pub(super) path: PathBuf,
    /// The whole path, without links, or the URL without what is secret in it: what tells it
    /// from others.
    pub(super) source: String,
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
            None => self.path.display().to_string(),
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
    pub(super) failed: Vec<(PathBuf, anyhow::Error)>,
}

impl Inputs {
    /// Whether `source`, a whole path, is what could not be looked at, or in it.
    pub(super) fn may_hide(&self, source: &str) -> bool {
        let is_plain =
            |part: &Component<'_>| !part.as_os_str().to_str().is_some_and(is_pattern);
        self.failed.iter().any(|(path, _)| {
            if let Some(url) = url::of(path) {
                let plain = url.split('*').next().unwrap_or(url);
                return source.starts_with(plain);
            }
            // Of a pattern, all that it could mean.
            let plain: PathBuf = path.components().take_while(is_plain).collect();
            let place = if path.exists() { path } else { &plain };
            Path::new(source).starts_with(whole(place))
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

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// A file, before anybody has looked what it is.
struct Candidate {
    path: PathBuf,
    /// Whether it was named, and did not just lie in a folder.
    is_named: bool,
}

/// What the names of logs end in: such a file is taken for one even if it does not begin
/// so, as it is then a broken one.
const ENDS: [&str; 8] =
    ["ulg", "ulge", "bag", "active", "mcap", "vel", "pcap", "pcapng"];
/// Folders are in folders so often.
const DEEPEST: usize = 256;

/// Finds what `typed` means, without what is in the folder or file `but`.
pub(super) fn find(typed: &[PathBuf], but: &Path) -> Result<Inputs> {
    let mut finding = Finding {
        but: fs::canonicalize(but).ok(),
        but_url: url::of(but).map_or(String::new(), |url| {
            let url = remote::shown(url);
            format!("{}/", url.trim_end_matches('/'))
        }),
        candidates: Vec::new(),
        inputs: Inputs::default(),
    };
    for input in typed {
        for input in listed(input)? {
            finding.add(&input)?;
        }
    }
    let Finding { candidates, mut inputs, .. } = finding;
    let looked: Vec<_> = candidates.into_par_iter().map(look).collect();
    for looked in looked {
        match looked {
            Ok(Some(found)) => inputs.logs.push(found),
            Ok(None) => inputs.others += 1,
            Err((path, err)) => inputs.failed.push((path, err)),
        }
    }
    inputs.logs.sort_by(|a, b| (&a.source, &a.path).cmp(&(&b.source, &b.path)));
    let failed = &mut inputs.failed;
    inputs.logs.dedup_by(|next, first| {
        let is_same = next.source == first.source;
        if is_same && url::of(&next.path).is_some() && next.path != first.path {
            let what = "another URL differs from it only in what comes after `?`";
            failed.push((next.source.clone().into(), Complaint::new(what).into()));
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

/// What is in the list that `input` is, or just itself.
fn listed(input: &Path) -> Result<Vec<PathBuf>> {
    let name = input.to_str().unwrap_or_default();
    let text = match name.strip_prefix('@') {
        _ if name == STDIN => io::read_to_string(io::stdin()).context("the list")?,
        Some(list) if !input.exists() => {
            fs::read_to_string(list).with_context(|| format!("the list {list}"))?
        }
        _ => return Ok(vec![input.to_owned()]),
    };
    let lines = lines(&text).map(|line| url::local(line.into()).into());
    Ok(lines.collect())
}

/// The lines of a list, without empty ones and those that begin with `#`; or what lies between
/// zeros, as it is.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let has_zeros = text.contains('\0');
    let end = if has_zeros { '\0' } else { '\n' };
    let lines = text.split(end).map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.filter(move |line| match has_zeros {
        true => !line.is_empty(),
        false => !line.trim().is_empty() && !line.starts_with('#'),
    })
}

struct Finding {
    but: Option<PathBuf>,
    /// The same, if it is a URL; else empty.
    but_url: String,
    candidates: Vec<Candidate>,
    inputs: Inputs,
}

impl Finding {
    /// Adds what `input` means: a file, a folder, a pattern, or a URL of one of these.
    fn add(&mut self, input: &Path) -> Result<()> {
        if let Some(url) = url::of(input) {
            if let Err(err) = self.add_url(url) {
                if complaint::is_misuse(&err) {
                    return Err(err);
                }
                self.inputs.failed.push((remote::shown(url).into(), err));
            }
            return Ok(());
        }
        if input.is_dir() {
            self.add_folder(input, None);
            return Ok(());
        }
        let pattern = input.to_str().filter(|text| is_pattern(text));
        let (Some(pattern), false) = (pattern, input.exists()) else {
            self.candidates.push(Candidate { path: input.to_owned(), is_named: true });
            return Ok(());
        };
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|err| {
            Complaint::misuse(format!("`{pattern}` is no pattern: {}", err.kind()))
        })?;
        let is_plain =
            |part: &Component<'_>| !part.as_os_str().to_str().is_some_and(is_pattern);
        let base: PathBuf = input.components().take_while(is_plain).collect();
        let before = self.candidates.len();
        self.add_folder(&base, Some(&glob.compile_matcher()));
        if self.candidates.len() == before {
            let err = Complaint::new("no file is called so");
            self.inputs.failed.push((input.to_owned(), err.into()));
        }
        Ok(())
    }

    fn add_url(&mut self, url: &str) -> Result<()> {
        let found = |path: &str, object: Listed| {
            let Listed { url, bytes, modified } = object;
            Found { path: path.into(), source: url, bytes, modified }
        };
        match inputs::listed(url, &self.but_url)? {
            Some(Folder { logs, others }) => {
                self.inputs.others += others;
                let logs = logs.into_iter();
                self.inputs.logs.extend(logs.map(|log| found(&log.url.clone(), log)));
            }
            None => self.inputs.logs.push(found(url, remote::look(url)?)),
        }
        Ok(())
    }

    /// Adds what is in `folder`, or of that what `glob` means.
    fn add_folder(&mut self, folder: &Path, glob: Option<&GlobMatcher>) {
        let mut above = BTreeSet::new();
        self.walk(folder, glob, glob.is_none(), &mut above);
    }

    /// `is_all`: whether all that is in `folder` is meant.
    fn walk(
        &mut self,
        folder: &Path,
        glob: Option<&GlobMatcher>,
        is_all: bool,
        above: &mut BTreeSet<PathBuf>,
    ) {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(real) = fs::canonicalize(here) else { return };
        // A link may lead back.
        if Some(&real) == self.but.as_ref() || above.len() > DEEPEST {
            return;
        }
        if !above.insert(real.clone()) {
            return;
        }
        let entries = fs::read_dir(here).and_then(Iterator::collect::<io::Result<_>>);
        let mut entries: Vec<fs::DirEntry> = match entries {
            Ok(entries) => entries,
            Err(err) => {
                self.inputs.failed.push((here.to_owned(), err.into()));
                Vec::new()
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.join(entry.file_name());
            let is_meant = is_all || glob.is_some_and(|glob| glob.is_match(&path));
            if path.is_dir() {
                self.walk(&path, glob, is_meant, above);
            } else if is_meant && path.is_file() {
                self.candidates.push(Candidate { path, is_named: !is_all });
            }
        }
        above.remove(&real);
    }
}

/// What is known of a file, if it is to be taken for a log.
fn look(candidate: Candidate) -> Result<Option<Found>, (PathBuf, anyhow::Error)> {
    let Candidate { path, is_named } = candidate;
    let look = || -> Result<Option<Found>> {
        let about = fs::metadata(&path).map_err(|err| match err.kind() {
            io::ErrorKind::NotFound => Complaint::new("there is no such file").into(),
            _ => anyhow::Error::from(err),
        })?;
        if !about.is_file() {
            return Err(Complaint::new("it is a pipe or a device, and no file").into());
        }
        let end = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let is_called_so = ENDS.iter().any(|known| known.eq_ignore_ascii_case(end));
        if !is_named && !is_called_so && !opened::is_log(&path)? {
            return Ok(None);
        }
        let source = fs::canonicalize(&path)?.to_string_lossy().into_owned();
        let modified = about.modified().ok().and_then(|time| {
            let since = time.duration_since(UNIX_EPOCH).ok()?;
            i64::try_from(since.as_nanos()).ok()
        });
        let path = path.clone();
        Ok(Some(Found { path, source, bytes: about.len(), modified }))
    };
    look().map_err(|err| (path.clone(), err))
}

#[cfg(test)]
mod tests;
