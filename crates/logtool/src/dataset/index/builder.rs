//! The collection of the entries of a catalog.

use crate::{
    dataset::{
        entry::LogEntry,
        index::{
            entry_spool::EntrySpool,
            previous_catalog::{PreviousCatalog, PreviousLog},
        },
        inputs::InputLog,
        report::LogOutcome,
    },
    error::Result,
};

/// A log of the catalog.
pub(super) enum IndexedLog<'p> {
    /// The log has not changed since the previous catalog.
    Unchanged(&'p PreviousLog),
    New(Box<LogEntry>),
}

/// Collects the entries of a catalog.
pub(super) struct CatalogBuilder<'p> {
    previous: &'p PreviousCatalog,
    entries: EntrySpool<'p>,
    /// The first error of writing an entry.
    spooled: Result<()>,
}

/// The error of a log that cannot be found, and whose entry was made with other options.
const HIDDEN: &str = "the log cannot be found now: this is its state at an earlier run";

impl<'p> CatalogBuilder<'p> {
    /// Creates a builder without entries.
    pub(super) fn new(previous: &'p PreviousCatalog) -> Self {
        Self { previous, entries: EntrySpool::new(previous), spooled: Ok(()) }
    }

    /// Keeps the entry of a log that cannot be found now.
    pub(super) fn keep_hidden(&mut self, log: &'p PreviousLog) {
        // A log with an error is opened again when it is found.
        let error = self.previous.is_outdated.then(|| HIDDEN.to_owned());
        self.entries.keep(log, &log.name, error);
    }

    /// Adds the result of the log `log`, which is called `name`.
    pub(super) fn add(
        &mut self,
        log: &InputLog,
        name: &str,
        result: Result<IndexedLog<'p>>,
    ) -> LogOutcome {
        match result {
            Ok(IndexedLog::Unchanged(known)) => {
                self.entries.keep(known, name, None);
                LogOutcome::Unchanged { damage: self.previous.damage(known) }
            }
            Ok(IndexedLog::New(entry)) => {
                self.push(&entry);
                LogOutcome::Indexed { damage: entry.damage }
            }
            Err(err) => {
                let error = Some(err.to_string());
                match self.previous.logs.get(&log.source) {
                    Some(known) => self.entries.keep(known, name, error),
                    None => self.push(&LogEntry { error, ..LogEntry::new(log, name) }),
                }
                LogOutcome::Failed(err)
            }
        }
    }

    fn push(&mut self, entry: &LogEntry) {
        if self.spooled.is_ok() {
            self.spooled = self.entries.push(entry);
        }
    }

    /// Returns the entries.
    pub(super) fn finish(self) -> Result<EntrySpool<'p>> {
        self.spooled.map(|()| self.entries)
    }
}
