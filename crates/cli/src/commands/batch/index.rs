//! `logtool index`: the catalog of many logs, without converting them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::{Context as _, Result};
use arrow_array::{
    RecordBatch,
    cast::AsArray as _,
    types::{Int64Type, TimestampNanosecondType},
};
use logtool_sinks::Existing;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::{
    args::{GlobalArgs, IndexArgs, TimeChoice},
    commands::batch::{
        asked, catalog,
        entry::Entry,
        gate::Pass,
        inputs::{self, Found, Inputs},
        meter::{LogMeter, Meter},
        names,
        report::Report,
        side_by_side::{self, Limits},
    },
    complaint::Complaint,
    findings::Findings,
    interrupt, lidars, opened,
    outcome::Outcome,
    provenance, url,
};

pub(in crate::commands) fn run(
    args: &IndexArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    refuse_url(&args.out)?;
    let inputs = inputs::find(&args.inputs, &args.out)?;
    let Inputs { logs, others, failed, sets } = &inputs;
    if logs.is_empty() && failed.is_empty() {
        let hint = "a folder, a pattern, @list.txt or `-` names them";
        return Err(Complaint::new("there are no logs here").hint(hint).into());
    }
    let lidar = lidars::options(&args.lidar, TimeChoice::Boot)?;
    let (stem, is_jsonl) = kind(&args.out)?;
    let old = Old::read(&args.out, args.force, is_jsonl)?;
    let is_lost = old.logs.is_empty() && args.out.exists();
    if is_lost && !failed.is_empty() && !args.force {
        return Err(missing(&args.out, failed));
    }
    let kept = old.hidden(&inputs);
    // What is no longer there is left out, and its name is free.
    let is_free = |_: &Found, _: &str, owner: &str| {
        !inputs::is_there(owner) && !kept.iter().any(|(kept, _)| *kept == owner)
    };
    let names = names::names(logs, &old.names(), &is_free);
    let bytes = logs.iter().map(|log| log.bytes).sum();
    let meter = Meter::new(logs.len() as u64, bytes, args.json, global);
    let sets = sets.iter().map(|set| inputs::text(set)).collect();
    let mut report = Report { others: *others, sets, ..Report::default() };
    for (path, err) in failed {
        report.fail(inputs::text(path), &format!("{err:#}"));
    }

    let name_of: HashMap<&str, &str> =
        logs.iter().zip(&names).map(|(log, name)| (&*log.source, &**name)).collect();
    let name_of =
        |found: &Found| name_of.get(&*found.source).copied().unwrap_or_default();
    let of_each = asked::of_each(global);
    let work = |found: &Found, _: &mut Pass<'_>, meter: &LogMeter<'_>| -> Result<_> {
        if let Some(rows) = old.rows(found)? {
            meter.skip();
            let damage = damage_in(&rows);
            return Ok((rows, true, damage));
        }
        let mut entry = Entry::of(found, name_of(found));
        let opened = opened::look_with(&found.path, &of_each, Some(&lidar))?;
        entry.digest = provenance::digest(&opened.input)?;
        entry.describe(&opened.input, opened.log.manifest());
        let mut findings = Findings::of(&opened.input, opened.log.manifest());
        findings.check(global.strict)?;
        entry.lament(&mut findings, opened::is_surveyed(opened.log.manifest()));
        Ok((catalog::rows(&entry)?, false, entry.damage))
    };
    let mut rows = BTreeMap::new();
    for (_, log) in &kept {
        rows.insert(log.name.clone(), log.all());
    }
    let limits = Limits::new(None);
    meter.during(|| {
        side_by_side::each(logs, &limits, &meter, &work, &mut |found, _, done| {
            let source = found.shown();
            let mut event =
                json!({ "event": "log", "log": name_of(found), "source": source });
            let of_log = match done {
                Ok((rows, is_old, damage)) => {
                    event["outcome"] = json!(if is_old { "known" } else { "indexed" });
                    event["damage"] = json!(damage);
                    report.before += u64::from(is_old);
                    report.now += u64::from(!is_old);
                    report.bytes += if is_old { 0 } else { found.bytes };
                    report.damaged.extend(damage.map(|damage| (source, damage)));
                    Ok(rows)
                }
                Err(err) => {
                    let error = format!("{err:#}");
                    event["outcome"] = json!("failed");
                    event["error"] = json!(error);
                    report.fail(source, &error);
                    old.with_error(found, name_of(found), &error)
                }
            };
            rows.insert(name_of(found).to_owned(), of_log);
            meter.tell(&event);
        })
    })?;
    let parent = args.out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let write = || {
        let outputs =
            interrupt::outputs(parent.unwrap_or(Path::new(".")), Existing::Replace)?;
        catalog::write(&outputs, &stem, is_jsonl, &mut rows.into_values())?;
        outputs.commit()
    };
    let written = write();
    meter.finish();
    report.tell_json(&meter);
    report.tell(&args.out, "indexed", meter.took(), global.quiet);
    written.context("the catalog is as it was")?;
    meter.check()?;
    Ok(report.outcome())
}

/// Refuses `path`, if it is a URL: what is known from before is read there, bit by bit.
fn refuse_url(path: &Path) -> Result<()> {
    let Some((scheme, _)) = url::of(path).and_then(|url| url.split_once("://")) else {
        return Ok(());
    };
    let what = format!("index writes to this machine, and not to {scheme}://");
    let hint = "write it here and copy it; `logtool batch -o` takes URLs";
    Err(Complaint::misuse(what).hint(hint).into())
}

/// What was lost of the log that `rows` are of, in words.
fn damage_in(rows: &RecordBatch) -> Option<String> {
    let damage = rows.column_by_name("damage")?.as_string_opt::<i32>()?;
    damage.iter().next().flatten().map(str::to_owned)
}

/// That `failed` would be missing in the catalog `out`, which is made anew.
fn missing(out: &Path, failed: &[(PathBuf, anyhow::Error)]) -> anyhow::Error {
    let (path, err) = match failed {
        [(path, err), ..] => (path.display(), format!("{err:#}")),
        [] => (out.display(), String::new()),
    };
    let what = format!("{path}: {err}; {} is as it was", out.display());
    Complaint::new(what).hint("--force makes it without that").into()
}

/// The name of the catalog at `out` without its extension, and whether it is JSON Lines.
fn kind(out: &Path) -> Result<(String, bool)> {
    let end = out.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let stem = out.file_stem().and_then(|stem| stem.to_str());
    match (stem, end) {
        (Some(stem), "parquet") => Ok((stem.to_owned(), false)),
        (Some(stem), "jsonl") => Ok((stem.to_owned(), true)),
        _ => {
            let what = format!("{} is no name of a catalog", out.display());
            let hint = "it ends in .parquet or .jsonl";
            Err(Complaint::misuse(what).hint(hint).into())
        }
    }
}

/// A catalog that was there before.
#[derive(Default)]
struct Old {
    /// The rows of each source, and its name.
    logs: HashMap<String, OldLog>,
    /// Whether all logs are to be looked into again.
    is_anew: bool,
}

struct OldLog {
    name: String,
    bytes: i64,
    modified: Option<i64>,
    rows: Vec<RecordBatch>,
}

/// A log that was changed less long than this before the catalog was written may have
/// been changed again.
const SETTLED_NANOS: i64 = 2_000_000_000;

impl Old {
    /// The catalog at `path`, if there is one. With `is_anew` nothing is believed, and what
    /// is no catalog is none.
    fn read(path: &Path, is_anew: bool, is_jsonl: bool) -> Result<Self> {
        let old = match (path.exists(), is_jsonl) {
            (false, _) => Ok(Self::default()),
            (true, true) => check_lines(path).map(|()| Self::default()),
            (true, false) => Self::parquet(path),
        };
        let old = if is_anew { old.unwrap_or_default() } else { old? };
        Ok(Self { is_anew, ..old })
    }

    /// The catalog at `path`, which is Parquet.
    fn parquet(path: &Path) -> Result<Self> {
        let name = || path.display().to_string();
        let foreign = || foreign(path);
        let written = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH)?;
        let written = i64::try_from(written.as_nanos()).unwrap_or(i64::MAX);
        let file = File::open(path).with_context(name)?;
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|_| foreign())?;
        let like_ours = catalog::rows(&Entry::default())?.schema();
        let is_ours = reader.schema().fields() == like_ours.fields();
        let mut old = Self::default();
        if !is_ours {
            // Of another version: it is a catalog all the same.
            let has = |name: &str| reader.schema().field_with_name(name).is_ok();
            return match ["log", "source", "digest", "tool"].into_iter().all(has) {
                true => Ok(old),
                false => Err(foreign().into()),
            };
        }
        for rows in reader.build().with_context(name)? {
            old.add(&rows.with_context(name)?, written).ok_or_else(foreign)?;
        }
        Ok(old)
    }

    fn add(&mut self, rows: &RecordBatch, written: i64) -> Option<()> {
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
            log.rows.push(rows.slice(start, end - start));
            start = end;
        }
        Some(())
    }

    /// The sources of all names.
    fn names(&self) -> BTreeMap<String, String> {
        let logs = self.logs.iter();
        logs.map(|(source, log)| (log.name.clone(), source.clone())).collect()
    }

    /// What is known of logs that `inputs` may mean and that cannot be seen, by sources.
    fn hidden<'o>(&'o self, inputs: &Inputs) -> Vec<(&'o str, &'o OldLog)> {
        let seen: HashSet<&str> = inputs.logs.iter().map(|log| &*log.source).collect();
        let logs = self.logs.iter().map(|(source, log)| (&**source, log));
        let is_hidden =
            |source: &str| !seen.contains(source) && inputs.may_hide(source);
        logs.filter(|(source, _)| is_hidden(source)).collect()
    }

    /// What is known of `found`, which is called `name` and cannot be read now, and why.
    fn with_error(
        &self,
        found: &Found,
        name: &str,
        error: &str,
    ) -> Result<RecordBatch> {
        match self.logs.get(&found.source) {
            Some(log) => catalog::with_error(&log.all()?, error),
            None => {
                let error = Some(error.to_owned());
                catalog::rows(&Entry { error, ..Entry::of(found, name) })
            }
        }
    }

    /// The rows of `found`, if it is as it was.
    fn rows(&self, found: &Found) -> Result<Option<RecordBatch>> {
        let Some(log) = self.logs.get(&found.source) else { return Ok(None) };
        let is_same = !self.is_anew
            && log.modified.is_some()
            && log.modified == found.modified
            && u64::try_from(log.bytes).is_ok_and(|bytes| bytes == found.bytes);
        is_same.then(|| log.all()).transpose()
    }
}

impl OldLog {
    /// All its rows, which may lie in two batches.
    fn all(&self) -> Result<RecordBatch> {
        match &*self.rows {
            [rows] => Ok(rows.clone()),
            rows => {
                let schema = catalog::rows(&Entry::default())?.schema();
                Ok(arrow_select::concat::concat_batches(&schema, rows)?)
            }
        }
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
        false => Err(foreign(path).into()),
    }
}

/// That the file at `path` is somebody else's.
fn foreign(path: &Path) -> Complaint {
    let what = format!("{} is no catalog of logs", path.display());
    Complaint::new(what).hint("--force replaces it")
}
