//! The catalog that an earlier run has written.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    io::{BufRead as _, BufReader, Read as _},
    ops::Range,
    path::Path,
    time::UNIX_EPOCH,
};

use arrow_array::{
    Array as _, RecordBatch,
    cast::AsArray as _,
    types::{Int64Type, TimestampNanosecondType},
};
use logtool_core::open_regular_file;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::{
    dataset::{
        catalog::{self, CatalogColumns, CatalogFormat},
        entry::LogEntry,
        inputs::{InputLog, Inputs},
    },
    error::{Context as _, Error, ErrorKind, Result},
};

/// The catalog that an earlier run has written.
#[derive(Default)]
pub(super) struct PreviousCatalog {
    /// The logs by their sources.
    pub(super) logs: HashMap<String, PreviousLog>,
    /// The rows.
    batches: Vec<RecordBatch>,
    /// Whether all logs are opened again, because the options have changed.
    pub(super) is_outdated: bool,
    /// The columns of this catalog and of the new one.
    pub(super) columns: CatalogColumns,
}

/// A log of the catalog.
pub(super) struct PreviousLog {
    pub(super) name: String,
    bytes: i64,
    modified_ns: Option<i64>,
    /// The indices of batches, and the rows of the log in them.
    rows: Vec<(usize, Range<usize>)>,
}

/// A log that was changed less than this before the catalog was written may have been changed
/// again without another time.
const SETTLED_NANOS: i64 = 2_000_000_000;

impl PreviousCatalog {
    /// Reads the catalog at `path`, if there is one. It is outdated if it was made with other
    /// `options`, or if the caller `is_forced` to open all logs again; then a file that is not
    /// a catalog is ignored. A catalog of CSV or JSON Lines is never read.
    pub(super) fn read(
        path: &Path,
        is_forced: bool,
        format: CatalogFormat,
        options: &str,
        columns: CatalogColumns,
    ) -> Result<Self> {
        let catalog = if path.exists() {
            match format {
                CatalogFormat::JsonLines => {
                    check_json_lines(path).map(|()| Self::default())
                }
                CatalogFormat::Csv => check_csv(path).map(|()| Self::default()),
                CatalogFormat::Parquet => Self::read_parquet(path, options, columns),
            }
        } else {
            Ok(Self::default())
        };
        let catalog = if is_forced { catalog.unwrap_or_default() } else { catalog? };
        Ok(Self { is_outdated: is_forced || catalog.is_outdated, columns, ..catalog })
    }

    fn read_parquet(
        path: &Path,
        options: &str,
        columns: CatalogColumns,
    ) -> Result<Self> {
        let name = || path.display().to_string();
        let foreign = || not_a_catalog(path);
        let written = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH);
        let written = written.map_err(|err| Error::other(err.to_string()))?;
        let written = i64::try_from(written.as_nanos()).unwrap_or(i64::MAX);
        let file = open_regular_file(path).cannot_open(path.display())?;
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|_| foreign())?;
        let schema = catalog::rows(&LogEntry::default(), columns)?.schema();
        let known_options = reader.schema().metadata().get(catalog::OPTIONS_KEY);
        let is_outdated = known_options.is_none_or(|known| known != options);
        let mut catalog = Self { is_outdated, ..Self::default() };
        if reader.schema().fields() != schema.fields() {
            // The catalog of another version has these columns too.
            let has_column = |name: &str| reader.schema().field_with_name(name).is_ok();
            let is_catalog =
                ["log", "source", "digest", "tool"].into_iter().all(has_column);
            return if is_catalog { Ok(catalog) } else { Err(foreign()) };
        }
        for rows in reader
            .build()
            .map_err(|err| Error::other(err.to_string()).context(name()))?
        {
            catalog.add(rows.with_context(name)?, written).ok_or_else(foreign)?;
        }
        Ok(catalog)
    }

    /// Adds `rows` of a catalog that was written at the Unix time `written`, in nanoseconds.
    /// Returns `None` if they have other columns than a catalog.
    fn add(&mut self, rows: RecordBatch, written: i64) -> Option<()> {
        let (logs, sources) = (
            rows.column_by_name("log")?.as_string_opt::<i32>()?,
            rows.column_by_name("source")?.as_string_opt::<i32>()?,
        );
        let bytes = rows.column_by_name("source_bytes")?;
        let bytes = bytes.as_primitive_opt::<Int64Type>()?;
        let modified = rows.column_by_name("modified")?;
        let modified = modified.as_primitive_opt::<TimestampNanosecondType>()?;
        let errors = rows.column_by_name("error")?;
        let mut start = 0;
        while start < rows.num_rows() {
            let source = sources.value(start);
            let same = (start..rows.num_rows())
                .take_while(|row| sources.value(*row) == source);
            let end = start + same.count();
            let is_settled = |time: &i64| written.saturating_sub(*time) > SETTLED_NANOS;
            let time = modified.iter().nth(start).flatten();
            let log =
                self.logs.entry(source.to_owned()).or_insert_with(|| PreviousLog {
                    name: logs.value(start).to_owned(),
                    bytes: bytes.value(start),
                    modified_ns: time
                        .filter(is_settled)
                        .filter(|_| errors.is_null(start)),
                    rows: Vec::new(),
                });
            log.rows.push((self.batches.len(), start..end));
            start = end;
        }
        self.batches.push(rows);
        Some(())
    }

    /// Returns the sources of all names.
    pub(super) fn names(&self) -> BTreeMap<String, String> {
        let logs = self.logs.iter();
        logs.map(|(source, log)| (log.name.clone(), source.clone())).collect()
    }

    /// Returns the logs, with their sources, that were not found, but may be in an input that
    /// could not be inspected.
    pub(super) fn possibly_hidden(&self, inputs: &Inputs) -> Vec<(&str, &PreviousLog)> {
        let sources: HashSet<&str> =
            inputs.logs.iter().map(|log| &*log.source).collect();
        let logs = self.logs.iter().map(|(source, log)| (&**source, log));
        let is_hidden =
            |source: &str| !sources.contains(source) && inputs.may_hide(source);
        logs.filter(|(source, _)| is_hidden(source)).collect()
    }

    /// Returns the known state of `log`, if it has not changed.
    pub(super) fn find_unchanged(&self, log: &InputLog) -> Option<&PreviousLog> {
        let is_unchanged = |known: &&PreviousLog| {
            !self.is_outdated
                && known.modified_ns.is_some()
                && known.modified_ns == log.modified_ns
                && u64::try_from(known.bytes).is_ok_and(|bytes| bytes == log.bytes)
        };
        self.logs.get(&log.source).filter(is_unchanged)
    }

    /// Returns the rows of `log`.
    pub(super) fn rows(&self, log: &PreviousLog) -> Result<RecordBatch> {
        let schema = catalog::rows(&LogEntry::default(), self.columns)?.schema();
        let batches = log.rows.iter().filter_map(|(batch, rows)| {
            Some(self.batches.get(*batch)?.slice(rows.start, rows.len()))
        });
        let batches: Vec<RecordBatch> = batches.collect();
        Ok(arrow_select::concat::concat_batches(&schema, &batches)?)
    }

    /// Returns the summary of the damage of `log`, if there is some.
    pub(super) fn damage(&self, log: &PreviousLog) -> Option<String> {
        let (batch, rows) = log.rows.first()?;
        let damage = self.batches.get(*batch)?.column_by_name("damage")?;
        let damage = damage.as_string_opt::<i32>()?;
        damage.is_valid(rows.start).then(|| damage.value(rows.start).to_owned())
    }
}

/// Refuses the file at `path` if its first line is not the header of a catalog.
fn check_csv(path: &Path) -> Result<()> {
    let line = first_line(path)?;
    let has_columns = line.starts_with(b"log,source,digest,");
    if line.is_empty() || has_columns { Ok(()) } else { Err(not_a_catalog(path)) }
}

/// Refuses the file at `path` if its first line is not a row of a catalog.
fn check_json_lines(path: &Path) -> Result<()> {
    let line = first_line(path)?;
    let row: Option<Value> = serde_json::from_slice(&line).ok();
    let has_column = |name| row.as_ref().is_some_and(|row| row.get(name).is_some());
    let has_columns =
        ["log", "source", "source_bytes", "tool"].into_iter().all(has_column);
    if line.is_empty() || has_columns { Ok(()) } else { Err(not_a_catalog(path)) }
}

/// Returns the first line of the file at `path`, or its start if it is longer than any row.
fn first_line(path: &Path) -> Result<Vec<u8>> {
    /// More than any row has.
    const MAX_ROW_BYTES: u64 = 1 << 20;
    let file = open_regular_file(path).cannot_open(path.display())?;
    let mut line = Vec::new();
    let read = BufReader::new(file.take(MAX_ROW_BYTES)).read_until(b'\n', &mut line);
    read.with_context(|| path.display().to_string())?;
    Ok(line)
}

/// Returns the error for the file `path`, which is not a catalog.
fn not_a_catalog(path: &Path) -> Error {
    let message = format!("{} is not a catalog of logs", path.display());
    Error::new(ErrorKind::AlreadyExists, message)
}
