//! `logtool merge`: one log of several.

mod apart;
mod clocks;
mod names;
mod ready;
mod renamed;
mod sources;
mod told;

use std::time::Instant;

use logtool::{
    Error, Result,
    formats::LogFormat,
    output::{
        OutputSummary,
        log_writer::{self, NewLog},
        provenance,
    },
    time::{
        clock::{self, ShownClock},
        offset::Moved,
    },
    translate::{Way, Wish},
    units::counted,
};
use logtool_core::{
    Clock, Extract, Manifest, MergeJob, Shift, TimeRange, TopicSet, merge,
};

use crate::{
    args::{GlobalArgs, MergeArgs},
    commands::{
        existing,
        merge::{ready::Ready, sources::Source},
    },
    notices,
    outcome::Outcome,
    output_summary, progress,
};

pub(super) fn run(args: &MergeArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let mut sources = sources::open(args, global)?;
    let format = format(args, &sources)?;
    let mut options = args.writing.output(&args.out).options(format)?;
    let moved = moved(args, &sources, format)?;
    apart::check(&sources, &moved)?;
    if !global.quiet {
        apart::tell(&sources, &moved);
    }
    let mut logs = ready::ready(&sources, &moved, format, args, global)?;
    renamed::rename(&mut logs, &sources, &moved, (args, global))?;
    let mut extracts: Vec<Extract<'_>> = logs.iter().map(Ready::extract).collect();
    let time = wanted_time(args, &sources, &moved)?;
    extracts.iter_mut().for_each(|extract| extract.selection.time = time);
    for (source, extract) in sources.iter().zip(&mut extracts) {
        notices::warnings(&source.input.name, &log_writer::take_out(format, extract));
    }
    // That nothing can be read of a log is told before anything is written.
    for (source, (ready, extract)) in sources.iter().zip(logs.iter().zip(&extracts)) {
        let parts = extract.manifest.plan(&extract.selection, 0);
        let readable =
            parts.first().map(|part| ready.log.read(part, &extract.selection));
        readable
            .transpose()
            .map_err(|err| Error::from(err).about(&source.input.name))?;
    }
    let new = NewLog::begin(
        &args.out,
        format,
        existing(args.writing.force),
        &global.session,
    )?;
    let jobs = logs.iter().zip(&extracts).map(|(ready, extract)| {
        let selection = extract.selection.clone();
        MergeJob { log: &*ready.log, selection }
    });
    let jobs: Vec<MergeJob<'_>> = jobs.collect();
    let topics = logs.iter().flat_map(|ready| &ready.log.manifest().topics);
    let records = topics.filter_map(|topic| topic.records).sum();
    let name = counted(logs.len() as u64, "log");
    let bar = progress::of_records(&name, records, global);
    let shifts = sources.iter().zip(&moved);
    let shifts = shifts
        .map(|(source, moved)| source.drift.unwrap_or_default().later(moved.nanos));
    options.shifts = shifts.collect();
    options.retimed = options.shifts.iter().any(|shift| *shift != Shift::default());
    options.verified = global.strict;
    options.words = logs.iter().flat_map(|ready| ready.words.clone()).collect();
    let inputs = sources.iter().map(|source| &source.input);
    provenance::tell_of(&mut options, format, inputs, &global.session)?;
    // What a strict run fails at is found before the new log has its name.
    let done = new.write(&extracts, &options, |sink| {
        let copied = merge(&jobs, sink, &|records| bar.inc(records))?;
        let left_out = (0..jobs.len()).map(|from| sink.left_out(from).to_vec());
        let copied: Vec<_> = copied.into_iter().zip(left_out).collect();
        for (source, (copied, left_out)) in sources.iter_mut().zip(&copied) {
            let Source { findings, log, .. } = source;
            findings.add(log.manifest(), &TopicSet::All, left_out);
            findings.add(log.manifest(), &TopicSet::All, &copied.damage);
            findings.check(global.strict)?;
        }
        Ok(copied)
    });
    bar.finish_and_clear();
    let (copied, written) = done?;

    let mut summary = OutputSummary::new(&args.out);
    summary.input_bytes = sources.iter().map(|source| source.input.source.len()).sum();
    let records = copied.iter().map(|(copied, left_out)| {
        let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
        copied.records.saturating_sub(lost)
    });
    summary.records = records.sum();
    (summary.bytes, summary.remarks) = (written.bytes, written.remarks);
    if summary.records == 0 && args.from.or(args.to).is_some() {
        summary.remarks.push(clock::nothing(&Clock::default()));
    }
    output_summary::print(&name, &summary, start, global);
    let mut worst = Outcome::Done;
    for source in sources {
        worst = worst.max(notices::losses(source.findings, global.quiet));
    }
    Ok(worst)
}

/// The times of the new log that are wanted, on its clock.
fn wanted_time(
    args: &MergeArgs,
    sources: &[Source],
    moved: &[Moved],
) -> Result<TimeRange> {
    let logs = || sources.iter().map(|source| source.log.manifest()).zip(moved);
    let times = logs().filter_map(|(log, moved)| Some(log.time?.later(moved.nanos)));
    let is_unix = moved.iter().any(|moved| moved.is_unix);
    let own = logs().next().filter(|_| !is_unix);
    let clock = own.map(|(log, _)| log.clock.clone()).unwrap_or_default();
    let time = times.reduce(|all, next| all.cover(&next));
    let merged = Manifest { clock, time, ..Manifest::default() };
    ShownClock::new(&merged, args.clock.time())?.range(args.from, args.to)
}

/// The format of the new log: that of the logs, or an MCAP file or a bag of several.
fn format(args: &MergeArgs, sources: &[Source]) -> Result<LogFormat> {
    let end = args.out.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let found = LogFormat::from_extension(end).filter(|format| format.has_messages());
    if let Some(format) = found {
        let has_place = |source: &&Source| {
            source.format().is_some_and(|own| format.can_hold(own))
                || Way::of(source.log.manifest(), format, Wish::Any).is_some()
        };
        if let Some(other) = sources.iter().find(|source| !has_place(source)) {
            let (name, own) = (&other.input.name, &other.log.manifest().format);
            let what = format!("{name} is {own}, which {end} files cannot hold");
            return Err(Error::invalid(what));
        }
        return Ok(format);
    }
    for pair in sources.windows(2) {
        if let [one, other] = pair
            && one.format() != other.format()
        {
            let what = format!(
                "{} is {}, and {} is {}",
                one.input.name,
                one.log.manifest().format,
                other.input.name,
                other.log.manifest().format
            );
            let hint = "logs of several formats become one MCAP file, or one bag, which \
                        OUT then has to be called: all.mcap, all.bag";
            return Err(Error::invalid(what).with_hint(hint));
        }
    }
    let Some(first) = sources.first() else {
        return Err(Error::invalid("there are no logs to merge"));
    };
    log_writer::format(&args.out, first.log.manifest())
}

/// By how much the times of each log are moved.
fn moved(
    args: &MergeArgs,
    sources: &[Source],
    format: LogFormat,
) -> Result<Vec<Moved>> {
    let is_as_is = |source: &Source| source.format() == Some(format);
    let is_told = |source: &Source| source.offset.is_some() || source.drift.is_some();
    if !sources.iter().any(is_told) && sources.iter().all(is_as_is) {
        clocks::check(sources, args.same_clock)?;
        return Ok(vec![Moved::default(); sources.len()]);
    }
    if !format.has_messages() {
        let format = format.name();
        let what = format!(
            "the times of a {format} log are in its records, which are copied as they are"
        );
        let hint = "an MCAP file can have them at other times: let OUT end in .mcap";
        return Err(Error::invalid(what).with_hint(hint));
    }
    let moved = clocks::moved(sources, args.same_clock)?;
    clocks::since_1970(sources, moved)
}
