//! Files that appear all together, whole, or not at all.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use logtool_core::{Error, ErrorKind, Output, Result};
use tempfile::TempPath;

use crate::{error::at_path, partition::Partition};

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
/// Each is written to a temporary file beside its place. [`commit`](Self::commit) gives
/// all of them their names; dropping without that removes them, and the directories
/// that were made for them.
#[derive(Debug)]
pub struct Outputs {
    dir: PathBuf,
    /// The parts of a data set that they are, if they are.
    partition: Option<Partition>,
    existing: Existing,
    /// Whether all that is written goes to standard output.
    to_stdout: bool,
    state: Mutex<State>,
    /// How many temporary files are held open.
    open: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// The names that are taken.
    names: BTreeSet<String>,
    /// The files that are written to their end.
    done: Vec<(TempPath, PathBuf)>,
    /// The files that are begun and not done.
    unfinished: BTreeSet<PathBuf>,
    /// The directories that were made, outermost first.
    made: Vec<PathBuf>,
}

/// A file that is being written. It is lost unless it is [finished](Self::finish).
#[derive(Debug)]
pub struct Staged {
    outputs: Arc<Outputs>,
    file: Option<File>,
    /// Nothing once it is finished.
    temporary: Option<TempPath>,
    place: PathBuf,
    /// Where the next byte goes.
    position: u64,
}

/// Says that [outputs were abandoned](Outputs::abandon), and keeps it so.
#[derive(Debug)]
#[must_use]
pub struct Abandoned<'o> {
    _state: MutexGuard<'o, State>,
}

/// How many files may be held open: systems allow 256 and more, and others want some.
/// Above that, files are opened anew for each write.
const MAX_OPEN: usize = 128;

impl Outputs {
    /// Files in `dir`, which is made when the first of them begins.
    pub fn new(dir: impl Into<PathBuf>, existing: Existing) -> Arc<Self> {
        Arc::new(Self::made(dir.into(), None, existing, false))
    }

    /// The files of one log in the data set `dir`: each is in a partition of the folder
    /// of its table. They are begun in a folder beside, so that what a killed program
    /// leaves is all in one place.
    pub fn of_partition(
        dir: impl Into<PathBuf>,
        partition: Partition,
        existing: Existing,
    ) -> Arc<Self> {
        Arc::new(Self::made(dir.into(), Some(partition), existing, false))
    }

    /// One file, which is written to standard output, as it comes.
    pub fn to_stdout() -> Arc<Self> {
        Arc::new(Self::made(PathBuf::new(), None, Existing::Refuse, true))
    }

    fn made(
        dir: PathBuf,
        partition: Option<Partition>,
        existing: Existing,
        to_stdout: bool,
    ) -> Self {
        let (state, open) = (Mutex::default(), AtomicUsize::new(0));
        Self { dir, partition, existing, to_stdout, state, open }
    }

    /// Whether there is one file, [standard output](Self::to_stdout).
    pub fn is_stdout(&self) -> bool {
        self.to_stdout
    }

    /// The directory that the files are in.
    pub fn dir(&self) -> &Path {
        &self.dir
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
        if self.to_stdout {
            return self.stdout(name);
        }
        let place = match &self.partition {
            Some(partition) => self.dir.join(partition.place(name)),
            None => self.dir.join(name),
        };
        self.check(&place)?;
        let mut state = self.lock();
        if !state.names.insert(name.to_owned()) {
            let what = format!("two tables want the file {}", place.display());
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let dir = match &self.partition {
            Some(partition) => partition.begun_in(),
            None => place.parent().unwrap_or(&self.dir),
        };
        make_dirs(dir, &mut state.made)?;
        let made = temporary_in(dir);
        let (file, temporary) =
            made.map_err(|err| at_path("create a file in", dir, err))?;
        state.unfinished.insert(temporary.to_path_buf());
        drop(state);

        self.open.fetch_add(1, Ordering::Relaxed);
        let (file, temporary) = (Some(file), Some(temporary));
        Ok(Staged { outputs: self.clone(), file, temporary, place, position: 0 })
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
        for (_, place) in &done {
            self.check(place)?;
        }
        let mut placed: Vec<PathBuf> = Vec::new();
        for (temporary, place) in done {
            if let (Some(_), Some(dir)) = (&self.partition, place.parent()) {
                fs::create_dir_all(dir).map_err(|err| at_path("create", dir, err))?;
            }
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
        Ok(placed)
    }

    /// Removes everything that has no name yet, for a program that is about to end.
    /// Until the guard is dropped, no file can be begun, finished or named.
    pub fn abandon(&self) -> Abandoned<'_> {
        let mut state = self.lock();
        state.done.clear();
        state.unfinished.iter().for_each(|path| drop(fs::remove_file(path)));
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
            let place = place.display();
            let what = format!("{place} exists already (--force replaces it)");
            return Err(Error::new(ErrorKind::Io, what));
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

impl Staged {
    /// Declares the file whole. It gets its name with all the others.
    pub fn finish(mut self) -> Result<()> {
        if let Some(temporary) = self.temporary.take() {
            let place = std::mem::take(&mut self.place);
            let mut state = self.outputs.lock();
            state.unfinished.remove(&*temporary);
            state.done.push((temporary, place));
        }
        Ok(())
    }

    fn write_pieces(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write_all(bytes)?;
        self.position += bytes.len() as u64;
        if self.outputs.open.load(Ordering::Relaxed) > MAX_OPEN {
            self.close();
        }
        Ok(())
    }

    /// The file, opened again where it was closed.
    fn file(&mut self) -> io::Result<&mut File> {
        let gone = || io::Error::other("the file is finished");
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let path = self.temporary.as_ref().ok_or_else(gone)?;
                let mut file = OpenOptions::new().write(true).open(path)?;
                file.seek(SeekFrom::Start(self.position))?;
                self.outputs.open.fetch_add(1, Ordering::Relaxed);
                Ok(none.insert(file))
            }
        }
    }

    fn close(&mut self) {
        if !self.outputs.to_stdout && self.file.take().is_some() {
            self.outputs.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_pieces(bytes).map_err(|err| {
            let what = format!("cannot write {}: {err}", self.place.display());
            io::Error::new(err.kind(), what)
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Staged {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.file()?.seek(to)?;
        Ok(self.position)
    }
}

impl Output for Staged {}

impl Drop for Staged {
    fn drop(&mut self) {
        self.close();
    }
}

/// Standard output as a file, which does not wait for lines.
fn stdout_file() -> io::Result<File> {
    #[cfg(unix)]
    let owned = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let owned =
        std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    owned.map(File::from)
}

/// What is there, if no file may take its place: all but files and links to something.
fn no_file(kind: fs::FileType) -> Option<&'static str> {
    match (kind.is_file() || kind.is_symlink(), kind.is_dir()) {
        (true, _) => None,
        (_, true) => Some("a directory"),
        (_, false) => Some("a device, a pipe or a socket"),
    }
}

/// An empty file in `dir` that only its owner may guess the name of, with the rights
/// that new files get.
fn temporary_in(dir: &Path) -> io::Result<(File, TempPath)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".logtool-").suffix(".part");
    #[cfg(unix)]
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(rights);
    Ok(builder.tempfile_in(dir)?.into_parts())
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
