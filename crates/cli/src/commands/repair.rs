//! `logtool repair`: what can be read of a damaged log, in a sound one.

mod loss;

use std::{io::Write as _, time::Instant};

use anyhow::{Context as _, Result};
use logtool_core::{CopyJob, Extract, Selection, TopicSet, copy};

use crate::{
    args::{GlobalArgs, RepairArgs},
    commands::repair::loss::Loss,
    findings::Findings,
    human::counted,
    made::Made,
    new_log::{self, NewLog},
    opened,
    outcome::Outcome,
    progress, provenance, terminal,
};

pub(super) fn run(args: &RepairArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let opened = opened::open(&args.file, global)?;
    let (name, manifest) = (&opened.input.name, opened.log.manifest());
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;
    let format = new_log::format(&args.out, manifest)?;
    let new = NewLog::begin(&args.out, format, args.writing.force)?;

    let topics = manifest.logged();
    let selection = Selection { topics, ..Selection::default() };
    let bar = progress::bar(name, manifest.bytes, global);
    let mut extract = Extract { manifest, selection };
    new_log::warn(name, format, &mut extract);
    let selection = extract.selection.clone();
    let job = CopyJob {
        log: &*opened.log,
        from: 0,
        selection,
        verify: true,
        progress: &|bytes| bar.inc(bytes),
    };
    let mut options = new_log::options(&args.writing);
    options.careful = true;
    provenance::tell(&mut options, format, [&opened.input], global)?;
    let done = new.write(&[extract], &options, |sink| Ok(copy(&job, None, sink)?));
    bar.finish_and_clear();
    let (copied, written) = done.with_context(|| name.clone())?;
    findings.add(manifest, &TopicSet::All, &copied.damage);
    findings.check(global.strict)?;

    let outcome = findings.outcome();
    let loss = Loss::new(manifest, &mut findings);
    let mut made = Made::new(&args.out, start);
    (made.records, made.bytes) = (copied.records, written.bytes);
    made.remarks = written.remarks;
    if copied.in_parts > 0 {
        let in_parts = counted(copied.in_parts, "record");
        made.remarks.push(format!("{in_parts} in parts that were copied unchanged"));
    }
    if outcome == Outcome::Done {
        made.remarks.push("nothing was lost".to_owned());
    }
    made.tell(name, opened.input.source.len(), global);
    if args.json {
        let report = loss.report(&opened, &args.out, &copied);
        let mut out = terminal::stdout();
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
        out.flush()?;
    } else if !global.quiet {
        loss.tell(&opened);
    }
    Ok(outcome)
}
