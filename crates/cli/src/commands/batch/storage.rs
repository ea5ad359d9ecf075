//! The place of a data set: a folder of this machine, or one of an object store.

use std::{
    path::Path,
    sync::{Arc, MutexGuard},
};

use logtool::{Result, output::guarded::Guarded};
use logtool_sinks::{Existing, Outputs};

use crate::commands::batch::{
    journal::{Journal, Line},
    tables::Shape,
};

/// See the module. Files are called as they are in the data set, with slashes.
pub(super) trait Place: Send + Sync {
    /// What people call it.
    fn shown(&self) -> &Path;

    /// The folder of this machine in which files get their names.
    fn dir(&self) -> &Path;

    /// The folder of this machine in which they are begun.
    fn staging(&self) -> &Path;

    /// `outputs`, which are gone when the program is interrupted.
    fn guard(&self, outputs: Arc<Outputs>) -> Guarded;

    /// Puts `files`, which have their names in [`dir`](Self::dir), into the data set. What is
    /// called so already is replaced, or stays, and neither is an error.
    fn put(&self, files: &[&str], existing: Existing) -> Result<()>;

    /// Whether there is a file called `name`.
    fn has(&self, name: &str) -> bool;

    /// Removes `files`, as far as they are there.
    fn remove(&self, files: &[&str]) -> Result<()>;

    /// The files that are in no table.
    fn whole(&self) -> Result<Vec<String>>;

    /// What is noted.
    fn journal(&self) -> MutexGuard<'_, Journal>;

    /// Notes `line` for good.
    fn note(&self, line: &Line<'_>) -> Result<()>;

    /// The tables for rows like `shapes`, in their order. What is new of them is noted, and
    /// who else decides about tables knows of it.
    fn tables(&self, shapes: &[Shape]) -> Result<Vec<String>>;

    /// Notes that the types of tables of these topics decide nothing any more.
    fn forget(&self, topics: &[String]) -> Result<()>;

    /// Says why nothing more can be written, if so.
    fn check(&self) -> Result<()>;
}
