//! What has been done of a data set, so that another run goes on where one ended.
//!
//! A file of JSON, a line each, to which lines are only added: tables and their columns;
//! that the files of a log are about to get their names; that a log is done. A line that a
//! killed program has not written to its end counts for nothing. Several runs, each with
//! a part of the work, may share one: each locks it to write, and reads what others wrote
//! before that.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    ops::Range,
    path::Path,
};

use logtool::{Result, error::Context as _};
use serde::{Deserialize, Serialize};

use crate::commands::batch::{
    entry::Entry,
    tables::{Shape, Table, Tables},
};

/// See the module.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// So much of it was read.
    read: u64,
    logs: BTreeMap<String, Known>,
    pub(super) tables: Tables,
}

/// What of a log is always at hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) source: String,
    pub(super) source_bytes: u64,
    /// When the file was changed, if that tells it from a later one.
    pub(super) modified_ns: Option<i64>,
    pub(super) options: String,
    /// Where its entry is; nothing while it is not done.
    at: Option<Range<u64>>,
    /// The files that were about to get their names when it was last heard of.
    pub(super) begun: Vec<String>,
}

/// A line, as it is written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line<'l> {
    /// A table, or what is new of one.
    Table(&'l Table),
    /// `files` of the log called `log`, which is `source`, are about to get their names.
    Begun { log: &'l str, source: &'l str, files: &'l [String] },
    /// The tables of a topic have no files any more, and what is known of them counts for
    /// nothing.
    Forgotten { topic: &'l str },
    /// A log is done.
    Done(&'l Entry),
    /// There is nothing of the log called `log` any more.
    Gone { log: &'l str },
}

/// A line, as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Table(Table),
    Begun { log: String, source: String, files: Vec<String> },
    Forgotten { topic: String },
    Done(Box<Entry>),
    Gone { log: String },
}

/// What of a log that is done says which files it has.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Filed {
    Done { files: Vec<String> },
}

impl<'l> Line<'l> {
    /// That the tables of a topic have no files any more.
    pub(super) fn forgotten(topic: &'l str) -> Self {
        Self::Forgotten { topic }
    }

    /// The line, with its end.
    pub(super) fn text(&self) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

impl Journal {
    /// The journal at `path`, which is made if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = file.with_context(|| path.display().to_string())?;
        let mut journal =
            Self { file, read: 0, logs: BTreeMap::new(), tables: Tables::default() };
        journal.catch_up().with_context(|| path.display().to_string())?;
        Ok(journal)
    }

    /// What is known of the logs, by their names.
    pub(super) fn logs(&self) -> impl Iterator<Item = (&String, &Known)> {
        self.logs.iter()
    }

    /// What is known of the log called `name`, if it is done.
    pub(super) fn done(&self, name: &str) -> Option<&Known> {
        self.logs.get(name).filter(|known| known.at.is_some())
    }

    /// All that is known of the log called `name`, if it is done.
    pub(super) fn entry(&self, name: &str) -> Result<Option<Entry>> {
        let Some(at) = self.logs.get(name).and_then(|known| known.at.clone()) else {
            return Ok(None);
        };
        let text = self.text(at)?;
        match serde_json::from_str(&text).context("the journal of the data set")? {
            Told::Done(entry) => Ok(Some(*entry)),
            _ => Ok(None),
        }
    }

    /// The tables in which logs have files.
    fn live(&self) -> Result<BTreeSet<String>> {
        let mut live = BTreeSet::new();
        for at in self.logs.values().filter_map(|known| known.at.clone()) {
            let text = self.text(at)?;
            let filed =
                serde_json::from_str(&text).context("the journal of the data set")?;
            let Filed::Done { files } = filed;
            let tables = files.iter().filter_map(|file| file.split_once('/'));
            live.extend(tables.map(|(table, _)| table.to_owned()));
        }
        Ok(live)
    }

    fn text(&self, at: Range<u64>) -> Result<String> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at.start))?;
        let mut text = String::new();
        file.take(at.end - at.start).read_to_string(&mut text)?;
        Ok(text)
    }

    /// The topics of which no table has files.
    pub(super) fn idle(&self) -> Result<Vec<String>> {
        Ok(self.tables.idle(&self.live()?))
    }

    /// Which tables are there because types differ, and how.
    pub(super) fn odd(&self) -> Result<Vec<String>> {
        Ok(self.tables.odd(&self.live()?))
    }

    /// The tables for rows like `shapes`, in their order; what is new of them is noted.
    pub(super) fn place(&mut self, shapes: &[Shape]) -> Result<Vec<String>> {
        self.locked(|journal| {
            let (names, new) = journal.tables.places(shapes);
            new.iter().try_for_each(|table| journal.append(&Line::Table(table)))?;
            Ok(names)
        })
    }

    /// Notes `line`.
    pub(super) fn note(&mut self, line: &Line<'_>) -> Result<()> {
        self.locked(|journal| journal.append(line))
    }

    /// Adds `lines` that were noted somewhere else.
    #[cfg(feature = "remote")]
    pub(super) fn add(&mut self, lines: &[u8]) -> Result<()> {
        self.locked(|journal| Ok(journal.file.write_all(lines)?))
    }

    /// Lets nobody else write during `work`, which knows what others have written.
    fn locked<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        const WHAT: &str = "the journal of the data set";
        self.file.lock().context(WHAT)?;
        let done = self.catch_up().and_then(|()| work(self));
        // What was added is read like what others add.
        let done = done.and_then(|done| self.catch_up().map(|()| done));
        self.file.unlock().context(WHAT)?;
        done.context(WHAT)
    }

    fn append(&mut self, line: &Line<'_>) -> Result<()> {
        let mut text = line.text()?;
        let end = self.file.seek(SeekFrom::End(0))?;
        if end > self.read {
            // Somebody was killed while writing: that line ends here.
            let mut last = [0];
            self.file.seek(SeekFrom::End(-1))?;
            self.file.read_exact(&mut last)?;
            if last != *b"\n" {
                text.insert(0, b'\n');
            }
        }
        Ok(self.file.write_all(&text)?)
    }

    /// Reads what was added.
    fn catch_up(&mut self) -> Result<()> {
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
            let at = self.read..self.read + line.len() as u64;
            self.read = at.end;
            if let Ok(told) = serde_json::from_slice(&line) {
                self.learn(told, at);
            }
        }
    }

    fn learn(&mut self, told: Told, at: Range<u64>) {
        match told {
            Told::Table(table) => self.tables.add(table),
            Told::Forgotten { topic } => self.tables.forget(&topic),
            Told::Gone { log } => drop(self.logs.remove(&log)),
            Told::Begun { log, source, mut files } => {
                let known = self.logs.entry(log).or_default();
                known.at = None;
                known.source = source;
                known.begun.append(&mut files);
            }
            Told::Done(entry) => {
                let known = Known {
                    source: entry.source,
                    source_bytes: entry.source_bytes,
                    modified_ns: entry.modified_ns.filter(|_| entry.is_settled),
                    options: entry.options,
                    at: Some(at),
                    begun: Vec::new(),
                };
                self.logs.insert(entry.log, known);
            }
        }
    }
}

#[cfg(test)]
mod tests;
