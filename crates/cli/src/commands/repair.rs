//! `logtool repair`: what can be read of a damaged log, in a sound one.

mod loss;
mod remaining;
mod undecodable;

use std::{io::Write as _, time::Instant};

use logtool::{
    Result,
    input::open,
    losses::Findings,
    output::{
        log_writer::{self, NewLog},
        provenance,
    },
    units::counted,
};
use logtool_core::{CopyJob, Extract, Selection, TopicSet, copy};

use crate::{
    args::{GlobalArgs, RepairArgs},
    commands::{
        existing,
        repair::{loss::Loss, remaining::Remaining, undecodable::Undecodable},
    },
    made::Made,
    notices,
    outcome::Outcome,
    progress, terminal,
};

pub(super) fn run(args: &RepairArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let opened = open::open(&args.file, &global.session)?;
    let (name, manifest) = (&opened.input.name, opened.log.manifest());
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;
    let format = log_writer::format(&args.out, manifest)?;
    let mut options = args.writing.options(format)?;
    options.careful = true;
    let new = NewLog::begin(
        &args.out,
        format,
        existing(args.writing.force),
        &global.session,
    )?;

    let topics = manifest.logged();
    let selection = Selection { topics, ..Selection::default() };
    let bar = progress::bar(name, manifest.bytes, global);
    let mut extract = Extract { manifest, selection };
    notices::warnings(name, &log_writer::take_out(format, &mut extract));
    let selection = extract.selection.clone();
    let job = CopyJob {
        log: &*opened.log,
        from: 0,
        selection,
        verify: true,
        drops_doubtful: args.drop_doubtful,
        progress: &|bytes| bar.inc(bytes),
    };
    provenance::tell_of(&mut options, format, [&opened.input], &global.session)?;
    // What a strict run fails at is found before the new log has its name.
    let done = new.write(&[extract], &options, |sink| {
        let copied = copy(&job, None, sink)?;
        let left_out = sink.left_out(0).to_vec();
        findings.add(manifest, &TopicSet::All, &copied.damage);
        findings.add(manifest, &TopicSet::All, &left_out);
        findings.check(global.strict)?;
        let undecodable = Undecodable::of(&opened, &copied);
        undecodable.check(global.strict)?;
        Ok((copied, left_out, undecodable))
    });
    bar.finish_and_clear();
    let ((copied, left_out, undecodable), written) =
        done.map_err(|err| err.about(name))?;

    let outcome = notices::outcome(&findings);
    let loss = Loss::new(manifest, &mut findings);
    let mut made = Made::new(&args.out, start);
    let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
    made.records = copied.records.saturating_sub(lost);
    made.bytes = written.bytes;
    made.remarks = written.remarks;
    if copied.in_parts > 0 {
        let in_parts = counted(copied.in_parts, "record");
        made.remarks.push(format!("{in_parts} in parts that were copied unchanged"));
    }
    made.remarks.extend(undecodable.remark());
    if outcome == Outcome::Done {
        made.remarks.push("nothing was lost".to_owned());
    }
    made.tell(name, opened.input.source.len(), global);
    let remaining = Remaining::new(&args.out, global)?;
    if args.json {
        remaining.with_json(|findings| -> Result<()> {
            let undecodable = undecodable.records;
            let report =
                loss.report(&opened, &args.out, &copied, undecodable, findings);
            let mut out = terminal::stdout();
            serde_json::to_writer_pretty(&mut out, &report)?;
            writeln!(out)?;
            Ok(out.flush()?)
        })?;
    } else if !global.quiet {
        loss.tell(&opened);
        remaining.print()?;
    }
    Ok(outcome)
}
