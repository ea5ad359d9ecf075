//! `logtool index`: the catalog of many logs, without converting them.

mod old;
mod spool;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use logtool_sinks::Existing;
use serde_json::json;

use self::{
    old::{Old, OldLog},
    spool::Spool,
};

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
    let (stem, is_jsonl) = kind(&args.out)?;
    let inputs = inputs::find(&args.inputs, &args.out)?;
    inputs.check()?;
    let Inputs { logs, others, failed, sets, .. } = &inputs;
    let lidar = lidars::options(&args.lidar, TimeChoice::Boot)?;
    let options = asked::reading(&args.lidar, global)?;
    let old = Old::read(&args.out, args.force, is_jsonl, &options)?;
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
        if let Some(log) = old.current(found) {
            meter.skip();
            return Ok(Looked::Before(log));
        }
        let mut entry = Entry::of(found, name_of(found));
        let opened = opened::look_with(&found.path, &of_each, Some(&lidar))?;
        entry.digest = provenance::digest(&opened.input)?;
        entry.describe(&opened.input, opened.log.manifest());
        let mut findings = Findings::of(&opened.input, opened.log.manifest());
        findings.check(global.strict)?;
        entry.lament(&mut findings, opened::is_surveyed(opened.log.manifest()));
        Ok(Looked::Now(Box::new(entry)))
    };
    let mut spool = Spool::new(&old);
    for (_, log) in &kept {
        // What has an error is looked into again, once it can be seen.
        let error = old.is_anew.then(|| UNSEEN.to_owned());
        spool.keep(log, &log.name, error);
    }
    let mut spooled = Ok(());
    let limits = Limits::new(None, logs);
    meter.during(|| {
        side_by_side::each(logs, &limits, &meter, &work, &mut |found, _, done| {
            let source = found.shown();
            let mut event =
                json!({ "event": "log", "log": name_of(found), "source": source });
            let (outcome, damage) = match done {
                Ok(Looked::Before(log)) => {
                    report.before += 1;
                    spool.keep(log, name_of(found), None);
                    ("known", old.damage(log))
                }
                Ok(Looked::Now(entry)) => {
                    report.now += 1;
                    report.bytes += found.bytes;
                    if spooled.is_ok() {
                        spooled = spool.add(&entry);
                    }
                    ("indexed", entry.damage)
                }
                Err(err) => {
                    let error = format!("{err:#}");
                    event["error"] = json!(error);
                    report.fail(source.clone(), &error);
                    let name = name_of(found);
                    match old.logs.get(&found.source) {
                        Some(log) => spool.keep(log, name, Some(error)),
                        None => {
                            let error = Some(error);
                            let entry = Entry { error, ..Entry::of(found, name) };
                            if spooled.is_ok() {
                                spooled = spool.add(&entry);
                            }
                        }
                    }
                    ("failed", None)
                }
            };
            event["outcome"] = json!(outcome);
            event["damage"] = json!(damage);
            report.damaged.extend(damage.map(|damage| (source, damage)));
            meter.tell(&event);
        })
    })?;
    let parent = args.out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let mut write = || {
        let outputs =
            interrupt::outputs(parent.unwrap_or(Path::new(".")), Existing::Replace)?;
        catalog::write(&outputs, &stem, is_jsonl, &options, &mut spool.rows())?;
        outputs.commit()
    };
    let written = spooled.and_then(|()| write());
    meter.finish();
    report.tell_json(&meter);
    let done = if written.is_ok() { "indexed" } else { "looked into" };
    report.tell(&args.out, done, meter.took(), global.quiet);
    written.context(match args.out.exists() {
        true => "the catalog is as it was",
        false => "no catalog was written",
    })?;
    meter.check()?;
    Ok(report.outcome())
}

/// Why what is said of a log is of before, where all were to be looked into again.
const UNSEEN: &str =
    "it cannot be seen now, to be looked into again: this is what was known before";

/// Refuses `path`, if it is a URL: what is known from before is read there, bit by bit.
fn refuse_url(path: &Path) -> Result<()> {
    let Some((scheme, _)) = url::of(path).and_then(|url| url.split_once("://")) else {
        return Ok(());
    };
    let what = format!("index writes to this machine, and not to {scheme}://");
    let hint = "write it here and copy it; `logtool batch -o` takes URLs";
    Err(Complaint::misuse(what).hint(hint).into())
}

/// What came of looking at a log.
enum Looked<'o> {
    /// It is as it was.
    Before(&'o OldLog),
    Now(Box<Entry>),
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
