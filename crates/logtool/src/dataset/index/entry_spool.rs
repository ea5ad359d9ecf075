//! A buffer for the entries of a catalog until all logs are finished.

use std::{
    collections::BTreeMap,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    ops::Range,
};

use arrow_array::RecordBatch;
use tempfile::SpooledTempFile;

use crate::{
    dataset::{
        catalog,
        entry::LogEntry,
        index::previous_catalog::{PreviousCatalog, PreviousLog},
    },
    error::{Context as _, Result},
};

/// Longer buffers are in a temporary file.
const MAX_MEMORY_BYTES: usize = 4 << 20;

/// The entries of a catalog. New ones are in a temporary file if they are long, so that
/// thousands of them need little memory.
pub(super) struct EntrySpool<'p> {
    previous: &'p PreviousCatalog,
    file: SpooledTempFile,
    end: u64,
    /// The entries by the names of their logs.
    entries: BTreeMap<String, SpooledEntry<'p>>,
}

enum SpooledEntry<'p> {
    /// The entry of the previous catalog, with the reason why the log cannot be read now.
    Previous(&'p PreviousLog, Option<String>),
    /// A new entry, which is at this range in the file.
    New(Range<u64>),
}

impl<'p> EntrySpool<'p> {
    /// Creates an empty buffer, which may refer to entries of `previous`.
    pub(super) fn new(previous: &'p PreviousCatalog) -> Self {
        let file = SpooledTempFile::new(MAX_MEMORY_BYTES);
        Self { previous, file, end: 0, entries: BTreeMap::new() }
    }

    /// Keeps the previous entry of `log`, which is now called `name`. `error` is the reason why
    /// the log cannot be read now.
    pub(super) fn keep(
        &mut self,
        log: &'p PreviousLog,
        name: &str,
        error: Option<String>,
    ) {
        self.entries.insert(name.to_owned(), SpooledEntry::Previous(log, error));
    }

    /// Adds a new entry.
    pub(super) fn push(&mut self, entry: &LogEntry) -> Result<()> {
        let line = serde_json::to_vec(entry)?;
        self.file.write_all(&line).with_context(file_context)?;
        let range = self.end..self.end + line.len() as u64;
        self.end = range.end;
        self.entries.insert(entry.log.clone(), SpooledEntry::New(range));
        Ok(())
    }

    /// Returns the rows of all logs, in the order of their names.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = Result<RecordBatch>> {
        let Self { previous, file, entries, .. } = self;
        entries.values().map(|entry| match entry {
            SpooledEntry::Previous(log, None) => previous.rows(log),
            SpooledEntry::Previous(log, Some(error)) => {
                catalog::with_error(&previous.rows(log)?, error)
            }
            SpooledEntry::New(range) => {
                catalog::rows(&read_entry(file, range)?, previous.columns)
            }
        })
    }
}

/// Reads the entry at `range` in `file`.
fn read_entry(file: &mut SpooledTempFile, range: &Range<u64>) -> Result<LogEntry> {
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(range.start)).with_context(file_context)?;
    let read = file.take(range.end - range.start).read_to_end(&mut line);
    read.with_context(file_context)?;
    Ok(serde_json::from_slice(&line)?)
}

/// Returns the context of errors of the temporary file.
fn file_context() -> String {
    format!("a temporary file in {} (TMPDIR)", tempfile::env::temp_dir().display())
}
