//! A data set in a folder of this machine, which one run has to itself, or the runs that
//! share the work.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use logtool::{
    Error, Result, Session,
    error::Context as _,
    output::guarded::{self, Guarded},
};
use logtool_sinks::{Existing, Outputs};

use crate::commands::batch::{
    journal::{Journal, Line},
    markers::{self, STATE},
    shard::Shard,
    storage::Place,
    tables::Shape,
};

const JOURNAL: &str = "journal.jsonl";

/// See the module.
pub(super) struct Here {
    dir: PathBuf,
    /// Where files are begun.
    staging: PathBuf,
    journal: Mutex<Journal>,
    session: Session,
    /// Whether nobody else may be writing tables.
    is_alone: bool,
    /// Nobody else writes while these are held; they are free when the program ends,
    /// however it does.
    _locks: Vec<File>,
}

impl Here {
    /// The data set in the folder `dir`, of which this run does the part `shard`.
    pub(super) fn open(
        dir: &Path,
        shard: Option<Shard>,
        session: &Session,
    ) -> Result<Self> {
        let state = dir.join(STATE);
        check_ours(dir, &state)?;
        fs::create_dir_all(&state).with_context(|| state.display().to_string())?;
        let locks = lock(&state, shard)?;
        let staging = state.join(match shard {
            None => "unfinished".to_owned(),
            Some(shard) => format!("unfinished-{shard}"),
        });
        // What a killed run has left.
        for left in fs::read_dir(&state)?.flatten() {
            let is_own = match shard {
                None => left.file_name().as_encoded_bytes().starts_with(b"unfinished"),
                Some(_) => left.path() == staging,
            };
            if is_own {
                fs::remove_dir_all(left.path())
                    .with_context(|| left.path().display().to_string())?;
            }
        }
        fs::create_dir(&staging).with_context(|| staging.display().to_string())?;
        let journal = Mutex::new(Journal::open(&state.join(JOURNAL))?);
        let (dir, is_alone) = (dir.to_owned(), shard.is_none());
        let session = session.clone();
        Ok(Self { dir, staging, journal, session, is_alone, _locks: locks })
    }
}

impl Place for Here {
    fn shown(&self) -> &Path {
        &self.dir
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn staging(&self) -> &Path {
        &self.staging
    }

    fn guard(&self, outputs: Arc<Outputs>) -> Guarded {
        guarded::guard(outputs, &self.session)
    }

    fn put(&self, _: &[&str], _: Existing) -> Result<()> {
        Ok(()) // where they have their names
    }

    fn has(&self, name: &str) -> bool {
        self.dir.join(name).is_file()
    }

    fn remove(&self, files: &[&str]) -> Result<()> {
        remove(&self.dir, files)
    }

    fn whole(&self) -> Result<Vec<String>> {
        let files = fs::read_dir(&self.dir)?.flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        Ok(names.filter(|name| self.has(name)).collect())
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, line: &Line<'_>) -> Result<()> {
        self.journal().note(line)
    }

    fn tables(&self, shapes: &[Shape]) -> Result<Vec<String>> {
        self.journal().place(shapes)
    }

    fn forget(&self, topics: &[String]) -> Result<()> {
        topics.iter().try_for_each(|topic| self.note(&Line::forgotten(topic)))
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // Not if something is left in it.
        let _ = fs::remove_dir(&self.staging);
        if self.is_alone {
            // Folders of tables that have no files any more, also since killed runs.
            let all = fs::read_dir(&self.dir).into_iter().flatten().flatten();
            all.for_each(|table| drop(fs::remove_dir(table.path())));
        }
    }
}

/// Removes `files` in `dir`, and the folders that are empty then.
pub(super) fn remove(dir: &Path, files: &[&str]) -> Result<()> {
    for file in files {
        let path = dir.join(file);
        match fs::remove_file(&path) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => {
                return Err(err).with_context(|| path.display().to_string());
            }
            _ => {}
        }
        // Only folders of its own partition, `log=x` and `log=x/instance=0`: others may be
        // making theirs in the table's folder.
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != dir);
        let folders: Vec<&Path> = folders.collect();
        let is_table = folders.len() > 1;
        for folder in folders.iter().take(folders.len() - usize::from(is_table)) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Refuses a folder of somebody else's files.
fn check_ours(dir: &Path, state: &Path) -> Result<()> {
    if state.is_dir() || !dir.exists() {
        return Ok(());
    }
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    match names.find(|name| markers::is_foreign(name)) {
        None => Ok(()),
        Some(name) => Err(markers::foreign(dir, &name)),
    }
}

/// Locks what this run needs: all, or its part, of which the others may go on.
fn lock(state: &Path, shard: Option<Shard>) -> Result<Vec<File>> {
    let open = |name: &str| -> Result<File> {
        let path = state.join(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        file.with_context(|| path.display().to_string())
    };
    let refused = |err: TryLockError, who: &str| match err {
        TryLockError::WouldBlock => {
            let dataset = state.parent().unwrap_or(state).display();
            let what = format!("{who} is writing the data set {dataset}");
            let hint = "wait for it to end, or write to another folder";
            Error::failed(what).with_hint(hint)
        }
        TryLockError::Error(err) => {
            Error::from(err).context("the data set cannot be locked")
        }
    };
    let all = open("lock")?;
    let Some(shard) = shard else {
        all.try_lock().map_err(|err| refused(err, "another run"))?;
        return Ok(vec![all]);
    };
    all.try_lock_shared().map_err(|err| refused(err, "a run without shards"))?;
    let own = open(&format!("lock-{shard}"))?;
    own.try_lock().map_err(|err| refused(err, "another run of this shard"))?;
    Ok(vec![all, own])
}
