//! A catalog that was there before.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File},
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
use logtool::{Error, Result, error::Context as _};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::commands::batch::{
    catalog,
    entry::Entry,
    inputs::{Found, Inputs},
};

/// A catalog that was there before.
#[derive(Default)]
pub(super) struct Old {
    /// What it says of each source.
    pub(super) logs: HashMap<String, OldLog>,
    /// Its rows, as they were read.
    batches: Vec<RecordBatch>,
    /// Whether all logs are to be looked into again.
    pub(super) is_anew: bool,
}

pub(super) struct OldLog {
    pub(super) name: String,
    bytes: i64,
    modified: Option<i64>,
    /// Its rows, in batches with these indices: they may lie in two.
    rows: Vec<(usize, Range<usize>)>,
}

/// A log that was changed less long than this before the catalog was written may have
/// been changed again.
const SETTLED_NANOS: i64 = 2_000_000_000;

impl Old {
    /// The catalog at `path`, if there is one. What was made with other `options` is not
    /// believed of logs that can be looked into, with `is_anew` nothing is, and what is no
    /// catalog is none.
    pub(super) fn read(
        path: &Path,
        is_anew: bool,
        is_jsonl: bool,
        options: &str,
    ) -> Result<Self> {
        let old = match (path.exists(), is_jsonl) {
            (false, _) => Ok(Self::default()),
            (true, true) => check_lines(path).map(|()| Self::default()),
            (true, false) => Self::parquet(path, options),
        };
        let old = if is_anew { old.unwrap_or_default() } else { old? };
        Ok(Self { is_anew: is_anew || old.is_anew, ..old })
    }

    /// The catalog at `path`, which is Parquet.
    fn parquet(path: &Path, options: &str) -> Result<Self> {
        let name = || path.display().to_string();
        let foreign = || foreign(path);
        let written = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH);
        let written = written.map_err(|err| Error::failed(err.to_string()))?;
        let written = i64::try_from(written.as_nanos()).unwrap_or(i64::MAX);
        let file = File::open(path).with_context(name)?;
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|_| foreign())?;
        let like_ours = catalog::rows(&Entry::default())?.schema();
        let is_ours = reader.schema().fields() == like_ours.fields();
        let told = reader.schema().metadata().get(catalog::OPTIONS);
        let is_anew = told.is_none_or(|told| told != options);
        let mut old = Self { is_anew, ..Self::default() };
        if !is_ours {
            // Of another version: it is a catalog all the same.
            let has = |name: &str| reader.schema().field_with_name(name).is_ok();
            return match ["log", "source", "digest", "tool"].into_iter().all(has) {
                true => Ok(old),
                false => Err(foreign()),
            };
        }
        for rows in reader
            .build()
            .map_err(|err| Error::failed(err.to_string()).context(name()))?
        {
            old.add(rows.with_context(name)?, written).ok_or_else(foreign)?;
        }
        Ok(old)
    }

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
            let log = self.logs.entry(source.to_owned()).or_insert_with(|| OldLog {
                name: logs.value(start).to_owned(),
                bytes: bytes.value(start),
                modified: time.filter(is_settled).filter(|_| errors.is_null(start)),
                rows: Vec::new(),
            });
            log.rows.push((self.batches.len(), start..end));
            start = end;
        }
        self.batches.push(rows);
        Some(())
    }

    /// The sources of all names.
    pub(super) fn names(&self) -> BTreeMap<String, String> {
        let logs = self.logs.iter();
        logs.map(|(source, log)| (log.name.clone(), source.clone())).collect()
    }

    /// What is known of logs that `inputs` may mean and that cannot be seen, by sources.
    pub(super) fn hidden<'o>(&'o self, inputs: &Inputs) -> Vec<(&'o str, &'o OldLog)> {
        let seen: HashSet<&str> = inputs.logs.iter().map(|log| &*log.source).collect();
        let logs = self.logs.iter().map(|(source, log)| (&**source, log));
        let is_hidden =
            |source: &str| !seen.contains(source) && inputs.may_hide(source);
        logs.filter(|(source, _)| is_hidden(source)).collect()
    }

    /// What is known of `found`, if it is as it was.
    pub(super) fn current(&self, found: &Found) -> Option<&OldLog> {
        let is_same = |log: &&OldLog| {
            !self.is_anew
                && log.modified.is_some()
                && log.modified == found.modified
                && u64::try_from(log.bytes).is_ok_and(|bytes| bytes == found.bytes)
        };
        self.logs.get(&found.source).filter(is_same)
    }

    /// The rows of `log`.
    pub(super) fn rows(&self, log: &OldLog) -> Result<RecordBatch> {
        let schema = catalog::rows(&Entry::default())?.schema();
        let some = log.rows.iter().filter_map(|(batch, rows)| {
            Some(self.batches.get(*batch)?.slice(rows.start, rows.len()))
        });
        let some: Vec<RecordBatch> = some.collect();
        Ok(arrow_select::concat::concat_batches(&schema, &some)?)
    }

    /// What was lost of `log`, in words.
    pub(super) fn damage(&self, log: &OldLog) -> Option<String> {
        let (batch, rows) = log.rows.first()?;
        let damage = self.batches.get(*batch)?.column_by_name("damage")?;
        let damage = damage.as_string_opt::<i32>()?;
        damage.is_valid(rows.start).then(|| damage.value(rows.start).to_owned())
    }
}

/// Refuses the file at `path`, if it is no catalog as JSON Lines.
fn check_lines(path: &Path) -> Result<()> {
    /// More than a row ever has.
    const LONGEST: u64 = 1 << 20;
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut line = Vec::new();
    let read = BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line);
    read.with_context(|| path.display().to_string())?;
    let row: Option<Value> = serde_json::from_slice(&line).ok();
    let has = |name| row.as_ref().is_some_and(|row| row.get(name).is_some());
    match line.is_empty()
        || ["log", "source", "source_bytes", "tool"].into_iter().all(has)
    {
        true => Ok(()),
        false => Err(foreign(path)),
    }
}

/// That the file at `path` is somebody else's.
fn foreign(path: &Path) -> Error {
    let what = format!("{} is no catalog of logs", path.display());
    Error::failed(what).with_hint("--force replaces it")
}
