//! The journal of a dataset, from which another run continues.
//!
//! A file of JSON lines that only grows. A line states a change of a table, the files of a log
//! that are about to get their names, or that a log is finished. An incomplete line of a killed
//! process is ignored. Several runs with a shard each may share a journal: each locks it to
//! append, and first reads what the others have appended.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    ops::Range,
    path::Path,
};

use logtool_core::open_own_file;
use serde::{Deserialize, Serialize};

use crate::{
    dataset::{
        entry::LogEntry,
        tables::{RowSchema, TableDeclaration, TableSet},
    },
    error::{Context as _, Result},
};

/// The context of errors.
const CONTEXT: &str = "the journal of the dataset";

/// An open journal.
#[derive(Debug)]
pub(in crate::dataset) struct Journal {
    file: File,
    /// The length of the part that was read.
    read: u64,
    logs: BTreeMap<String, LogState>,
    pub(super) tables: TableSet,
}

/// The state of a log, without its entry, which stays in the file.
#[derive(Clone, Debug, Default)]
pub(in crate::dataset) struct LogState {
    pub(in crate::dataset) source: String,
    pub(in crate::dataset) source_bytes: u64,
    /// When the file was changed, if a later change has another time.
    pub(in crate::dataset) modified_ns: Option<i64>,
    pub(in crate::dataset) options: String,
    /// The position of the entry in the file; `None` if the log is not finished.
    entry: Option<Range<u64>>,
    /// The files that were about to get their names.
    pub(in crate::dataset) pending_files: Vec<String>,
}

/// A line to write.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalLine<'l> {
    /// A new table, or new columns of a table.
    Table(&'l TableDeclaration),
    /// The files of a log are about to get their names.
    Begun { log: &'l str, source: &'l str, files: &'l [String] },
    /// The tables of a topic have no files any more.
    Forgotten { topic: &'l str },
    /// A log is finished.
    Done(&'l LogEntry),
    /// The dataset has no files of a log any more.
    Gone { log: &'l str },
}

/// A line that was read.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ParsedLine {
    Table(TableDeclaration),
    Begun { log: String, source: String, files: Vec<String> },
    Forgotten { topic: String },
    Done(Box<LogEntry>),
    Gone { log: String },
}

/// The files in the line of a finished log.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FinishedFiles {
    Done { files: Vec<String> },
}

impl JournalLine<'_> {
    /// Returns the line with its line end.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

impl Journal {
    /// Opens the journal at `path`, which is created if it does not exist.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = open_own_file(path, options.read(true).append(true).create(true));
        let file = file.with_context(|| path.display().to_string())?;
        let mut journal =
            Self { file, read: 0, logs: BTreeMap::new(), tables: TableSet::default() };
        journal.read_new_lines().with_context(|| path.display().to_string())?;
        Ok(journal)
    }

    /// Returns the states of all logs with their names.
    pub(in crate::dataset) fn logs(
        &self,
    ) -> impl Iterator<Item = (&String, &LogState)> {
        self.logs.iter()
    }

    /// Returns the state of the log `name`, if it is finished.
    pub(in crate::dataset) fn finished_log(&self, name: &str) -> Option<&LogState> {
        self.logs.get(name).filter(|log| log.entry.is_some())
    }

    /// Returns the entry of the log `name`, if it is finished.
    pub(in crate::dataset) fn entry(&self, name: &str) -> Result<Option<LogEntry>> {
        let entry = self.logs.get(name).and_then(|log| log.entry.clone());
        let Some(range) = entry else { return Ok(None) };
        let line = self.line(range)?;
        match serde_json::from_str(&line).context(CONTEXT)? {
            ParsedLine::Done(entry) => Ok(Some(*entry)),
            _ => Ok(None),
        }
    }

    /// Returns the tables that have files.
    fn used_tables(&self) -> Result<BTreeSet<String>> {
        let mut used = BTreeSet::new();
        for range in self.logs.values().filter_map(|log| log.entry.clone()) {
            let line = self.line(range)?;
            let FinishedFiles::Done { files } =
                serde_json::from_str(&line).context(CONTEXT)?;
            let tables = files.iter().filter_map(|file| file.split_once('/'));
            used.extend(tables.map(|(table, _)| table.to_owned()));
        }
        Ok(used)
    }

    fn line(&self, range: Range<u64>) -> Result<String> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(range.start))?;
        let mut line = String::new();
        file.take(range.end - range.start).read_to_string(&mut line)?;
        Ok(line)
    }

    /// Returns the topics whose tables have no files.
    pub(super) fn unused_topics(&self) -> Result<Vec<String>> {
        Ok(self.tables.unused_topics(&self.used_tables()?))
    }

    /// Returns a sentence about each table that is separate from the first one of its topic.
    pub(in crate::dataset) fn separate_tables(&self) -> Result<Vec<String>> {
        Ok(self.tables.separate_tables(&self.used_tables()?))
    }

    /// Returns the tables for rows of `schemas`, in their order, and appends the changes of
    /// tables.
    pub(super) fn assign_tables(
        &mut self,
        schemas: &[RowSchema],
    ) -> Result<Vec<String>> {
        self.with_lock(|journal| {
            let (names, changes) = journal.tables.assign(schemas);
            for table in &changes {
                journal.write(&JournalLine::Table(table))?;
            }
            Ok(names)
        })
    }

    /// Appends `line`.
    pub(super) fn append(&mut self, line: &JournalLine<'_>) -> Result<()> {
        self.with_lock(|journal| journal.write(line))
    }

    /// Appends `lines` of another journal.
    #[cfg(feature = "remote")]
    pub(super) fn append_encoded(&mut self, lines: &[u8]) -> Result<()> {
        self.with_lock(|journal| Ok(journal.file.write_all(lines)?))
    }

    /// Runs `work` while no other process can append. All lines before are known to it.
    fn with_lock<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.file.lock().context(CONTEXT)?;
        let result = self.read_new_lines().and_then(|()| work(self));
        // Own lines are read like those of other runs.
        let result = result.and_then(|value| self.read_new_lines().map(|()| value));
        self.file.unlock().context(CONTEXT)?;
        result.context(CONTEXT)
    }

    /// Writes `line` to the end of the file.
    fn write(&mut self, line: &JournalLine<'_>) -> Result<()> {
        let mut line = line.encode()?;
        let end = self.file.seek(SeekFrom::End(0))?;
        if end > self.read {
            // A process was killed while it was writing: its line ends here.
            let mut last = [0];
            self.file.seek(SeekFrom::End(-1))?;
            self.file.read_exact(&mut last)?;
            if last != *b"\n" {
                line.insert(0, b'\n');
            }
        }
        Ok(self.file.write_all(&line)?)
    }

    /// Reads the complete lines that were appended since the last call.
    fn read_new_lines(&mut self) -> Result<()> {
        let file = self.file.try_clone()?;
        if file.metadata()?.len() <= self.read {
            return Ok(());
        }
        let mut lines = BufReader::with_capacity(1 << 16, file);
        lines.seek(SeekFrom::Start(self.read))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                return Ok(());
            }
            let range = self.read..self.read + line.len() as u64;
            self.read = range.end;
            if let Ok(line) = serde_json::from_slice(&line) {
                self.apply(line, range);
            }
        }
    }

    /// Applies `line`, which is at `range` in the file.
    fn apply(&mut self, line: ParsedLine, range: Range<u64>) {
        match line {
            ParsedLine::Table(table) => self.tables.add(table),
            ParsedLine::Forgotten { topic } => self.tables.remove_topic(&topic),
            ParsedLine::Gone { log } => drop(self.logs.remove(&log)),
            ParsedLine::Begun { log, source, mut files } => {
                let state = self.logs.entry(log).or_default();
                state.entry = None;
                state.source = source;
                state.pending_files.append(&mut files);
            }
            ParsedLine::Done(entry) => {
                let state = LogState {
                    source: entry.source,
                    source_bytes: entry.source_bytes,
                    modified_ns: entry.modified_ns.filter(|_| entry.is_settled),
                    options: entry.options,
                    entry: Some(range),
                    pending_files: Vec::new(),
                };
                self.logs.insert(entry.log, state);
            }
        }
    }
}

#[cfg(test)]
mod tests;
