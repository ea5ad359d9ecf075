//! `logtool batch`: one data set of many logs; and `logtool index`: only its catalog.

mod asked;
mod catalog;
mod dataset;
mod entry;
mod gate;
mod here;
mod index;
mod inputs;
mod journal;
mod meant;
mod memory;
mod meter;
mod names;
mod one;
mod ours;
mod patterns;
mod place;
mod report;
mod shard;
mod side_by_side;
mod tables;
#[cfg(feature = "cloud")]
mod there;

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context as _, Result};
use arrow_array::RecordBatch;
use serde_json::json;

pub(super) use self::index::run as index;
use self::{
    dataset::{Dataset, Kind},
    entry::Entry,
    gate::Pass,
    inputs::{Found, Inputs},
    meter::{LogMeter, Meter},
    one::{Done, Work},
    patterns::Patterns,
    report::Report,
    shard::Shard,
    side_by_side::Limits,
};
use crate::{
    args::{BatchArgs, GlobalArgs},
    complaint::Complaint,
    labels,
    outcome::Outcome,
    paint,
    terminal::say,
    url,
};

pub(super) fn run(args: &BatchArgs, global: &GlobalArgs) -> Result<Outcome> {
    let out = args.convert.out.clone().unwrap_or_default();
    let convert = asked::of(args)?;
    let shard = shard::wanted(args.shard, &|name| std::env::var(name).ok())?;
    let (shard, by) = shard.map_or((None, ""), |(shard, by)| (Some(shard), by));
    if let (Some(shard), false) = (shard, global.quiet) {
        let Shard { index, count } = shard;
        say!("part {index} of {count}, counted from 0 ({by})");
    }
    let labels = labels::read(&convert.labels)?;
    let options = asked::options(&convert, global, labels.as_deref())?;
    let Inputs { mut logs, others, failed, sets } =
        inputs::find(&args.convert.inputs, &out)?;
    if logs.is_empty() && failed.is_empty() {
        let hint = "a folder, a pattern, @list.txt or `-` names them";
        return Err(Complaint::new("there are no logs here").hint(hint).into());
    }
    let dataset = Dataset::open(&out, shard, global.quiet)?;
    let mut names = names_of(&dataset, &logs);
    let mut parts = BTreeMap::new();
    if let Some(shard) = shard {
        let all: Vec<u32> = shard.parts(&logs);
        parts = names.iter().cloned().zip(all.iter().copied()).collect();
        let mut own = all.iter().map(|part| *part == shard.index);
        names.retain(|_| own.next().unwrap_or(false));
        let mut own = all.iter().map(|part| *part == shard.index);
        logs.retain(|_| own.next().unwrap_or(false));
    }
    let is_own = |name: &str| {
        let part = |shard: Shard| {
            let known = parts.get(name).copied();
            known.unwrap_or_else(|| shard.part_of_name(name)) == shard.index
        };
        shard.is_none_or(part)
    };
    clear_unfinished(&dataset, &is_own)?;
    if shard.is_none() {
        dataset.forget_idle()?;
    }

    let limits = Limits::new(args.memory.map(|size| size.0), &logs);
    if let (Some(_), Some(least), false) = (args.memory, limits.raised(), global.quiet)
    {
        let warning = paint::for_stderr().yellow("warning:");
        let least = least.div_ceil(1 << 20);
        say!("{warning} --memory is {least}M: one of the logs alone may take that");
    }
    let is_far = url::of(dataset.shown()).is_some();
    let limits = if is_far { limits.waiting() } else { limits };
    let work = Work {
        args: &convert,
        global: &asked::of_each(global),
        labels,
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
    let mut patterns = Patterns::new(&convert);
    // The first part tells of what nobody can tell the size of.
    if shard.is_none_or(|shard| shard.index == 0) {
        for (path, err) in failed {
            report.fail(inputs::text(&path), &format!("{err:#}"));
        }
    }
    let mut errors = BTreeMap::new();
    meter.during(|| {
        let one = |found: &Found, pass: &mut Pass<'_>, meter: &LogMeter<'_>| {
            work.run(found, name_of(found), pass, meter)
        };
        side_by_side::each(&logs, &limits, &meter, &one, &mut |found, _, done| {
            let name = name_of(found);
            match &done {
                Ok(Done::Before(entry) | Done::Now(entry, _)) => {
                    patterns.log(&entry.missed);
                }
                Err(err) => {
                    errors.insert(name.to_owned(), (found.clone(), format!("{err:#}")));
                }
            }
            note(found, name, done, &mut report, &meter);
        })
    })?;
    let written = write_catalog(&dataset, shard, args, &work.options, &errors, &is_own);
    report.odd = dataset.journal().odd()?;
    report.unused = patterns.unused().map(str::to_owned).collect();
    // Another part of the work may have what this one does not.
    report.is_in_vain = shard.is_none() && patterns.are_in_vain();
    meter.finish();
    report.tell_json(&meter);
    report.tell(dataset.shown(), "converted", meter.took(), global.quiet);
    let missing = written.context("the catalog is not as it should be")?;
    if let (Some(Shard { count, .. }), 1.., false) = (shard, missing, global.quiet) {
        let warning = paint::for_stderr().yellow("warning:");
        say!(
            "{warning} the catalogs of another number of parts are gone; those of {missing} \
             of {count} parts are not there yet: run these too"
        );
    }
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
                    && one::digest(&log.path).is_ok_and(is_same)
            })
    };
    names::names(logs, &known, &has_moved)
}

/// Removes what was getting its names when the last run was killed; it is done again.
fn clear_unfinished(dataset: &Dataset, is_own: &dyn Fn(&str) -> bool) -> Result<()> {
    let unfinished: Vec<(String, Vec<String>)> = {
        let journal = dataset.journal();
        let begun = journal.logs().filter(|(name, known)| {
            !known.begun.is_empty() && journal.done(name).is_none() && is_own(name)
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
            event["error"] = json!(format!("{err:#}"));
            report.fail(source, &format!("{err:#}"));
        }
    }
    meter.tell(&event);
}

/// Writes the catalog of what is done, and of what failed; those of runs that shared the
/// work otherwise go. Says, where some went, how many parts have none now.
fn write_catalog(
    dataset: &Dataset,
    shard: Option<Shard>,
    args: &BatchArgs,
    options: &str,
    errors: &BTreeMap<String, (Found, String)>,
    is_own: &dyn Fn(&str) -> bool,
) -> Result<u64> {
    let stem = shard.map_or("_catalog".to_owned(), |shard| format!("_catalog-{shard}"));
    let mut logs: Vec<String> = {
        let journal = dataset.journal();
        let done = journal.logs().filter(|(name, _)| journal.done(name).is_some());
        done.map(|(name, _)| name.clone()).collect()
    };
    logs.extend(errors.keys().cloned());
    logs.sort();
    logs.dedup();
    logs.retain(|name| is_own(name));
    let rows = |name: &String| -> Result<RecordBatch> {
        let known = dataset.journal().entry(name)?;
        let failed = errors.get(name);
        let new =
            || failed.map(|(found, _)| Entry::of(found, name)).unwrap_or_default();
        let mut entry = known.unwrap_or_else(new);
        entry.error = failed.map(|(_, error)| error.clone());
        catalog::rows(&entry)
    };
    let outputs = dataset.outputs("", Kind::OneFile);
    catalog::write(&outputs, &stem, false, options, &mut logs.iter().map(rows))?;
    if args.catalog.is_some() {
        catalog::write(&outputs, &stem, true, options, &mut logs.iter().map(rows))?;
    }
    let written = dataset.put(&outputs)?;
    let count_of = |name: &str| {
        let count = name.strip_prefix("_catalog-")?.split_once("-of-")?.1;
        count.split('.').next()?.parse::<u32>().ok()
    };
    let is_old = |name: &String| {
        let of_all = name == "_catalog.parquet" || name == "_catalog.jsonl";
        let count = count_of(name);
        match shard {
            None => count.is_some() || of_all,
            Some(shard) => of_all || count.is_some_and(|count| count != shard.count),
        }
    };
    let there = dataset.whole()?;
    let old = || there.iter().filter(|name| is_old(name) && !written.contains(*name));
    dataset.remove(old())?;
    let Some(shard) = shard.filter(|_| old().next().is_some()) else { return Ok(0) };
    let is_of_ours = |name: &&String| {
        count_of(name) == Some(shard.count) && name.ends_with(".parquet")
    };
    let parts = there.iter().filter(is_of_ours).count() as u64;
    Ok(u64::from(shard.count).saturating_sub(parts))
}
