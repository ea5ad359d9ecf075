//! What is to be in a catalog, until all of it is known.

use std::{
    collections::BTreeMap,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    ops::Range,
};

use arrow_array::RecordBatch;
use logtool::{Result, error::Context as _};
use tempfile::SpooledTempFile;

use crate::commands::batch::{
    catalog,
    entry::Entry,
    index::previous::{Old, OldLog},
};

/// What is longer lies in a file.
const LONG: usize = 4 << 20;

/// What is said of logs, by their names: of those that were looked into it lies in a nameless
/// file where it is long, so that thousands of them take no memory.
pub(super) struct Spool<'o> {
    old: &'o Old,
    file: SpooledTempFile,
    end: u64,
    logs: BTreeMap<String, Said<'o>>,
}

enum Said<'o> {
    /// What the old catalog says, and why the log cannot be read now.
    Before(&'o OldLog, Option<String>),
    /// An entry, which lies there in the file.
    Now(Range<u64>),
}

impl<'o> Spool<'o> {
    /// Nothing yet, but for what of `old` is taken over.
    pub(super) fn new(old: &'o Old) -> Self {
        let file = SpooledTempFile::new(LONG);
        Self { old, file, end: 0, logs: BTreeMap::new() }
    }

    /// Takes over what is known of `log`, which cannot be read now for that `error`.
    pub(super) fn keep(&mut self, log: &'o OldLog, name: &str, error: Option<String>) {
        self.logs.insert(name.to_owned(), Said::Before(log, error));
    }

    /// Adds what is now known of a log.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<()> {
        let text = serde_json::to_vec(entry)?;
        self.file.write_all(&text).with_context(of_spool)?;
        let at = self.end..self.end + text.len() as u64;
        self.end = at.end;
        self.logs.insert(entry.log.clone(), Said::Now(at));
        Ok(())
    }

    /// The rows of all logs, in the order of their names.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = Result<RecordBatch>> {
        let Self { old, file, logs, .. } = self;
        logs.values().map(|said| match said {
            Said::Before(log, None) => old.rows(log),
            Said::Before(log, Some(error)) => {
                catalog::with_error(&old.rows(log)?, error)
            }
            Said::Now(at) => catalog::rows(&entry(file, at)?),
        })
    }
}

/// The entry that lies there in `file`.
fn entry(file: &mut SpooledTempFile, at: &Range<u64>) -> Result<Entry> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(at.start)).with_context(of_spool)?;
    let read = file.take(at.end - at.start).read_to_end(&mut text);
    read.with_context(of_spool)?;
    Ok(serde_json::from_slice(&text)?)
}

/// What could not be written or read.
fn of_spool() -> String {
    format!("a temporary file in {} (TMPDIR)", std::env::temp_dir().display())
}
