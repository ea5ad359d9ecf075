//! `logtool batch`: one data set of many logs; and `logtool index`: only its catalog.

mod admission;
mod catalog;
mod column_type;
mod dataset;
mod entry;
mod index;
mod inputs;
mod job;
mod journal;
mod local;
mod markers;
mod memory;
mod names;
mod options;
mod parallel;
mod patterns;
mod progress;
#[cfg(feature = "remote")]
mod remote;
mod report;
mod selected;
mod shard;
mod storage;
mod tables;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use logtool::{Result, Session, error::Context as _, input::url};
use serde_json::json;

use self::{
    admission::Pass,
    catalog::Catalogs,
    dataset::Dataset,
    inputs::{Found, Inputs},
    job::{Done, Work},
    parallel::Limits,
    patterns::Patterns,
    progress::{LogMeter, Meter},
    report::Report,
    shard::{Division, Shard},
};
use crate::{
    args::{BatchArgs, GlobalArgs},
    color,
    exit_status::Outcome,
    terminal::say,
};

pub(super) use self::index::run as index;

/// Returns the logs in `folder` and its subfolders, with the paths that could not be inspected,
/// so that opening them reports why. Returns `folder` itself if there are none.
pub(super) fn logs_in(folder: &Path, session: &Session) -> Result<Vec<PathBuf>> {
    let found = inputs::find(&[folder.to_owned()], Path::new(""), session)?;
    let logs = found.logs.into_iter().map(|log| log.path);
    let failed = found.failed.into_iter().map(|(path, _)| path);
    let paths: Vec<PathBuf> = logs.chain(failed).collect();
    Ok(if paths.is_empty() { vec![folder.to_owned()] } else { paths })
}

pub(super) fn run(args: &BatchArgs, global: &GlobalArgs) -> Result<Outcome> {
    let out = args.convert.out.clone().unwrap_or_default();
    let request = options::of(args)?;
    let shard = shard::wanted(args.shard, &|name| std::env::var(name).ok())?;
    let (shard, by) = shard.map_or((None, ""), |(shard, by)| (Some(shard), by));
    if let (Some(shard), false) = (shard, global.quiet) {
        let Shard { index, count } = shard;
        say!("part {index} of {count}, counted from 0 ({by})");
    }
    let options = options::options(&request, &args.convert.lidar, global)?;
    let inputs = inputs::find(&args.convert.inputs, &out, &global.session)?;
    inputs.check()?;
    let Inputs { mut logs, others, failed, sets, .. } = inputs;
    let dataset = Dataset::open(&out, shard, global)?;
    let mut names = names_of(&dataset, &logs);
    let division = Division::new(shard, &logs, &names);
    (logs, names) =
        logs.into_iter().zip(names).filter(|(_, name)| division.is_own(name)).unzip();
    clear_unfinished(&dataset, &division)?;
    if shard.is_none() {
        dataset.forget_idle()?;
    }

    let limits = Limits::new(args.memory.map(|size| size.0), &logs);
    if let (Some(_), Some(least), false) = (args.memory, limits.raised(), global.quiet)
    {
        let warning = color::for_stderr().yellow("warning:");
        let least = least.div_ceil(1 << 20);
        say!("{warning} --memory is {least}M: one of the logs alone may take that");
    }
    let is_far = url::of(dataset.shown()).is_some();
    let limits = if is_far { limits.waiting() } else { limits };
    let work = Work {
        request: &request,
        is_forced: args.convert.force,
        global: &options::of_each(global),
        dataset: &dataset,
        pool: limits.pool()?,
        options,
    };
    let name_of: HashMap<&str, &str> =
        logs.iter().zip(&names).map(|(log, name)| (&*log.source, &**name)).collect();
    let name_of =
        |found: &Found| name_of.get(&*found.source).copied().unwrap_or_default();
    let bytes = logs.iter().map(|log| log.bytes).sum();
    let meter = Meter::new(logs.len() as u64, bytes, args.json, global);
    let sets = sets.iter().map(|set| inputs::text(set)).collect();
    let mut report = Report { others, sets, ..Report::default() };
    let mut patterns = Patterns::new(&request);
    // The first part tells of what nobody can tell the size of.
    if shard.is_none_or(|shard| shard.index == 0) {
        for (path, err) in failed {
            report.fail(inputs::text(&path), &format!("{err}"));
        }
    }
    let mut errors = BTreeMap::new();
    meter.during(|| {
        let one = |found: &Found, pass: &mut Pass<'_>, meter: &LogMeter<'_>| {
            work.run(found, name_of(found), pass, meter)
        };
        parallel::each(&logs, &limits, &meter, &one, &mut |found, _, done| {
            let name = name_of(found);
            match &done {
                Ok(Done::Before(entry) | Done::Now(entry, _)) => {
                    patterns.log(&entry.missed);
                }
                Err(err) => {
                    errors.insert(name.to_owned(), (found.clone(), format!("{err}")));
                }
            }
            note(found, name, done, &mut report, &meter);
        })
    })?;
    let (options, as_lines) = (&*work.options, args.catalog.is_some());
    let (dataset, division, errors) = (&dataset, &division, &errors);
    let written = Catalogs { dataset, division, as_lines, options, errors }.write();
    report.odd = dataset.journal().odd()?;
    report.unused = patterns.unused().map(str::to_owned).collect();
    // Another part of the work may have what this one does not.
    report.is_in_vain = shard.is_none() && patterns.are_in_vain();
    meter.finish();
    report.tell_json(&meter);
    report.tell(dataset.shown(), "converted", meter.took(), global.quiet);
    written.context("the catalog is not as it should be")?;
    meter.check()?;
    Ok(report.outcome())
}

fn names_of(dataset: &Dataset, logs: &[Found]) -> Vec<String> {
    let known: BTreeMap<String, String> = {
        let journal = dataset.journal();
        let logs = journal.logs();
        logs.map(|(name, known)| (name.clone(), known.source.clone())).collect()
    };
    // What is known of another log is nobody's but its own, also when its disk is away.
    let has_moved = |log: &Found, name: &str, owner: &str| {
        let known = || dataset.journal().entry(name).ok().flatten();
        !inputs::is_there(owner)
            && known().is_some_and(|known| {
                let is_same = |digest: String| digest == known.digest;
                known.source_bytes == log.bytes
                    && job::digest(&log.path).is_ok_and(is_same)
            })
    };
    names::names(logs, &known, &has_moved)
}

/// Removes what was getting its names when the last run was killed; it is done again.
fn clear_unfinished(dataset: &Dataset, division: &Division) -> Result<()> {
    let unfinished: Vec<(String, Vec<String>)> = {
        let journal = dataset.journal();
        let begun = journal.logs().filter(|(name, known)| {
            !known.begun.is_empty()
                && journal.done(name).is_none()
                && division.is_own(name)
        });
        begun.map(|(name, known)| (name.clone(), known.begun.clone())).collect()
    };
    unfinished.iter().try_for_each(|(name, files)| dataset.clear(name, files))
}

/// Notes and tells what became of the log `found`, called `name`.
fn note(
    found: &Found,
    name: &str,
    done: Result<Done>,
    report: &mut Report,
    meter: &Meter,
) {
    let source = found.shown();
    let mut event = json!({ "event": "log", "log": name, "source": source });
    match done {
        Ok(Done::Before(entry)) => {
            report.before += 1;
            event["outcome"] = json!("done_before");
            event["damage"] = json!(entry.damage);
            report.damaged.extend(entry.damage.map(|damage| (source, damage)));
        }
        Ok(Done::Now(entry, count)) => {
            report.now += 1;
            report.bytes += found.bytes;
            report.count.tables += count.tables;
            report.count.rows += count.rows;
            event["outcome"] = json!("converted");
            event["files"] = json!(count.tables);
            event["rows"] = json!(count.rows);
            event["damage"] = json!(entry.damage);
            event["remarks"] = json!(entry.remarks);
            entry.remarks.iter().for_each(|remark| report.remark(&source, remark));
            report.damaged.extend(entry.damage.map(|damage| (source, damage)));
        }
        Err(err) => {
            event["outcome"] = json!("failed");
            event["error"] = json!(format!("{err}"));
            report.fail(source, &format!("{err}"));
        }
    }
    meter.tell(&event);
}
