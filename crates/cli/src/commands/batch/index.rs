//! `logtool index`: the catalog of many logs, without converting them.

mod collect;
mod previous;
mod spool;

use std::path::{Path, PathBuf};

use logtool::{
    Error, Result,
    error::Context as _,
    input::{open, url},
    losses::Findings,
    output::guarded,
};
use logtool_sinks::Existing;
use logtool_velodyne::lidar::LidarOptions;

use self::{
    collect::{Looked, Taking},
    previous::Old,
};
use crate::{
    args::{GlobalArgs, IndexArgs, TimeChoice},
    commands::batch::{
        admission::Pass,
        catalog,
        entry::Entry,
        inputs::{self, Found, Inputs},
        names, options,
        parallel::{self, Limits},
        progress::{LogMeter, Meter},
        report::Report,
    },
    exit_status::Outcome,
    lidar_options,
};

pub(in crate::commands) fn run(
    args: &IndexArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    refuse_url(&args.out)?;
    let (stem, is_jsonl) = kind(&args.out)?;
    let inputs = inputs::find(&args.inputs, &args.out, &global.session)?;
    inputs.check()?;
    let Inputs { logs, others, failed, sets, .. } = &inputs;
    let lidar = lidar_options::options(&args.lidar, TimeChoice::Boot)?;
    let options = options::reading(&args.lidar, global)?;
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
        report.fail(inputs::text(path), &format!("{err}"));
    }

    let name = |index: usize| names.get(index).map_or("", String::as_str);
    let of_each = options::of_each(global);
    let work = |found: &Found, pass: &mut Pass<'_>, meter: &LogMeter<'_>| {
        if let Some(log) = old.current(found) {
            meter.skip();
            return Ok(Looked::Before(log));
        }
        let entry = look(found, name(pass.index), &of_each, &lidar)?;
        Ok(Looked::Now(Box::new(entry)))
    };
    let mut taking = Taking::new(&old, report);
    kept.iter().for_each(|(_, log)| taking.keep(log));
    let limits = Limits::new(None, logs);
    meter.during(|| {
        parallel::each(logs, &limits, &meter, &work, &mut |found, index, done| {
            meter.tell(&taking.take(found, name(index), done));
        })
    })?;
    let Taking { mut spool, spooled, report, .. } = taking;
    let mut write = || {
        let outputs = guarded::one_file(&args.out, Existing::Replace, &global.session)?;
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

/// What there is to know of the log `found`, which is called `name`.
fn look(
    found: &Found,
    name: &str,
    global: &GlobalArgs,
    lidar: &LidarOptions,
) -> Result<Entry> {
    let mut entry = Entry::of(found, name);
    let opened = open::look_with(&found.path, &global.session, Some(lidar))?;
    entry.identify(&opened.input)?;
    entry.describe(&opened.input, opened.log.manifest());
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;
    entry.lament(&mut findings, open::is_surveyed(opened.log.manifest()));
    Ok(entry)
}

/// Refuses `path`, if it is a URL: what is known from before is read there, bit by bit.
fn refuse_url(path: &Path) -> Result<()> {
    let Some((scheme, _)) = url::of(path).and_then(|url| url.split_once("://")) else {
        return Ok(());
    };
    let what = format!("index writes to this machine, and not to {scheme}://");
    let hint = "write it here and copy it; `logtool batch -o` takes URLs";
    Err(Error::invalid(what).with_hint(hint))
}

/// That `failed` would be missing in the catalog `out`, which is made anew.
fn missing(out: &Path, failed: &[(PathBuf, Error)]) -> Error {
    let (path, err) = match failed {
        [(path, err), ..] => (path.display(), format!("{err}")),
        [] => (out.display(), String::new()),
    };
    let what = format!("{path}: {err}; {} is as it was", out.display());
    Error::failed(what).with_hint("--force makes it without that")
}

/// The name of the catalog at `out` without its extension, and whether it is JSON Lines.
fn kind(out: &Path) -> Result<(String, bool)> {
    let end = out.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let stem = out.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    match (stem, end) {
        (Some(stem), "parquet") => Ok((stem, false)),
        (Some(stem), "jsonl") => Ok((stem, true)),
        _ => {
            let what = format!("{} is no name of a catalog", out.display());
            let hint = "it ends in .parquet or .jsonl";
            Err(Error::invalid(what).with_hint(hint))
        }
    }
}
