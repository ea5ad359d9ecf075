//! The interface to the folder of a dataset, which is on this machine or in an object store.

use std::{path::Path, sync::Arc};

use logtool_sinks::{ExistingFiles, Outputs};
use parking_lot::MutexGuard;

use crate::{
    dataset::{
        storage::journal::{Journal, JournalLine},
        tables::RowSchema,
    },
    error::Result,
    jobs::output::guarded_outputs::GuardedOutputs,
};

/// The folder of a dataset. Names of files are relative to it, with slashes.
pub(super) trait Backend: Send + Sync {
    /// Returns the name to show.
    fn name(&self) -> &Path;

    /// Returns the local folder in which complete files get their names.
    fn dir(&self) -> &Path;

    /// Returns the local folder in which files are written.
    fn staging_folder(&self) -> &Path;

    /// Returns `outputs`, guarded so that an interrupted program removes them.
    fn guard(&self, outputs: Arc<Outputs>) -> GuardedOutputs;

    /// Adds `files`, which have their names in [`dir`](Self::dir), to the dataset. A file that
    /// exists is replaced or kept; neither is an error.
    fn publish(&self, files: &[&str], existing: ExistingFiles) -> Result<()>;

    /// Returns whether the dataset has the file `name`.
    fn contains(&self, name: &str) -> bool;

    /// Removes those of `files` that exist.
    fn remove(&self, files: &[&str]) -> Result<()>;

    /// Returns the names of the files that are in no folder of a table.
    fn top_level_files(&self) -> Result<Vec<String>>;

    /// Returns the journal.
    fn journal(&self) -> MutexGuard<'_, Journal>;

    /// Appends `line` to the journal. It is stored permanently when this returns.
    fn append(&self, line: &JournalLine<'_>) -> Result<()>;

    /// Returns the tables for rows of `schemas`, in their order. Changes of tables are in the
    /// journal when this returns, so that other runs respect them.
    fn assign_tables(&self, schemas: &[RowSchema]) -> Result<Vec<String>>;

    /// Removes the tables of `topics`, which have no files, from the journal.
    fn forget_topics(&self, topics: &[String]) -> Result<()>;

    /// Returns an error if nothing more can be written.
    fn check_writable(&self) -> Result<()>;
}
