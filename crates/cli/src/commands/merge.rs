//! `logtool merge`: one log of several.

mod clocks;

use std::time::Instant;

use anyhow::Result;
use logtool_core::{Extract, MergeJob, Selection, TopicSet, merge};

use crate::{
    args::{GlobalArgs, MergeArgs},
    complaint::Complaint,
    findings::Findings,
    human::counted,
    made::Made,
    new_log::{self, NewLog},
    opened::{self, Opened},
    outcome::Outcome,
    progress,
};

pub(super) fn run(args: &MergeArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let mut logs: Vec<Opened> = Vec::new();
    let mut findings = Vec::new();
    for file in &args.files {
        let opened = opened::open(file, global)?;
        let mut found = Findings::of(&opened.input, opened.log.manifest());
        found.check(global.strict)?;
        logs.push(opened);
        findings.push(found);
    }
    check_formats(&logs)?;
    let Some(first) = logs.first() else { return Ok(Outcome::Done) };
    let format = new_log::format(&args.out, first.log.manifest())?;
    clocks::check(&logs, args.same_clock)?;
    let mut extracts: Vec<Extract<'_>> = logs
        .iter()
        .map(|opened| {
            let manifest = opened.log.manifest();
            Extract { manifest, selection: logged(opened) }
        })
        .collect();
    for (opened, extract) in logs.iter().zip(&mut extracts) {
        new_log::warn(&opened.input.name, format, extract);
    }
    let new = NewLog::begin(&args.out, format, args.writing.force)?;
    let jobs: Vec<MergeJob<'_>> = logs
        .iter()
        .zip(&extracts)
        .map(|(opened, extract)| {
            let selection = extract.selection.clone();
            MergeJob { log: &*opened.log, selection }
        })
        .collect();
    let records = logs.iter().flat_map(|opened| &opened.log.manifest().topics);
    let records = records.filter_map(|topic| topic.records).sum();
    let name = counted(logs.len() as u64, "log");
    let bar = progress::of_records(&name, records, global);
    let options = new_log::options(&args.writing);
    let done = new.write(&extracts, &options, |sink| {
        Ok(merge(&jobs, sink, &|records| bar.inc(records))?)
    });
    bar.finish_and_clear();
    let (copied, written) = done?;

    let mut made = Made::new(&args.out, start);
    made.records = copied.iter().map(|copied| copied.records).sum();
    (made.bytes, made.remarks) = (written.bytes, written.remarks);
    made.tell(&name, logs.iter().map(|opened| opened.input.source.len()).sum(), global);
    let mut worst = Outcome::Done;
    for ((opened, copied), mut findings) in logs.iter().zip(copied).zip(findings) {
        findings.add(opened.log.manifest(), &TopicSet::All, &copied.damage);
        worst = worst.max(findings.tell(global.quiet));
    }
    Ok(worst)
}

/// Everything but what is made of other records.
fn logged(opened: &Opened) -> Selection {
    let topics = opened.log.manifest().logged();
    Selection { topics, ..Selection::default() }
}

fn check_formats(logs: &[Opened]) -> Result<()> {
    let format = |opened: &Opened| opened.log.manifest().format.clone();
    for pair in logs.windows(2) {
        if let [one, other] = pair
            && format(one) != format(other)
        {
            let what = format!(
                "{} is {}, and {} is {}",
                one.input.name,
                format(one),
                other.input.name,
                format(other)
            );
            let hint = "only logs of one format can be merged";
            return Err(Complaint::misuse(what).hint(hint).into());
        }
    }
    Ok(())
}
