//! A log of another format, with the records as they are.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use logtool::{
    Error, Result,
    error::Context as _,
    formats::LogFormat,
    input::{Input, STDIN, open, url},
    lidar::calibration_loss,
    losses::Findings,
    output::{
        OutputSummary,
        log_writer::{self, NewLog},
        provenance,
    },
    selection,
    time::{
        clock::{self, ShownClock},
        offset::Moved,
        usable::Usable,
    },
    translate::{Frames, Way, Wish},
};
use logtool_core::{
    ClockFit, ClockZero, CopyJob, Damage, Extract, Log, RecordSink, Selection,
    TopicSet, WriteOptions, copy,
};

use crate::{
    args::{ConvertArgs, GlobalArgs, Target, TimeChoice},
    commands::existing,
    lidar_options, notices,
    outcome::Outcome,
    output_summary, progress,
    terminal::say,
};

/// Where the log goes that `input` becomes: to OUT, or into it if it is a folder or
/// there are several inputs.
pub(super) fn place(input: &Path, args: &ConvertArgs) -> Result<PathBuf> {
    let stem = match input.as_os_str() == STDIN {
        true => "stdin".to_owned(),
        false => open::stem(input).with_context(|| input.display().to_string())?,
    };
    let name = format!("{stem}.{}", format(args.target()).extension());
    match &args.out {
        Some(out) if args.inputs.len() == 1 && !url::is_folder(out) => Ok(out.clone()),
        Some(out) if args.inputs.len() > 1 && out.extension().is_some() => {
            let what = format!("several logs in one file, {}", out.display());
            let hint = "`logtool merge` makes one log of several";
            Err(Error::invalid(what).with_hint(hint))
        }
        Some(out) => Ok(out.join(name)),
        None => Ok(name.into()),
    }
}

/// Returns the format of the logs that are written for `target`.
pub(in crate::commands) fn format(target: Target) -> LogFormat {
    match target {
        Target::Bag => LogFormat::Rosbag,
        Target::Pcap => LogFormat::Capture,
        Target::Vel => LogFormat::Vel,
        _ => LogFormat::Mcap,
    }
}

/// Writes the records of `input` into a log at `place`.
pub(super) fn run(
    input: &Path,
    place: &Path,
    args: &ConvertArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let start = Instant::now();
    let (input, log) = open(input, args, global)?;
    let (name, manifest) = (&input.name, log.manifest());
    let mut findings = Findings::of(&input, manifest);
    findings.check(global.strict)?;

    let mut ready = Ready::new(&input, &log, args)?;
    wish(args).check(&[ready.way])?;
    ready.options.verified = global.strict;
    provenance::tell_of(&mut ready.options, ready.format, [&input], &global.session)?;
    if ready.way.is_some_and(Way::is_of_lidar) {
        notices::lidars(name, manifest, &ready.topics);
    }
    ready.tell(name, global.quiet);
    let new =
        NewLog::begin(place, ready.format, existing(args.force), &global.session)?;
    let bar = progress::bar(name, manifest.bytes, global);
    let progress = |bytes| bar.inc(bytes);
    // What a strict run fails at is found before the new log has its name.
    let written = new.write(&[ready.extract()], &ready.options, |sink| {
        let (records, damage) = ready.copy(sink, &progress)?;
        findings.add(manifest, &ready.topics, &damage);
        findings.check(global.strict)?;
        Ok(records)
    });
    bar.finish_and_clear();
    let (records, written) = written.map_err(|err| err.about(name))?;

    let mut summary = OutputSummary::new(place);
    summary.input_bytes = input.source.len();
    summary.records = records;
    summary.bytes = written.bytes;
    summary.remarks = written.remarks;
    let new = (place, written.bytes);
    summary.remarks.extend(calibration_loss::lost(
        (name, manifest),
        new,
        &global.session,
    ));
    output_summary::print(name, &summary, start, global);
    Ok(notices::losses(findings, global.quiet))
}

fn wish(args: &ConvertArgs) -> Wish {
    Wish::typed(args.ros2, args.foxglove)
}

/// Opens the log `input`, of which the records are wanted as they are.
pub(in crate::commands) fn open(
    input: &Path,
    args: &ConvertArgs,
    global: &GlobalArgs,
) -> Result<(Input, Arc<dyn Log>)> {
    // What is made for a new log is of UTC, whatever clock --from and --to are typed on.
    let lidar = lidar_options::options(&args.lidar, TimeChoice::Utc)?;
    let opened = open::open_to_copy(input, &global.session, &lidar)?;
    Ok((opened.input, opened.log.into()))
}

/// A log that is ready to be written as another.
pub(in crate::commands) struct Ready {
    /// The topics of the log that are read.
    pub(in crate::commands) topics: TopicSet,
    /// The format that it becomes.
    pub(in crate::commands) format: LogFormat,
    pub(in crate::commands) options: WriteOptions,
    /// What people should know before: a sentence each.
    pub(in crate::commands) remarks: Vec<String>,
    /// What the new log has no place for.
    pub(in crate::commands) warnings: Vec<String>,
    /// How it is made one that the format can hold.
    pub(in crate::commands) way: Option<Way>,
    /// The log with the records as they will be written, and which of them are wanted.
    beneath: Arc<dyn Log>,
    selection: Selection,
}

impl Ready {
    /// What `args` want of `log`, which is `input`.
    pub(in crate::commands) fn new(
        input: &Input,
        log: &Arc<dyn Log>,
        args: &ConvertArgs,
    ) -> Result<Self> {
        let manifest = log.manifest();
        let clock = ShownClock::new(manifest, args.clock.time())?;
        let time = clock.range(args.records.from, args.end())?;
        let format = format(args.target());
        let way = Way::of(manifest, format, wish(args));
        let mut topics = match way.filter(|_| args.records.topics.is_empty()) {
            Some(way) => way.all_topics(manifest),
            None => selection::topics(manifest, &args.records.topics, false)?,
        };
        // The packets in messages of ROS are topics of their own.
        let own = LogFormat::of(manifest);
        let is_of_ros = own.is_some_and(LogFormat::has_messages);
        if args.target() == Target::Pcap || args.target() == Target::Vel && is_of_ros {
            topics = selection::with_packets(manifest, &topics)?;
        } else if way.is_none_or(Way::is_one_for_one) {
            topics = selection::copied(manifest, &topics)?;
        }
        lidar_options::check_each(&args.lidar, manifest, &topics)?;
        let mut options = WriteOptions::default();
        options.compression = log_writer::compression(args.compression, format)?;
        options.transcode = args.ros2.then(|| "cdr".to_owned());
        let (mut remarks, mut warnings) = (Vec::new(), Vec::new());
        let (beneath, selection) = match way {
            Some(way) => {
                let moved = Moved::to_unix(&manifest.clock);
                let wanted = Selection { topics: topics.clone(), time };
                let prepared =
                    way.prepare(log.clone(), &wanted, moved, &Frames::default())?;
                (remarks, warnings) = (prepared.remarks, prepared.warnings);
                remarks.extend(way.left_out(manifest, format));
                if !moved.is_unix {
                    let zero = clock::zero(&manifest.clock);
                    remarks
                        .push(format!("times count from {zero}: it does not know UTC"));
                }
                if manifest.clock.zero == ClockZero::Unix {
                    let fit = manifest.clock.to_unix.as_ref();
                    let why = |fit: &ClockFit| format!(", as {} tell UTC", fit.source);
                    let why = fit.map(why).unwrap_or_default();
                    remarks.extend(moved.told().map(|told| format!("{told}{why}")));
                }
                options.words = way.words(manifest, input.file_name());
                let time = time.later(moved.nanos);
                (prepared.log, Selection { time, ..Selection::default() })
            }
            None => {
                let mut log = log.clone();
                if is_of_ros && own != Some(format) {
                    let usable = Usable::new(log)?;
                    log = usable.log;
                    warnings.extend(usable.warning);
                }
                (log, Selection { topics: topics.clone(), time })
            }
        };
        let mut extract = Extract { manifest: beneath.manifest(), selection };
        warnings.extend(log_writer::take_out(format, &mut extract));
        let selection = extract.selection;
        Ok(Self { topics, format, options, remarks, warnings, way, beneath, selection })
    }

    /// What the new log is to hold.
    pub(in crate::commands) fn extract(&self) -> Extract<'_> {
        let (manifest, selection) = (self.beneath.manifest(), self.selection.clone());
        Extract { manifest, selection }
    }

    /// Writes the records into `sink`: tells how many it took, and what was damaged or is
    /// left out.
    pub(in crate::commands) fn copy(
        &self,
        sink: &mut dyn RecordSink,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(u64, Vec<Damage>)> {
        let job = CopyJob {
            log: &*self.beneath,
            from: 0,
            selection: self.selection.clone(),
            verify: false,
            drops_doubtful: false,
            progress,
        };
        let copied = copy(&job, None, sink)?;
        let left_out = sink.left_out(0);
        let lost = left_out.iter().map(|damage| damage.records).sum();
        let damage = [&copied.damage, left_out].concat();
        Ok((copied.records.saturating_sub(lost), damage))
    }

    /// Tells what people should know of the log `name` before it is written.
    fn tell(&self, name: &str, is_quiet: bool) {
        notices::warnings(name, &self.warnings);
        if !is_quiet {
            self.remarks.iter().for_each(|remark| say!("{name}: {remark}"));
        }
    }
}
