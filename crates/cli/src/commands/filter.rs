//! `logtool filter`: a part of a log.

mod mixed;

use std::time::Instant;

use logtool::{
    Error, Result,
    error::Context as _,
    input::open::{self, Opened},
    lidar::calibration_loss,
    losses::Findings,
    output::{
        log_writer::{self, NewLog},
        provenance,
    },
    selection, suggest,
    time::clock::{self, ShownClock},
    units::counted,
};
use logtool_core::{
    CopyJob, Extract, Format, Held, Manifest, Restamp, Retime, Selection, Topic,
    TopicSet, WriteOptions, copy, held,
};

use crate::{
    args::{FilterArgs, GlobalArgs},
    commands::existing,
    made::Made,
    notices,
    outcome::Outcome,
    progress,
};

pub(super) fn run(args: &FilterArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let opened = open::open(&args.file, &global.session)?;
    let (name, manifest) = (&opened.input.name, opened.log.manifest());
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;
    let format = log_writer::format(&args.out, manifest)?;
    let mut wanted =
        Wanted::new(&opened, args, format).with_context(|| name.clone())?;
    wanted.options.verified = global.strict;
    let new = NewLog::begin(
        &args.out,
        format,
        existing(args.writing.force),
        &global.session,
    )?;
    provenance::tell_of(&mut wanted.options, format, [&opened.input], &global.session)?;

    let bar = progress::bar(name, manifest.bytes, global);
    let mut extract = Extract { manifest, selection: wanted.selection.clone() };
    notices::warnings(name, &log_writer::take_out(format, &mut extract));
    let selection = extract.selection.clone();
    mixed::warn(name, manifest, &selection.topics, &wanted.options);
    let job = CopyJob {
        log: &*opened.log,
        from: 0,
        selection,
        verify: false,
        drops_doubtful: false,
        progress: &|bytes| bar.inc(bytes),
    };
    let (held, from) = (std::mem::take(&mut wanted.held), wanted.selection.time.start);
    let (restamp, topics) = (&mut wanted.restamp, &wanted.selection.topics);
    // What a strict run fails at is found before the new log has its name.
    let done = new.write(&[extract], &wanted.options, |sink| {
        for held in &held {
            sink.write(0, held.at(from))?;
        }
        let restamp = restamp.as_mut().map(|restamp| restamp as &mut dyn Retime);
        let copied = copy(&job, restamp, sink)?;
        let left_out = sink.left_out(0).to_vec();
        findings.add(manifest, topics, &copied.damage);
        findings.add(manifest, topics, &left_out);
        findings.check(global.strict)?;
        Ok((copied, left_out))
    });
    bar.finish_and_clear();
    let ((copied, left_out), written) = done.map_err(|err| err.about(name))?;

    let mut made = Made::new(&args.out, start);
    let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
    made.records = (copied.records + held.len() as u64).saturating_sub(lost);
    made.bytes = written.bytes;
    made.remarks = written.remarks;
    if made.records == 0 && notices::outcome(&findings) == Outcome::Done {
        made.remarks.push(clock::nothing(&manifest.clock));
    }
    made.remarks.extend(wanted.remarks(manifest, args, held.len()));
    let new = (&*args.out, written.bytes);
    made.remarks.extend(calibration_loss::lost((name, manifest), new, &global.session));
    made.tell(&opened.input.name, opened.input.source.len(), global);
    Ok(notices::losses(findings, global.quiet))
}

/// What was asked for, as the log knows it.
struct Wanted {
    selection: Selection,
    options: WriteOptions,
    restamp: Option<Restamp>,
    held: Vec<Held>,
}

impl Wanted {
    fn new(opened: &Opened, args: &FilterArgs, format: &dyn Format) -> Result<Self> {
        let (log, manifest) = (&*opened.log, opened.log.manifest());
        let clock = ShownClock::new(manifest, args.clock.time())?;
        let time = clock.range(args.records.from, args.to)?;
        let topics = topics(manifest, args)?;
        let mut options = args.writing.options(format)?;
        rename(manifest, args, &mut options)?;
        let restamp = match &args.restamp {
            Some(field) => Some(restamp(opened, &topics, field)?),
            None => None,
        };
        let held = match args.latch {
            true => held(log, &topics, time.start)?,
            false => Vec::new(),
        };
        options.retimed = restamp.is_some();
        Ok(Self { selection: Selection { topics, time }, options, restamp, held })
    }

    /// What people should know.
    fn remarks(
        &self,
        manifest: &Manifest,
        args: &FilterArgs,
        held: usize,
    ) -> Vec<String> {
        let mut remarks = Vec::new();
        if args.latch {
            let told = counted(held as u64, "record");
            remarks.push(format!("{told} from before the cut, of what latches"));
        }
        let (Some(restamp), Some(field)) = (&self.restamp, &args.restamp) else {
            return remarks;
        };
        let without =
            manifest.topics().filter(|(id, _)| restamp.without().contains(*id));
        let without: Vec<_> = without.map(|(_, topic)| topic.label()).collect();
        if !without.is_empty() {
            let names = without.join(", ");
            remarks.push(format!("without a {field}, these keep their times: {names}"));
        }
        if restamp.kept() > 0 {
            let kept = counted(restamp.kept(), "record");
            remarks
                .push(format!("{kept} of which {field} is not set kept their times"));
        }
        remarks
    }
}

/// The topics that are wanted; all, where they are.
fn topics(manifest: &Manifest, args: &FilterArgs) -> Result<TopicSet> {
    let named = selection::topics(manifest, &args.records.topics, false)?;
    let excluded = match args.exclude.is_empty() {
        true => TopicSet::EMPTY,
        false => selection::topics(manifest, &args.exclude, true)?,
    };
    let wanted = manifest.topics().map(|(id, _)| id);
    let wanted = wanted.filter(|id| named.contains(*id) && !excluded.contains(*id));
    selection::copied(manifest, &wanted.collect())
}

/// Puts the new names into `options`.
fn rename(
    manifest: &Manifest,
    args: &FilterArgs,
    options: &mut WriteOptions,
) -> Result<()> {
    for rename in &args.rename {
        let is_meant =
            |topic: &&Topic| topic.name == rename.from || topic.label() == rename.from;
        let meant: Vec<&Topic> = manifest.topics.iter().filter(is_meant).collect();
        if meant.is_empty() {
            let names = manifest.topics.iter().map(|topic| topic.name.as_str());
            let hint =
                suggest::hint(&rename.from, names, "`logtool info` lists the topics");
            let what = format!("the log has no topic `{}`", rename.from);
            return Err(Error::failed(what).with_hint(hint));
        }
        for topic in meant {
            let to = rename.to.clone();
            let before = options.rename.insert(topic.label().into_owned(), to);
            if before.is_some_and(|before| before != rename.to) {
                let what = format!("`{}` is renamed twice", rename.from);
                let hint = "each topic gets one name";
                return Err(Error::invalid(what).with_hint(hint));
            }
        }
    }
    Ok(())
}

fn restamp(opened: &Opened, topics: &TopicSet, field: &str) -> Result<Restamp> {
    Restamp::new(&*opened.log, topics, field).map_err(|err| match err.kind() {
        logtool_core::ErrorKind::NoSuch => {
            let what = format!("no topic that is wanted has a time called `{field}`");
            let hint =
                "fields are named as in the header of a CSV table, as header.stamp";
            Error::failed(what).with_hint(hint)
        }
        _ => err.into(),
    })
}
