//! A data set on disk: its folder, which one run has to itself, and what is noted there.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context as _, Result, bail};
use logtool_sinks::{Outputs, Partition};

use crate::{
    commands::batch::{entry::Entry, journal::Journal, shard::Shard},
    complaint::Complaint,
    interrupt::{self, Guarded},
};

/// The folder in a data set that is ours.
const STATE: &str = "_logtool";
const JOURNAL: &str = "journal.jsonl";
/// What is in a folder that is none of a data set, and yet nobody's.
const HARMLESS: [&str; 2] = [".DS_Store", "lost+found"];

/// See the module.
pub(super) struct Dataset {
    dir: PathBuf,
    /// Where files are begun.
    staging: PathBuf,
    journal: Mutex<Journal>,
    /// Nobody else writes while these are held; they are free when the program ends,
    /// however it does.
    _locks: Vec<File>,
}

impl Dataset {
    /// The data set in the folder `dir`, of which this run does the part `shard`.
    pub(super) fn open(dir: &Path, shard: Option<Shard>) -> Result<Self> {
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
        Ok(Self { dir: dir.to_owned(), staging, journal, _locks: locks })
    }

    /// The folder.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is noted.
    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of the log called `log`, each in its table or, if it is one file, in the
    /// folder itself.
    pub(super) fn outputs(&self, log: &str, is_one_file: bool) -> Guarded {
        let partition = Partition::new(log, &self.staging);
        let partition = if is_one_file { partition.whole() } else { partition };
        interrupt::guard(Outputs::of_partition(&self.dir, partition))
    }

    /// Gives the files `outputs` of the log of `entry` their names, and notes that it is done;
    /// what it had before, and has no more, goes. If that fails, none of its files stays.
    pub(super) fn commit(
        &self,
        outputs: &Arc<Outputs>,
        entry: &mut Entry,
    ) -> Result<()> {
        let places = outputs.places();
        let names = places.iter().map(|place| self.name(place));
        let new: BTreeSet<String> = names.collect::<Result<_>>()?;
        let mut all = new.clone();
        {
            let mut journal = self.journal();
            if let Some(old) = journal.entry(&entry.log)? {
                all.extend(old.files);
            }
            let files: Vec<String> = all.iter().cloned().collect();
            journal.begin(&entry.log, &entry.source, &files)?;
        }
        let mut settle = || -> Result<()> {
            outputs.commit()?;
            self.remove(all.difference(&new))?;
            entry.files = new.iter().cloned().collect();
            self.journal().finish(entry)
        };
        let settled = settle();
        if settled.is_err() {
            // Some have their names. Where that cannot be noted, the next run clears it.
            let all: Vec<String> = all.into_iter().collect();
            let _ = self.clear(&entry.log, &all);
        }
        settled
    }

    /// Whether all `files` are there.
    pub(super) fn has(&self, files: &[String]) -> bool {
        files.iter().all(|file| self.dir.join(file).is_file())
    }

    /// Removes what the log called `log` has, or was about to have.
    pub(super) fn clear(&self, log: &str, files: &[String]) -> Result<()> {
        self.remove(files)?;
        self.journal().forget(log)
    }

    /// Removes `files`, and the folders that are empty then.
    fn remove<'f>(&self, files: impl IntoIterator<Item = &'f String>) -> Result<()> {
        for file in files {
            let path = self.dir.join(file);
            match fs::remove_file(&path) {
                Err(err) if err.kind() != io::ErrorKind::NotFound => {
                    return Err(err).with_context(|| path.display().to_string());
                }
                _ => {}
            }
            // Only of its own partition: others may be making theirs in the table's folder.
            let partition = path.parent().filter(|dir| *dir != self.dir);
            partition.map(fs::remove_dir);
        }
        Ok(())
    }

    /// What the file at `place` is called in the data set, with slashes.
    fn name(&self, place: &Path) -> Result<String> {
        let Some(name) = place.strip_prefix(&self.dir).ok().and_then(Path::to_str)
        else {
            bail!("{} is not in {}", place.display(), self.dir.display());
        };
        Ok(name.replace(std::path::MAIN_SEPARATOR, "/"))
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        // Not if something is left in it.
        let _ = fs::remove_dir(&self.staging);
    }
}

/// Refuses a folder of somebody else's files.
fn check_ours(dir: &Path, state: &Path) -> Result<()> {
    if state.is_dir() || !dir.exists() {
        return Ok(());
    }
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let is_foreign = |entry: &fs::DirEntry| {
        !HARMLESS.iter().any(|known| entry.file_name() == *known)
    };
    match entries.flatten().find(is_foreign) {
        None => Ok(()),
        Some(entry) => {
            let what = format!(
                "{} is no data set that `logtool batch` has made: it has {}",
                dir.display(),
                entry.file_name().display(),
            );
            let hint = "name a folder that is empty, or not there yet, with -o";
            Err(Complaint::misuse(what).hint(hint).into())
        }
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
            Complaint::new(what).hint(hint).into()
        }
        TryLockError::Error(err) => {
            anyhow::Error::from(err).context("the data set cannot be locked")
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
