//! A dataset in a folder of an object store.
//!
//! A store cannot rename objects, append to them, or lock them. So the files of a log are
//! written to a local temporary folder, and uploaded when all of them are complete; each object
//! appears at once. The journal consists of many objects in the folder `_logtool` of the
//! dataset:
//!
//! | object | content |
//! |---|---|
//! | `tables/<number>.jsonl` | changes of tables: written only if no object has the number, so that all runs decide one after the other |
//! | `journal/<run>-<shard>-<id>-<number>.jsonl` | changes of logs, in the order of these names |
//! | `lock`, `lock-<shard>` | the owner of the lock |
//!
//! At the start, all of them are downloaded to a local file, which is a [`Journal`] like any
//! other from then on.

mod io_pool;
mod journal_segments;
mod listing;
mod lock;
mod lock_owner;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use logtool_remote::WriteCondition;
use logtool_sinks::{ExistingFiles, Outputs};
use parking_lot::{Mutex, MutexGuard};
use tempfile::TempDir;

use crate::{
    dataset::{
        markers::STATE,
        shard::Shard,
        storage::{
            backend::Backend,
            journal::{Journal, JournalLine},
            local,
            remote::{
                journal_segments::JournalSegments,
                listing::{DatasetObjects, StoredObjects},
                lock::Lock,
                lock_owner::LockOwner,
            },
        },
        tables::{RowSchema, TableSet},
    },
    error::{Context as _, Error, Result},
    jobs::output::guarded_outputs::{self, GuardedOutputs},
    source::{
        remote::{self, UploadFolder, upload},
        session::Session,
    },
};

/// A dataset in a folder of an object store.
pub(super) struct RemoteBackend {
    name: PathBuf,
    folder: Arc<UploadFolder>,
    /// The local folder in which complete files get their names.
    dir: PathBuf,
    staging: PathBuf,
    objects: Mutex<StoredObjects>,
    /// The local copy of the journal.
    journal: Mutex<Journal>,
    segments: JournalSegments,
    /// The number of the next change of tables.
    next_change: Mutex<u64>,
    /// `None` if the store does not support locks.
    lock: Option<Lock>,
    session: Session,
    /// Removes the temporary folder if the program is interrupted.
    _guarded: GuardedOutputs,
    temporary: TempDir,
}

impl RemoteBackend {
    /// Opens the dataset in the folder `url` for a run of `shard`. `host_name` names this
    /// machine in the lock, if the system does not.
    pub(super) fn open(
        url: &str,
        shard: Option<Shard>,
        host_name: Option<&str>,
        session: &Session,
    ) -> Result<Self> {
        let folder = Arc::new(remote::folder(url, session)?);
        let name = PathBuf::from(remote::without_secrets(url));
        listing::check_is_dataset(&folder, &name)?;
        let temporary = upload::temporary_folder()?;
        let dir = temporary.path().join("whole");
        let staging = temporary.path().join("unfinished");
        for dir in [&dir, &staging] {
            fs::create_dir(dir).with_context(|| dir.display().to_string())?;
        }
        let outputs = Outputs::new(&staging, ExistingFiles::Refuse);
        let guarded =
            guarded_outputs::guard_with_staging(outputs, temporary.path(), session);
        let lock =
            Lock::acquire(&folder, &name, shard, LockOwner::new(host_name), session)?;
        let DatasetObjects { objects, tables, journal } =
            DatasetObjects::read(&folder)?;
        let path = temporary.path().join("journal.jsonl");
        listing::download_journal(&folder, &tables, &journal, &path)?;
        let next_change = listing::next_number(&tables);
        let run = listing::next_number(&journal);
        let segments = JournalSegments::new(folder.clone(), run, shard);
        Ok(Self {
            name,
            folder,
            dir,
            staging,
            objects: Mutex::new(objects),
            journal: Mutex::new(Journal::open(&path)?),
            segments,
            next_change: Mutex::new(next_change),
            lock,
            session: session.clone(),
            _guarded: guarded,
            temporary,
        })
    }

    fn objects(&self) -> MutexGuard<'_, StoredObjects> {
        self.objects.lock()
    }

    /// Returns the result of `decide`, and stores the lines of the journal that it returns. If
    /// another run stores a change at the same time, `decide` is called again with that change.
    fn change_tables<T>(
        &self,
        decide: impl Fn(&TableSet) -> Result<(T, Vec<u8>)>,
    ) -> Result<T> {
        self.check_writable()?;
        let mut number = self.next_change.lock();
        loop {
            let (result, lines) = decide(&self.journal().tables)?;
            if lines.is_empty() {
                return Ok(result);
            }
            let lines = Bytes::from(lines);
            let name = format!("{STATE}/tables/{:08}.jsonl", *number);
            let condition = if self.lock.is_some() {
                WriteCondition::IfAbsent
            } else {
                WriteCondition::Always
            };
            let stored = self.folder.put(&name, &lines, &condition);
            if self.segments.record_failure(stored)?.is_some() {
                self.journal().append_encoded(&lines)?;
                *number += 1;
                return Ok(result);
            }
            let object = self.folder.get(&name)?;
            let (lines, _) =
                object.ok_or_else(|| Error::other(format!("{name} is gone")))?;
            self.journal().append_encoded(&lines)?;
            *number += 1;
        }
    }

    fn upload(&self, name: &str, existing: ExistingFiles) -> Result<()> {
        let path = self.dir.join(name);
        let mut file = File::open(&path).with_context(|| path.display().to_string())?;
        let result = self.folder.send(name, &mut file, existing);
        if result.is_err()
            && existing == ExistingFiles::Refuse
            && self.folder.contains(name)?
        {
            return Ok(());
        }
        result.with_context(|| self.folder.name(name))?;
        self.objects().add(name);
        Ok(())
    }

    fn check_lock(&self) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), Lock::check)
    }
}

impl Backend for RemoteBackend {
    fn name(&self) -> &Path {
        &self.name
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn staging_folder(&self) -> &Path {
        &self.staging
    }

    fn guard(&self, outputs: Arc<Outputs>) -> GuardedOutputs {
        guarded_outputs::guard_with_staging(
            outputs,
            self.temporary.path(),
            &self.session,
        )
    }

    fn publish(&self, files: &[&str], existing: ExistingFiles) -> Result<()> {
        self.check_writable()?;
        let uploaded = io_pool::for_each(files, |name| self.upload(name, existing));
        // The local copies are not needed any more.
        local::remove(&self.dir, files)?;
        uploaded
    }

    fn contains(&self, name: &str) -> bool {
        self.objects().contains(name)
    }

    fn remove(&self, files: &[&str]) -> Result<()> {
        // Another run that has the lock may have stored these names.
        self.check_lock()?;
        // Unknown objects are removed too: an upload may have succeeded without an answer.
        io_pool::for_each(files, |name| {
            self.folder.remove(name)?;
            self.objects().remove(name);
            Ok(())
        })
    }

    fn top_level_files(&self) -> Result<Vec<String>> {
        Ok(self.objects().top_level_names())
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock()
    }

    fn append(&self, line: &JournalLine<'_>) -> Result<()> {
        self.check_writable()?;
        self.segments.append(&line.encode()?)?;
        self.journal().append(line)
    }

    fn assign_tables(&self, schemas: &[RowSchema]) -> Result<Vec<String>> {
        self.change_tables(|tables| {
            let (names, changes) = tables.assign(schemas);
            let lines = changes.iter().map(|table| JournalLine::Table(table).encode());
            Ok((names, lines.collect::<Result<Vec<_>>>()?.concat()))
        })
    }

    fn forget_topics(&self, topics: &[String]) -> Result<()> {
        let lines =
            topics.iter().map(|topic| JournalLine::Forgotten { topic }.encode());
        let lines = lines.collect::<Result<Vec<_>>>()?.concat();
        self.change_tables(|_| Ok(((), lines.clone())))
    }

    fn check_writable(&self) -> Result<()> {
        self.segments.check()?;
        self.check_lock()
    }
}
