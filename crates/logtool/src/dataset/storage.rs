//! The storage of a dataset: its files and its journal.

mod backend;
mod journal;
mod local;
#[cfg(feature = "remote")]
mod remote;

use std::{
    collections::BTreeSet,
    path::{MAIN_SEPARATOR, Path},
    sync::Arc,
};

use logtool_sinks::{ExistingFiles, Outputs, Partition};
use parking_lot::MutexGuard;

use crate::{
    dataset::{
        entry::LogEntry,
        shard::Shard,
        storage::{
            backend::Backend,
            journal::{Journal, JournalLine},
            local::LocalBackend,
        },
        tables::RowSchema,
    },
    error::{Error, Result},
    jobs::output::guarded_outputs::GuardedOutputs,
    source::{input::url, session::Session},
};

#[cfg(feature = "remote")]
use crate::dataset::storage::remote::RemoteBackend;

/// Where the files of a log are in the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// Each file is in the folder of its table.
    Tables,
    /// The files belong together, and are in a folder of the log.
    LogFolder,
    /// One file is in the folder of the dataset itself.
    OneFile,
}

/// An open dataset.
pub(super) struct Dataset {
    backend: Box<dyn Backend>,
}

impl Dataset {
    /// Opens the dataset in the folder `dir`, which may be a URL, for a run of `shard`.
    /// `host_name` names this machine in locks, if the system does not.
    pub(super) fn open(
        dir: &Path,
        shard: Option<Shard>,
        host_name: Option<&str>,
        session: &Session,
    ) -> Result<Self> {
        let backend: Box<dyn Backend> = match url::from_path(dir) {
            None => Box::new(LocalBackend::open(dir, shard, session)?),
            Some(url) => remote_backend(url, shard, host_name, session)?,
        };
        Ok(Self { backend })
    }

    /// Returns the name to show.
    pub(super) fn name(&self) -> &Path {
        self.backend.name()
    }

    /// Returns the journal.
    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.backend.journal()
    }

    /// Returns an error if nothing more can be written.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.backend.check_writable()
    }

    /// Returns outputs for the files of the log `log`, which replace existing ones.
    pub(super) fn outputs(&self, log: &str, kind: OutputKind) -> GuardedOutputs {
        let partition = Partition::new(log, self.backend.staging_folder());
        let partition = match kind {
            OutputKind::Tables => partition,
            OutputKind::LogFolder => partition.in_log_folder(),
            OutputKind::OneFile => partition.without_partition(),
        };
        self.guarded_outputs(partition, ExistingFiles::Replace)
    }

    fn guarded_outputs(
        &self,
        partition: Partition,
        existing: ExistingFiles,
    ) -> GuardedOutputs {
        let outputs = Outputs::for_partition(self.backend.dir(), partition, existing);
        self.backend.guard(outputs)
    }

    /// Returns the tables for rows of `schemas`, in their order.
    pub(super) fn assign_tables(&self, schemas: &[RowSchema]) -> Result<Vec<String>> {
        self.backend.assign_tables(schemas)
    }

    /// Forgets the columns of topics that have no files, so that they cause no conflicts. No
    /// other run may use the dataset at the same time.
    pub(super) fn forget_unused_topics(&self) -> Result<()> {
        let topics = self.journal().unused_topics()?;
        self.backend.forget_topics(&topics)
    }

    /// Publishes the files in `outputs` of the log of `entry`, records in the journal that it
    /// is finished, and removes older files of the log. After an error, none of its files
    /// remains.
    pub(super) fn commit(
        &self,
        outputs: &Arc<Outputs>,
        entry: &mut LogEntry,
    ) -> Result<()> {
        let new = self.file_names(outputs)?;
        let mut all_files = new.clone();
        let known_entry = self.journal().entry(&entry.log)?;
        all_files
            .extend(known_entry.into_iter().flat_map(|known_entry| known_entry.files));
        let files: Vec<String> = all_files.iter().cloned().collect();
        let (log, source) = (&*entry.log, &*entry.source);
        self.backend.append(&JournalLine::Begun { log, source, files: &files })?;
        let mut publish = || -> Result<()> {
            self.publish(outputs, ExistingFiles::Replace)?;
            self.remove(all_files.difference(&new))?;
            entry.files = new.iter().cloned().collect();
            self.finish(entry)
        };
        let published = publish();
        if published.is_err() {
            // Some of the files may have their names. If this fails too, the next run removes
            // them.
            let _ = self.remove_log(&entry.log, &files);
        }
        published
    }

    /// Adds the top-level file `name`, which `write` writes. A file that exists is replaced or
    /// kept, also if another run adds it at the same time.
    pub(super) fn add_file(
        &self,
        name: &str,
        existing: ExistingFiles,
        write: impl FnOnce(&Arc<Outputs>) -> Result<()>,
    ) -> Result<()> {
        let is_kept =
            || existing == ExistingFiles::Refuse && self.backend.contains(name);
        if is_kept() {
            return Ok(());
        }
        let partition =
            Partition::new("", self.backend.staging_folder()).without_partition();
        let outputs = self.guarded_outputs(partition, existing);
        match write(&outputs).and_then(|()| self.publish(&outputs, existing)) {
            Err(_) if is_kept() => Ok(()),
            written => written,
        }
    }

    /// Gives the files in `outputs` their names in the dataset.
    fn publish(&self, outputs: &Arc<Outputs>, existing: ExistingFiles) -> Result<()> {
        let names = self.file_names(outputs)?;
        outputs.commit()?;
        let files: Vec<&str> = names.iter().map(String::as_str).collect();
        self.backend.publish(&files, existing)
    }

    /// Records in the journal that the log of `entry` is finished.
    pub(super) fn finish(&self, entry: &LogEntry) -> Result<()> {
        self.backend.append(&JournalLine::Done(entry))
    }

    /// Returns whether the dataset has all of `files`.
    pub(super) fn has_files(&self, files: &[String]) -> bool {
        files.iter().all(|file| self.backend.contains(file))
    }

    /// Returns the names of the files that are in no folder of a table.
    pub(super) fn top_level_files(&self) -> Result<Vec<String>> {
        self.backend.top_level_files()
    }

    /// Removes the log `log` and its `files`.
    pub(super) fn remove_log(&self, log: &str, files: &[String]) -> Result<()> {
        self.remove(files)?;
        self.backend.append(&JournalLine::Gone { log })
    }

    /// Removes those of `files` that exist.
    pub(super) fn remove<'f>(
        &self,
        files: impl IntoIterator<Item = &'f String>,
    ) -> Result<()> {
        let files: Vec<&str> = files.into_iter().map(String::as_str).collect();
        self.backend.remove(&files)
    }

    /// Returns the names of the files in `outputs` in the dataset, with slashes.
    fn file_names(&self, outputs: &Arc<Outputs>) -> Result<BTreeSet<String>> {
        let dir = self.backend.dir();
        let name = |path: &Path| -> Result<String> {
            let Some(name) = path.strip_prefix(dir).ok().and_then(Path::to_str) else {
                let (path, dir) = (path.display(), dir.display());
                return Err(Error::other(format!("{path} is not in {dir}")));
            };
            Ok(name.replace(MAIN_SEPARATOR, "/"))
        };
        outputs.paths().iter().map(|path| name(path)).collect()
    }
}

#[cfg(feature = "remote")]
fn remote_backend(
    url: &str,
    shard: Option<Shard>,
    host_name: Option<&str>,
    session: &Session,
) -> Result<Box<dyn Backend>> {
    Ok(Box::new(RemoteBackend::open(url, shard, host_name, session)?))
}

/// Returns the error that the feature `remote` is missing.
#[cfg(not(feature = "remote"))]
fn remote_backend(
    url: &str,
    _: Option<Shard>,
    _: Option<&str>,
    session: &Session,
) -> Result<Box<dyn Backend>> {
    match crate::source::remote::folder(url, session)? {}
}
