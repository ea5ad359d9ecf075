//! Files that appear all together, whole, or not at all.

mod file;
mod temporary;

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use logtool_core::{Error, ErrorKind, Result};
use tempfile::{TempDir, TempPath};

pub use self::file::Staged;
use crate::{error::at_path, partition::Partition, staged::file::stdout_file};

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and that is an error.
    #[default]
    Refuse,
    /// The new one takes its place.
    Replace,
}

/// The files that one run writes into one directory.
///
/// Each is written to a temporary file beside its place; where the directory is new, all of
/// them into a temporary directory beside it. [`commit`](Self::commit) gives all of them
/// their names, those of a new directory with one rename; dropping without that removes
/// them, and the directories that were made for them.
#[derive(Debug)]
pub struct Outputs {
    dir: PathBuf,
    kind: Kind,
    existing: Existing,
    /// Whether files are on the disk before they get their names.
    is_synced: bool,
    state: Mutex<State>,
    /// How many temporary files are held open, and how many may be.
    open: AtomicUsize,
    most_open: usize,
}

/// Which files there are.
#[derive(Debug)]
enum Kind {
    /// Any, with the names that sinks give them.
    Folder,
    /// The parts of a data set.
    Partition(Partition),
    /// One, which is called so whatever its sink calls it.
    File(PathBuf),
    /// One, which is standard output.
    Stdout,
}

#[derive(Debug, Default)]
struct State {
    /// The names that are taken.
    names: BTreeSet<String>,
    /// The directory that will be the new one.
    staging: Option<TempDir>,
    /// The files that are written to their end.
    done: Vec<(TempPath, PathBuf)>,
    /// The one of them that gets its name after all others.
    last: Option<PathBuf>,
    /// The files that are begun and not done.
    unfinished: BTreeSet<PathBuf>,
    /// The directories that were made, outermost first.
    made: Vec<PathBuf>,
}

/// Says that [outputs were abandoned](Outputs::abandon), and keeps it so.
#[derive(Debug)]
#[must_use]
pub struct Abandoned<'o> {
    _state: MutexGuard<'o, State>,
}

impl Outputs {
    /// Files in `dir`, which is made when the first of them begins.
    pub fn new(dir: impl Into<PathBuf>, existing: Existing) -> Arc<Self> {
        Arc::new(Self::of_kind(dir.into(), Kind::Folder, existing))
    }

    /// The files of one log in the data set `dir`: each is in a partition of the folder
    /// of its table. They are begun in a folder beside, so that what a killed program
    /// leaves is all in one place, and are on the disk before they get their names.
    pub fn of_partition(
        dir: impl Into<PathBuf>,
        partition: Partition,
        existing: Existing,
    ) -> Arc<Self> {
        let kind = Kind::Partition(partition);
        let mut outputs = Self::of_kind(dir.into(), kind, existing);
        outputs.is_synced = true;
        Arc::new(outputs)
    }

    /// One file, which will be at `path`.
    pub fn one_file(path: impl Into<PathBuf>, existing: Existing) -> Arc<Self> {
        let path = path.into();
        let dir = temporary::parent(&path);
        Arc::new(Self::of_kind(dir, Kind::File(path), existing))
    }

    /// One file, as of [`one_file`](Self::one_file), which is on the disk before it gets its
    /// name: a log, which may be all that is left of another.
    pub fn one_synced_file(path: impl Into<PathBuf>, existing: Existing) -> Arc<Self> {
        let path = path.into();
        let dir = temporary::parent(&path);
        let mut outputs = Self::of_kind(dir, Kind::File(path), existing);
        outputs.is_synced = true;
        Arc::new(outputs)
    }

    /// One file, which is written to standard output, as it comes.
    pub fn to_stdout() -> Arc<Self> {
        Arc::new(Self::of_kind(PathBuf::new(), Kind::Stdout, Existing::Refuse))
    }

    fn of_kind(dir: PathBuf, kind: Kind, existing: Existing) -> Self {
        Self {
            dir,
            kind,
            existing,
            is_synced: false,
            state: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: temporary::most_open(),
        }
    }

    /// Whether there is one file, [standard output](Self::to_stdout).
    pub fn is_stdout(&self) -> bool {
        matches!(self.kind, Kind::Stdout)
    }

    /// The directory that the files will be in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A directory that is there, and on the disk of the files.
    pub(crate) fn scratch_dir(&self) -> PathBuf {
        match &self.lock().staging {
            Some(staging) => staging.path().to_owned(),
            None => self.dir.clone(),
        }
    }

    /// The names of all files that were begun, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        self.lock().names.iter().cloned().collect()
    }

    /// Begins the file that will be called `name`: a plain name, or one in a folder that
    /// is made for it, as `camera/index.csv`.
    ///
    /// It is an error if there is such a file already, unless it may be replaced, and
    /// if this name was asked for before.
    pub fn create(self: &Arc<Self>, name: &str) -> Result<Staged> {
        if self.is_stdout() {
            return self.stdout(name);
        }
        let place = match &self.kind {
            Kind::Partition(partition) => self.dir.join(partition.place(name)),
            Kind::File(path) => path.clone(),
            _ => self.dir.join(name),
        };
        self.check(&place)?;
        let mut state = self.lock();
        let is_second = matches!(self.kind, Kind::File(_)) && !state.names.is_empty();
        if is_second || !state.names.insert(name.to_owned()) {
            let what = format!("two tables want the file {}", place.display());
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let (file, temporary) = self.begin(&mut state, &place)?;
        state.unfinished.insert(temporary.to_path_buf());
        drop(state);

        self.open.fetch_add(1, Ordering::Relaxed);
        let (file, temporary) = (Some(file), Some(temporary));
        let mut staged =
            Staged { outputs: self.clone(), file, temporary, place, position: 0 };
        staged.close_if_many()?;
        Ok(staged)
    }

    /// Creates the temporary file that will be at `place`.
    fn begin(&self, state: &mut State, place: &Path) -> Result<(File, TempPath)> {
        let is_first = state.names.len() == 1;
        if let Kind::Folder = self.kind
            && is_first
            && !self.dir.as_os_str().is_empty()
            && fs::symlink_metadata(&self.dir).is_err()
        {
            let parent = temporary::parent(&self.dir);
            make_dirs(&parent, &mut state.made)?;
            temporary::remove_abandoned(&parent);
            let staging = temporary::dir_in(&parent);
            let failed = |err| at_path("create a directory in", &parent, err);
            state.staging = Some(staging.map_err(failed)?);
        }
        if let Some(staging) = &state.staging {
            let name = place.strip_prefix(&self.dir).unwrap_or(place);
            let path = staging.path().join(name);
            let dir = temporary::parent(&path);
            fs::create_dir_all(&dir).map_err(|err| at_path("create", &dir, err))?;
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            let file = file.map_err(|err| at_path("create", &path, err))?;
            let temporary = TempPath::try_from_path(&path);
            return Ok((file, temporary.map_err(|err| at_path("create", &path, err))?));
        }
        let dir = match &self.kind {
            Kind::Partition(partition) => partition.begun_in(),
            _ => place.parent().unwrap_or(&self.dir),
        };
        make_dirs(dir, &mut state.made)?;
        if is_first {
            temporary::remove_abandoned(dir);
        }
        let made = temporary::file_in(if dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            dir
        });
        made.map_err(|err| at_path("create a file in", dir, err))
    }

    /// Standard output, as the file called `name`, and as no other.
    fn stdout(self: &Arc<Self>, name: &str) -> Result<Staged> {
        let mut state = self.lock();
        if !state.names.is_empty() {
            let what = "two tables, and one standard output";
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        state.names.insert(name.to_owned());
        let file = Some(stdout_file()?);
        let place = PathBuf::from("standard output");
        Ok(Staged { outputs: self.clone(), file, temporary: None, place, position: 0 })
    }

    /// Writes the file called `name`.
    pub fn write(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<()> {
        let mut staged = self.create(name)?;
        staged.write_all(bytes)?;
        staged.finish()
    }

    /// Writes the file called `name`, which gets its name after all others. A reader who
    /// finds this file finds the others too.
    pub fn write_last(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<()> {
        self.lock().last = Some(self.dir.join(name));
        self.write(name, bytes)
    }

    /// Where the files will be that are written to the end so far.
    pub fn places(&self) -> Vec<PathBuf> {
        self.lock().done.iter().map(|(_, place)| place.clone()).collect()
    }

    /// Gives all files their names, and says which, in alphabetical order.
    ///
    /// It is an error if some file was begun and not finished. If a file cannot be
    /// given its name, those that replaced nothing are taken back.
    pub fn commit(&self) -> Result<Vec<PathBuf>> {
        let mut state = self.lock();
        if !state.unfinished.is_empty() {
            let count = state.unfinished.len();
            let what = format!("{count} files were not written to the end");
            return Err(Error::new(ErrorKind::Io, what));
        }
        let mut done = std::mem::take(&mut state.done);
        done.sort_by(|a, b| a.1.cmp(&b.1));
        let staging = state.staging.take();
        if let Some(staging) = &staging
            && fs::rename(staging.path(), &self.dir).is_ok()
        {
            state.made.clear();
            let parent = temporary::parent(&self.dir);
            let places = done.into_iter().map(|(temporary, place)| {
                let _ = temporary.keep(); // it has moved, and nothing is to be removed
                place
            });
            let places = places.collect();
            self.sync_dirs([parent].into())?;
            return Ok(places);
        }
        // Somebody else made the directory meanwhile, or it was there.
        for (_, place) in &done {
            self.check(place)?;
        }
        let mut dirs = BTreeSet::new();
        let mut placed: Vec<PathBuf> = Vec::new();
        let is_last = |place: &PathBuf| Some(place) == state.last.as_ref();
        let (last, others): (Vec<_>, Vec<_>) =
            done.into_iter().partition(|(_, place)| is_last(place));
        for (temporary, place) in others.into_iter().chain(last) {
            let dir = temporary::parent(&place);
            if staging.is_some() || matches!(self.kind, Kind::Partition(_)) {
                fs::create_dir_all(&dir).map_err(|err| at_path("create", &dir, err))?;
            }
            dirs.insert(dir);
            temporary::copy_mode(&place, &temporary)
                .map_err(|err| at_path("create", &place, err))?;
            let renamed = match self.existing {
                Existing::Refuse => temporary.persist_noclobber(&place),
                Existing::Replace => temporary.persist(&place),
            };
            if let Err(err) = renamed {
                if self.existing == Existing::Refuse {
                    placed.iter().for_each(|path| drop(fs::remove_file(path)));
                }
                return Err(at_path("create", &place, err.error));
            }
            placed.push(place);
        }
        state.made.clear();
        self.sync_dirs(dirs)?;
        placed.sort();
        Ok(placed)
    }

    /// Waits until the names in `dirs` are on the disk, if that is wanted.
    fn sync_dirs(&self, dirs: BTreeSet<PathBuf>) -> Result<()> {
        let mut dirs = dirs.iter().filter(|_| self.is_synced);
        dirs.try_for_each(|dir| {
            temporary::sync_dir(dir).map_err(|err| at_path("write", dir, err))
        })
    }

    /// Removes everything that has no name yet, for a program that is about to end.
    /// Until the guard is dropped, no file can be begun, finished or named.
    pub fn abandon(&self) -> Abandoned<'_> {
        let mut state = self.lock();
        state.done.clear();
        state.unfinished.iter().for_each(|path| drop(fs::remove_file(path)));
        state.staging = None; // which removes the directory
        state.remove_dirs();
        Abandoned { _state: state }
    }

    /// Whether a file may be put at `place`.
    fn check(&self, place: &Path) -> Result<()> {
        let Ok(there) = fs::symlink_metadata(place) else { return Ok(()) };
        if let Some(kind) = no_file(there.file_type()) {
            let what =
                format!("{} is {kind}: no file takes its place", place.display());
            return Err(Error::new(ErrorKind::Io, what));
        }
        if self.existing == Existing::Refuse {
            let what = format!("{} exists already", place.display());
            return Err(Error::new(ErrorKind::AlreadyExists, what));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.done.clear(); // which removes the files
        state.staging = None;
        state.remove_dirs();
    }
}

impl State {
    /// Removes the directories that were made.
    fn remove_dirs(&mut self) {
        for dir in self.made.drain(..).rev() {
            if fs::remove_dir(dir).is_err() {
                break; // someone else's file is in it
            }
        }
    }
}

/// What is there, if no file may take its place: all but files and links to something.
fn no_file(kind: fs::FileType) -> Option<&'static str> {
    match (kind.is_file() || kind.is_symlink(), kind.is_dir()) {
        (true, _) => None,
        (_, true) => Some("a directory"),
        (_, false) => Some("a device, a pipe or a socket"),
    }
}

/// Makes `dir` and the directories above it, and adds those that were not there to
/// `made`.
fn make_dirs(dir: &Path, made: &mut Vec<PathBuf>) -> Result<()> {
    let missing: Vec<&Path> = dir
        .ancestors()
        .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
        .collect();
    for dir in missing.into_iter().rev() {
        match fs::create_dir(dir) {
            Ok(()) => made.push(dir.to_owned()),
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
            Err(err) => return Err(at_path("create", dir, err)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
