//! Output files that appear all together and complete, or not at all.

mod file;
mod sync;
mod temporary;

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use logtool_core::{Error, ErrorKind, Result};
use parking_lot::{Mutex, MutexGuard};
use tempfile::{TempDir, TempPath};

use crate::{
    error::at_path,
    files::{partition::Partition, staged_outputs::file::stdout_file},
};

pub use self::file::StagedFile;

/// What happens if an output file already exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingFiles {
    /// It is kept, and an error is returned.
    #[default]
    Refuse,
    /// It is replaced.
    Replace,
}

/// The files that one run writes into one directory.
///
/// Each file is written to a temporary file in the same directory. If the directory is new, all
/// files are written to a temporary directory next to it. [`commit`](Self::commit) renames all
/// files, or the new directory at once. If the value is dropped without a commit, the files are
/// removed, and so are the directories that were created for them.
#[derive(Debug)]
pub struct Outputs {
    dir: PathBuf,
    kind: OutputKind,
    existing: ExistingFiles,
    /// Whether files are synced to the disk before they get their names.
    is_synced: bool,
    state: Mutex<OutputsState>,
    /// The number of open temporary files.
    open: AtomicUsize,
    most_open: usize,
}

/// The kind of outputs.
#[derive(Debug)]
enum OutputKind {
    /// Several files, with the names that sinks choose.
    Folder,
    /// The files of one log in a data set.
    Partition(Partition),
    /// One file with this path, which replaces the name chosen by the sink.
    File(PathBuf),
    /// One file, which is standard output.
    Stdout,
}

#[derive(Debug, Default)]
struct OutputsState {
    /// The names that are used.
    names: BTreeSet<String>,
    /// The temporary directory that will become the new directory.
    staging: Option<TempDir>,
    /// The finished files and their final paths.
    done: Vec<(TempPath, PathBuf)>,
    /// The finished file that is renamed after all others.
    last: Option<PathBuf>,
    /// The files that were created and are not finished.
    unfinished: BTreeSet<PathBuf>,
    /// The directories that were created, outermost first.
    created_dirs: Vec<PathBuf>,
}

/// A guard that keeps outputs [abandoned](Outputs::abandon).
#[derive(Debug)]
#[must_use]
pub struct AbandonGuard<'o> {
    _state: MutexGuard<'o, OutputsState>,
}

impl Outputs {
    /// Creates outputs in `dir`, which is created together with the first file.
    pub fn new(dir: impl Into<PathBuf>, existing: ExistingFiles) -> Arc<Self> {
        Arc::new(Self::with_kind(dir.into(), OutputKind::Folder, existing))
    }

    /// Creates the outputs of one log in the data set `dir`: each file is in a partition of the
    /// folder of its table. Unfinished files are in one separate folder, so that leftovers of a
    /// killed program are in one place. Files are synced to the disk before they get their names.
    pub fn for_partition(
        dir: impl Into<PathBuf>,
        partition: Partition,
        existing: ExistingFiles,
    ) -> Arc<Self> {
        let kind = OutputKind::Partition(partition);
        let mut outputs = Self::with_kind(dir.into(), kind, existing);
        outputs.is_synced = true;
        Arc::new(outputs)
    }

    /// Creates one output file at `path`.
    pub fn for_file(path: impl Into<PathBuf>, existing: ExistingFiles) -> Arc<Self> {
        let path = path.into();
        let dir = temporary::parent(&path);
        Arc::new(Self::with_kind(dir, OutputKind::File(path), existing))
    }

    /// Like [`for_file`](Self::for_file), but the file is synced to the disk before it gets its
    /// name. Logs are written like this, because they may replace the only other copy.
    pub fn for_synced_file(
        path: impl Into<PathBuf>,
        existing: ExistingFiles,
    ) -> Arc<Self> {
        let path = path.into();
        let dir = temporary::parent(&path);
        let mut outputs = Self::with_kind(dir, OutputKind::File(path), existing);
        outputs.is_synced = true;
        Arc::new(outputs)
    }

    /// Creates one output, which is written directly to standard output.
    pub fn for_stdout() -> Arc<Self> {
        Arc::new(Self::with_kind(
            PathBuf::new(),
            OutputKind::Stdout,
            ExistingFiles::Refuse,
        ))
    }

    fn with_kind(dir: PathBuf, kind: OutputKind, existing: ExistingFiles) -> Self {
        Self {
            dir,
            kind,
            existing,
            is_synced: false,
            state: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: temporary::max_open_files(),
        }
    }

    /// Returns whether the output is [standard output](Self::for_stdout).
    pub fn is_stdout(&self) -> bool {
        matches!(self.kind, OutputKind::Stdout)
    }

    /// Returns the directory of the files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns an existing directory on the same disk as the files.
    pub(crate) fn scratch_dir(&self) -> PathBuf {
        match &self.state.lock().staging {
            Some(staging) => staging.path().to_owned(),
            None => self.dir.clone(),
        }
    }

    /// Returns the names of all files that were created, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        self.state.lock().names.iter().cloned().collect()
    }

    /// Starts the next output file. In a directory, `name` is its path there, e.g. `imu.csv` or
    /// `camera/index.csv`. Outputs that are a single file, or standard output, have their own
    /// path; they can be started only once.
    ///
    /// # Errors
    /// `AlreadyExists` if there is such a file and it must not be replaced; `Unsupported` if the
    /// name was used before, or a single file was started before; `Io` if the file cannot be
    /// created, or something else than a file is there.
    pub fn create(self: &Arc<Self>, name: &str) -> Result<StagedFile> {
        if self.is_stdout() {
            return self.stdout(name);
        }
        let destination = match &self.kind {
            OutputKind::Partition(partition) => self.dir.join(partition.path(name)),
            OutputKind::File(path) => path.clone(),
            _ => self.dir.join(name),
        };
        self.check(&destination)?;
        let mut state = self.state.lock();
        let is_second =
            matches!(self.kind, OutputKind::File(_)) && !state.names.is_empty();
        if is_second || !state.names.insert(name.to_owned()) {
            // Without the folder, because the catalogs of equal datasets are equal.
            let file =
                destination.strip_prefix(&self.dir).unwrap_or(&destination).display();
            let message = format!("two tables have the same file name {file}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let (file, temporary) = self.begin(&mut state, &destination)?;
        state.unfinished.insert(temporary.to_path_buf());
        drop(state);

        self.open.fetch_add(1, Ordering::Relaxed);
        let (file, temporary) = (Some(file), Some(temporary));
        let mut staged = StagedFile {
            outputs: self.clone(),
            file,
            temporary,
            destination,
            position: 0,
        };
        staged.close_if_many()?;
        Ok(staged)
    }

    /// Creates the temporary file that will be renamed to `destination`.
    fn begin(
        &self,
        state: &mut OutputsState,
        destination: &Path,
    ) -> Result<(File, TempPath)> {
        let is_first = state.names.len() == 1;
        if matches!(self.kind, OutputKind::Folder) && is_first {
            check_directory(&self.dir)?;
        }
        if let OutputKind::Folder = self.kind
            && is_first
            && !self.dir.as_os_str().is_empty()
            && fs::symlink_metadata(&self.dir).is_err()
        {
            let parent = temporary::parent(&self.dir);
            create_dirs(&parent, &mut state.created_dirs)?;
            temporary::remove_abandoned(&parent);
            let staging = temporary::dir_in(&parent);
            // The name of a temporary folder would say nothing to a user.
            let failed = |err| at_path("create", &self.dir, err);
            state.staging = Some(staging.map_err(failed)?);
        }
        if let Some(staging) = &state.staging {
            let name = destination.strip_prefix(&self.dir).unwrap_or(destination);
            let path = staging.path().join(name);
            let create = || {
                fs::create_dir_all(temporary::parent(&path))?;
                let mut options = OpenOptions::new();
                let file = options.write(true).create_new(true).open(&path)?;
                Ok((file, TempPath::try_from_path(&path)?))
            };
            return create().map_err(|err| at_path("create", destination, err));
        }
        let dir = match &self.kind {
            OutputKind::Partition(partition) => partition.staging_dir(),
            _ => destination.parent().unwrap_or(&self.dir),
        };
        create_dirs(dir, &mut state.created_dirs)?;
        if is_first {
            temporary::remove_abandoned(dir);
        }
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        temporary::file_in(dir).map_err(|err| at_path("create", destination, err))
    }

    /// Opens standard output, which can be used only once.
    fn stdout(self: &Arc<Self>, name: &str) -> Result<StagedFile> {
        let mut state = self.state.lock();
        if !state.names.is_empty() {
            let message = "cannot write two tables to standard output";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        state.names.insert(name.to_owned());
        let file = Some(stdout_file()?);
        let destination = PathBuf::from("standard output");
        Ok(StagedFile {
            outputs: self.clone(),
            file,
            temporary: None,
            destination,
            position: 0,
        })
    }

    /// Writes `bytes` as the file `name`.
    pub fn write(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<()> {
        let mut staged = self.create(name)?;
        staged.write_all(bytes)?;
        staged.finish()
    }

    /// Writes `bytes` as the file `name`, which is renamed after all others: a reader that
    /// finds this file finds the others, too.
    pub fn write_last(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<()> {
        self.state.lock().last = Some(self.dir.join(name));
        self.write(name, bytes)
    }

    /// Returns the final paths of the files that are finished so far.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state
            .lock()
            .done
            .iter()
            .map(|(_, destination)| destination.clone())
            .collect()
    }

    /// Gives all files their final names, and returns their paths in alphabetical order.
    ///
    /// # Errors
    /// A file is not finished, or cannot be synced or renamed. In the last case, files that were
    /// already renamed are removed if they did not replace another file.
    pub fn commit(&self) -> Result<Vec<PathBuf>> {
        let mut state = self.state.lock();
        if !state.unfinished.is_empty() {
            let count = state.unfinished.len();
            let message = format!("{count} files are incomplete");
            return Err(Error::new(ErrorKind::Io, message));
        }
        if self.is_synced {
            let files = state
                .done
                .iter()
                .map(|(temporary, destination)| (&**temporary, &**destination));
            sync::sync_files(&files.collect::<Vec<_>>())?;
        }
        let mut files = std::mem::take(&mut state.done);
        files.sort_by(|a, b| a.1.cmp(&b.1));
        let staging = state.staging.take();
        if let Some(staging) = &staging
            && fs::rename(staging.path(), &self.dir).is_ok()
        {
            state.created_dirs.clear();
            let parent = temporary::parent(&self.dir);
            let destinations = files.into_iter().map(|(temporary, destination)| {
                let _ = temporary.keep(); // it was renamed, so there is nothing to remove
                destination
            });
            let destinations = destinations.collect();
            self.sync_dirs([parent].into())?;
            return Ok(destinations);
        }
        // The directory existed before, or another process created it meanwhile.
        for (_, destination) in &files {
            self.check(destination)?;
        }
        let mut dirs = BTreeSet::new();
        let mut placed: Vec<PathBuf> = Vec::new();
        let is_last = |destination: &PathBuf| Some(destination) == state.last.as_ref();
        let (last, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(_, destination)| is_last(destination));
        for (temporary, destination) in others.into_iter().chain(last) {
            let dir = temporary::parent(&destination);
            if staging.is_some() || matches!(self.kind, OutputKind::Partition(_)) {
                fs::create_dir_all(&dir).map_err(|err| at_path("create", &dir, err))?;
            }
            dirs.insert(dir);
            temporary::copy_mode(&destination, &temporary)
                .map_err(|err| at_path("create", &destination, err))?;
            let renamed = match self.existing {
                ExistingFiles::Refuse => temporary.persist_noclobber(&destination),
                ExistingFiles::Replace => temporary.persist(&destination),
            };
            if let Err(err) = renamed {
                if self.existing == ExistingFiles::Refuse {
                    placed.iter().for_each(|path| drop(fs::remove_file(path)));
                }
                return Err(at_path("create", &destination, err.error));
            }
            placed.push(destination);
        }
        state.created_dirs.clear();
        self.sync_dirs(dirs)?;
        placed.sort();
        Ok(placed)
    }

    /// Waits until the entries of `dirs` are on the disk, if files are synced.
    fn sync_dirs(&self, dirs: BTreeSet<PathBuf>) -> Result<()> {
        if !self.is_synced {
            return Ok(());
        }
        sync::sync_dirs(&dirs.into_iter().collect::<Vec<_>>())
    }

    /// Removes everything that has no final name yet, for a program that is about to end. As
    /// long as the guard exists, calls that create, finish or rename files block.
    pub fn abandon(&self) -> AbandonGuard<'_> {
        let mut state = self.state.lock();
        state.done.clear();
        state.unfinished.iter().for_each(|path| drop(fs::remove_file(path)));
        state.staging = None; // removes the directory
        state.remove_dirs();
        AbandonGuard { _state: state }
    }

    /// Checks that a file may be written at `destination`.
    fn check(&self, destination: &Path) -> Result<()> {
        let Ok(existing) = fs::symlink_metadata(destination) else { return Ok(()) };
        // A link such as /dev/stdout leads to a device or a pipe.
        let target =
            fs::metadata(destination).map_or(existing.file_type(), |to| to.file_type());
        if let Some(kind) = irreplaceable_kind(target) {
            let message = format!(
                "{} is {kind}: an output is a new file, which appears when it is complete",
                destination.display()
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
        if self.existing == ExistingFiles::Refuse {
            let message = format!("{} exists already", destination.display());
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        Ok(())
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.done.clear(); // removes the files
        state.staging = None;
        state.remove_dirs();
    }
}

impl OutputsState {
    /// Removes the directories that were created.
    fn remove_dirs(&mut self) {
        for dir in self.created_dirs.drain(..).rev() {
            if fs::remove_dir(dir).is_err() {
                break; // it contains a file of another process
            }
        }
    }
}

/// Fails if `dir` exists and is no directory.
fn check_directory(dir: &Path) -> Result<()> {
    let Ok(existing) = fs::metadata(dir) else { return Ok(()) };
    if existing.is_dir() {
        return Ok(());
    }
    let kind = irreplaceable_kind(existing.file_type()).unwrap_or("a file");
    let message = format!("{} is {kind}, and not a folder", dir.display());
    Err(Error::new(ErrorKind::Io, message))
}

/// Describes files that an output must not replace: all except regular files and links to
/// something.
fn irreplaceable_kind(kind: fs::FileType) -> Option<&'static str> {
    match (kind.is_file() || kind.is_symlink(), kind.is_dir()) {
        (true, _) => None,
        (_, true) => Some("a folder"),
        (_, false) => Some("a device, a pipe or a socket"),
    }
}

/// Creates `dir` and its parents, and adds the new directories to `created_dirs`.
fn create_dirs(dir: &Path, created_dirs: &mut Vec<PathBuf>) -> Result<()> {
    let missing: Vec<&Path> = dir
        .ancestors()
        .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
        .collect();
    for dir in missing.into_iter().rev() {
        match fs::create_dir(dir) {
            Ok(()) => created_dirs.push(dir.to_owned()),
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
            Err(err) => return Err(at_path("create", dir, err)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
