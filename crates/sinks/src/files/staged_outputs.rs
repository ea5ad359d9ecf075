//! Output files that appear all together and complete, or not at all.

mod file;
mod sync;
mod temporary;

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use logtool_core::{Error, ErrorKind, Result, TextEscaper, special_file_kind};
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

impl ExistingFiles {
    /// Checks that a file may be written at `destination`. A link may be replaced, unless it leads
    /// to a device, a pipe or a socket, such as `/dev/stdout`.
    ///
    /// # Errors
    /// `AlreadyExists` if there is a file that must not be replaced; `Io` if there is a folder, a
    /// device, a pipe or a socket.
    pub fn check(self, destination: &Path) -> Result<()> {
        let Ok(existing) = fs::symlink_metadata(destination) else { return Ok(()) };
        let file_type = match fs::metadata(destination) {
            Ok(link_target) => link_target.file_type(),
            Err(_) => existing.file_type(),
        };
        if let Some(kind) = irreplaceable_kind(file_type) {
            let message = format!(
                "{} is {kind}: an output is a new file, which appears when it is complete",
                destination.display()
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
        if self == Self::Refuse {
            let message = format!("{} exists already", destination.display());
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        Ok(())
    }
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
    open_files: AtomicUsize,
    max_open_files: usize,
}

/// Where outputs are written to.
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
    /// The names of all outputs that were created.
    names: BTreeSet<String>,
    /// The temporary directory that will become the new directory.
    staging_dir: Option<TempDir>,
    /// The finished files and their final paths.
    finished: Vec<(TempPath, PathBuf)>,
    /// The final path of the file that is renamed after all others.
    last_destination: Option<PathBuf>,
    /// The temporary paths of the files that were created and are not finished.
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

    /// Creates one output, which is written directly to standard output. A terminal must only get
    /// text, which is escaped there.
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
            open_files: AtomicUsize::new(0),
            max_open_files: temporary::max_open_files(),
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
        match &self.state.lock().staging_dir {
            Some(staging_dir) => staging_dir.path().to_owned(),
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
    /// `AlreadyExists` if the file exists and must not be replaced; `Unsupported` if the name was
    /// used before, or a single file was started before; `Io` if the file cannot be created, or
    /// if its path is e.g. that of a folder.
    pub fn create(self: &Arc<Self>, name: &str) -> Result<StagedFile> {
        if self.is_stdout() {
            return self.create_stdout(name);
        }
        let destination = match &self.kind {
            OutputKind::Partition(partition) => self.dir.join(partition.path(name)),
            OutputKind::File(path) => path.clone(),
            _ => self.dir.join(name),
        };
        self.existing.check(&destination)?;
        let mut state = self.state.lock();
        let is_second_file =
            matches!(self.kind, OutputKind::File(_)) && !state.names.is_empty();
        if is_second_file || !state.names.insert(name.to_owned()) {
            // The message does not contain the folder of the outputs: catalogs of datasets store
            // it, and the catalogs of equal datasets must be equal.
            let relative_path = destination.strip_prefix(&self.dir);
            let relative_path = relative_path.unwrap_or(&destination).display();
            let message = format!("two tables have the same file name {relative_path}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let (file, temporary) = self.create_temporary(&mut state, &destination)?;
        state.unfinished.insert(temporary.to_path_buf());
        drop(state);

        self.open_files.fetch_add(1, Ordering::Relaxed);
        let mut staged_file = StagedFile {
            outputs: self.clone(),
            file: Some(file),
            temporary: Some(temporary),
            destination,
            position: 0,
            escaper: None,
        };
        staged_file.close_if_too_many_open()?;
        Ok(staged_file)
    }

    /// Creates the temporary file that will be renamed to `destination`.
    fn create_temporary(
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
            let staging_dir = temporary::create_dir_in(&parent)
                // The error names the output: a user does not know the temporary folder.
                .map_err(|err| at_path("create", &self.dir, err))?;
            state.staging_dir = Some(staging_dir);
        }
        if let Some(staging_dir) = &state.staging_dir {
            let relative_path =
                destination.strip_prefix(&self.dir).unwrap_or(destination);
            let path = staging_dir.path().join(relative_path);
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
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        create_dirs(dir, &mut state.created_dirs)?;
        if is_first {
            temporary::remove_abandoned(dir);
        }
        temporary::create_file_in(dir)
            .map_err(|err| at_path("create", destination, err))
    }

    /// Opens standard output, which can be used only once.
    fn create_stdout(self: &Arc<Self>, name: &str) -> Result<StagedFile> {
        let mut state = self.state.lock();
        if !state.names.is_empty() {
            let message = "cannot write two tables to standard output";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        state.names.insert(name.to_owned());
        let file = stdout_file()?;
        let escaper = file.is_terminal().then(TextEscaper::default);
        Ok(StagedFile {
            outputs: self.clone(),
            file: Some(file),
            temporary: None,
            destination: PathBuf::from("standard output"),
            position: 0,
            escaper,
        })
    }

    /// Writes `bytes` as the file `name`.
    pub fn write(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.create(name)?;
        file.write_all(bytes)?;
        file.finish()
    }

    /// Writes `bytes` as the file `name`, which is renamed after all others: a reader that
    /// finds this file finds the others, too.
    pub fn write_last(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<()> {
        self.state.lock().last_destination = Some(self.dir.join(name));
        self.write(name, bytes)
    }

    /// Returns the final paths of the files that are finished so far.
    pub fn paths(&self) -> Vec<PathBuf> {
        let state = self.state.lock();
        state.finished.iter().map(|(_, destination)| destination.clone()).collect()
    }

    /// Gives all files their final names, and returns their paths in alphabetical order.
    ///
    /// # Errors
    /// A file is not finished, or cannot be synced or renamed. If a file cannot be renamed, the
    /// files that were renamed before are removed, unless they may have replaced other files.
    pub fn commit(&self) -> Result<Vec<PathBuf>> {
        let mut state = self.state.lock();
        if !state.unfinished.is_empty() {
            let count = state.unfinished.len();
            let message = format!("{count} files are incomplete");
            return Err(Error::new(ErrorKind::Io, message));
        }
        if self.is_synced {
            let paths: Vec<(&Path, &Path)> = state
                .finished
                .iter()
                .map(|(temporary, destination)| (&**temporary, destination.as_path()))
                .collect();
            sync::sync_files(&paths)?;
        }
        let mut files = std::mem::take(&mut state.finished);
        files.sort_by(|a, b| a.1.cmp(&b.1));
        let staging_dir = state.staging_dir.take();
        if let Some(staging_dir) = &staging_dir
            && fs::rename(staging_dir.path(), &self.dir).is_ok()
        {
            state.created_dirs.clear();
            let mut destinations = Vec::with_capacity(files.len());
            for (temporary, destination) in files {
                let _ = temporary.keep(); // it was renamed, so there is nothing to remove
                destinations.push(destination);
            }
            self.sync_dirs([temporary::parent(&self.dir)].into())?;
            return Ok(destinations);
        }
        // The directory existed before, or another process has created it in the meantime.
        for (_, destination) in &files {
            self.existing.check(destination)?;
        }
        // A stable sort: all other files keep their order.
        files.sort_by_key(|(_, destination)| {
            Some(destination) == state.last_destination.as_ref()
        });
        let mut dirs = BTreeSet::new();
        let mut committed: Vec<PathBuf> = Vec::new();
        for (temporary, destination) in files {
            let dir = temporary::parent(&destination);
            if staging_dir.is_some() || matches!(self.kind, OutputKind::Partition(_)) {
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
                    committed.iter().for_each(|path| drop(fs::remove_file(path)));
                }
                return Err(at_path("create", &destination, err.error));
            }
            committed.push(destination);
        }
        state.created_dirs.clear();
        self.sync_dirs(dirs)?;
        committed.sort();
        Ok(committed)
    }

    /// If files are synced, waits until the entries of the directories `dirs` are on the disk.
    fn sync_dirs(&self, dirs: BTreeSet<PathBuf>) -> Result<()> {
        if !self.is_synced {
            return Ok(());
        }
        let dirs: Vec<PathBuf> = dirs.into_iter().collect();
        sync::sync_dirs(&dirs)
    }

    /// Removes everything that has no final name yet, for a program that is about to end. As
    /// long as the guard exists, calls that create, finish or rename files block.
    pub fn abandon(&self) -> AbandonGuard<'_> {
        let mut state = self.state.lock();
        state.finished.clear();
        state.unfinished.iter().for_each(|path| drop(fs::remove_file(path)));
        state.staging_dir = None; // removes the directory
        state.remove_dirs();
        AbandonGuard { _state: state }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.finished.clear(); // removes the files
        state.staging_dir = None;
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

/// Fails if `dir` exists and is not a directory.
fn check_directory(dir: &Path) -> Result<()> {
    let Ok(existing) = fs::metadata(dir) else { return Ok(()) };
    if existing.is_dir() {
        return Ok(());
    }
    let kind = irreplaceable_kind(existing.file_type()).unwrap_or("a file");
    let message = format!("{} is {kind}, and not a folder", dir.display());
    Err(Error::new(ErrorKind::Io, message))
}

/// Returns the kind of a file that an output must not replace. Only regular files and symbolic links
/// can be replaced.
fn irreplaceable_kind(file_type: fs::FileType) -> Option<&'static str> {
    if file_type.is_dir() {
        Some("a folder")
    } else {
        special_file_kind(file_type).map(|_| "a device, a pipe or a socket")
    }
}

/// Creates `dir` and its parents, and adds the new directories to `created_dirs`.
fn create_dirs(dir: &Path, created_dirs: &mut Vec<PathBuf>) -> Result<()> {
    let missing_dirs: Vec<&Path> = dir
        .ancestors()
        .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
        .collect();
    for dir in missing_dirs.into_iter().rev() {
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
