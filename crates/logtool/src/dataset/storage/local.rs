//! A dataset in a local folder, which one run uses alone, or several runs with a shard each.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool_core::open_own_file;
use logtool_sinks::{ExistingFiles, Outputs};
use parking_lot::{Mutex, MutexGuard};

use crate::{
    dataset::{
        markers::{self, STATE},
        shard::Shard,
        storage::{
            backend::Backend,
            journal::{Journal, JournalLine},
        },
        tables::RowSchema,
    },
    error::{Context as _, Error, Result},
    jobs::output::guarded_outputs::{self, GuardedOutputs},
    source::session::Session,
};

const JOURNAL: &str = "journal.jsonl";

/// A dataset in a local folder.
pub(super) struct LocalBackend {
    dir: PathBuf,
    staging: PathBuf,
    journal: Mutex<Journal>,
    session: Session,
    /// Whether this run has no shard, so that no other run uses the dataset.
    is_exclusive: bool,
    /// The locked files. The operating system unlocks them when the process ends.
    _locks: Vec<File>,
}

impl LocalBackend {
    /// Opens the dataset in the folder `dir` for a run of `shard`.
    pub(super) fn open(
        dir: &Path,
        shard: Option<Shard>,
        session: &Session,
    ) -> Result<Self> {
        let state = dir.join(STATE);
        check_is_dataset(dir, &state)?;
        let context = || cannot_write(dir);
        fs::create_dir_all(&state).with_context(context)?;
        let locks = lock(&state, shard)?;
        let staging = state.join(match shard {
            None => "unfinished".to_owned(),
            Some(shard) => format!("unfinished-{shard}"),
        });
        // Remove the files of killed runs.
        for entry in fs::read_dir(&state).with_context(context)?.flatten() {
            let is_own = match shard {
                None => entry.file_name().as_encoded_bytes().starts_with(b"unfinished"),
                Some(_) => entry.path() == staging,
            };
            if is_own {
                fs::remove_dir_all(entry.path()).with_context(context)?;
            }
        }
        fs::create_dir(&staging).with_context(context)?;
        let journal = Mutex::new(Journal::open(&state.join(JOURNAL))?);
        let (dir, is_exclusive) = (dir.to_owned(), shard.is_none());
        let session = session.clone();
        Ok(Self { dir, staging, journal, session, is_exclusive, _locks: locks })
    }
}

impl Backend for LocalBackend {
    fn name(&self) -> &Path {
        &self.dir
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn staging_folder(&self) -> &Path {
        &self.staging
    }

    fn guard(&self, outputs: Arc<Outputs>) -> GuardedOutputs {
        guarded_outputs::guard(outputs, &self.session)
    }

    fn publish(&self, _: &[&str], _: ExistingFiles) -> Result<()> {
        // The files have their names in the folder of the dataset already.
        Ok(())
    }

    fn contains(&self, name: &str) -> bool {
        self.dir.join(name).is_file()
    }

    fn remove(&self, files: &[&str]) -> Result<()> {
        remove(&self.dir, files)
    }

    fn top_level_files(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(&self.dir)?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter(|name| self.contains(name)).collect())
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock()
    }

    fn append(&self, line: &JournalLine<'_>) -> Result<()> {
        self.journal().append(line)
    }

    fn assign_tables(&self, schemas: &[RowSchema]) -> Result<Vec<String>> {
        self.journal().assign_tables(schemas)
    }

    fn forget_topics(&self, topics: &[String]) -> Result<()> {
        topics
            .iter()
            .try_for_each(|topic| self.append(&JournalLine::Forgotten { topic }))
    }

    fn check_writable(&self) -> Result<()> {
        Ok(())
    }
}

impl Drop for LocalBackend {
    fn drop(&mut self) {
        // Fails, as intended, if something is left in the folder.
        let _ = fs::remove_dir(&self.staging);
        if self.is_exclusive {
            // Remove the folders of tables without files, also those of killed runs.
            for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// Removes those of `files` in `dir` that exist, and the partitions that are empty then.
pub(super) fn remove(dir: &Path, files: &[&str]) -> Result<()> {
    for file in files {
        let path = dir.join(file);
        match fs::remove_file(&path) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => {
                return Err(err).with_context(|| path.display().to_string());
            }
            _ => {}
        }
        // The folder of the table stays, because other runs may be adding partitions to it:
        // only `log=x` and `log=x/instance=0` are removed.
        let folders: Vec<&Path> =
            path.ancestors().skip(1).take_while(|folder| *folder != dir).collect();
        let has_table = folders.len() > 1;
        for folder in folders.iter().take(folders.len() - usize::from(has_table)) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Refuses a folder with files of other programs.
fn check_is_dataset(dir: &Path, state: &Path) -> Result<()> {
    if state.is_dir() || !dir.exists() {
        return Ok(());
    }
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    match names.find(|name| markers::is_foreign(name)) {
        None => Ok(()),
        Some(name) => Err(markers::not_a_dataset(dir, &name)),
    }
}

/// Locks the whole dataset, or the shard and a share of the dataset.
fn lock(state: &Path, shard: Option<Shard>) -> Result<Vec<File>> {
    let whole = open_lock(state, "lock")?;
    let Some(shard) = shard else {
        whole.try_lock().map_err(|err| lock_error(state, err, "another run"))?;
        return Ok(vec![whole]);
    };
    let shared = whole.try_lock_shared();
    shared.map_err(|err| lock_error(state, err, "a run without shards"))?;
    let shard_lock = open_lock(state, &format!("lock-{shard}"))?;
    shard_lock
        .try_lock()
        .map_err(|err| lock_error(state, err, "another run of this shard"))?;
    Ok(vec![whole, shard_lock])
}

fn open_lock(state: &Path, name: &str) -> Result<File> {
    let path = state.join(name);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = open_own_file(&path, &mut options);
    file.with_context(|| cannot_write(state.parent().unwrap_or(state)))
}

fn cannot_write(dir: &Path) -> String {
    format!("cannot write the dataset {}", dir.display())
}

/// Returns the error that `owner` has a lock in the folder `state`.
fn lock_error(state: &Path, err: TryLockError, owner: &str) -> Error {
    match err {
        TryLockError::WouldBlock => {
            let dataset = state.parent().unwrap_or(state).display();
            let message = format!("{owner} is writing the dataset {dataset}");
            let hint = "wait until it ends, or write to another folder";
            Error::other(message).with_hint(hint)
        }
        TryLockError::Error(err) => {
            Error::from(err).context("the dataset cannot be locked")
        }
    }
}
