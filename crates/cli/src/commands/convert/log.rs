//! A log of another format, with the records as they are.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context as _, Result};
use logtool_core::{
    Copied, CopyJob, Damage, Extract, Format, Log, RecordSink, Selection, TopicSet,
    WriteOptions, copy,
};

use crate::{
    args::{ConvertArgs, GlobalArgs, Target},
    clock::ShownClock,
    complaint::Complaint,
    findings::Findings,
    input::{Input, STDIN},
    lidars,
    made::Made,
    new_log::{self, NewLog},
    opened,
    outcome::Outcome,
    paint, progress, selection,
    terminal::say,
    translate,
};

/// The formats of which MCAP files and bags take the records as messages of ROS 1.
const AS_ROS: [&str; 2] = ["vel", "pcap"];

/// Where the log goes that `input` becomes: to OUT, or into it if it is a folder or
/// there are several inputs.
pub(super) fn place(input: &Path, args: &ConvertArgs) -> Result<PathBuf> {
    let stem = match input.as_os_str() == STDIN {
        true => "stdin".to_owned(),
        false => opened::stem(input).with_context(|| input.display().to_string())?,
    };
    let name = format!("{stem}.{}", end(args.target()));
    match &args.out {
        Some(out) if args.inputs.len() == 1 && !out.is_dir() => Ok(out.clone()),
        Some(out) if args.inputs.len() > 1 && out.extension().is_some() => {
            let what = format!("several logs in one file, {}", out.display());
            let hint = "`logtool merge` makes one log of several";
            Err(Complaint::misuse(what).hint(hint).into())
        }
        Some(out) => Ok(out.join(name)),
        None => Ok(name.into()),
    }
}

/// What the names of logs of the format `target` end in.
pub(in crate::commands) fn end(target: Target) -> &'static str {
    match target {
        Target::Bag => "bag",
        Target::Pcap => "pcap",
        Target::Vel => "vel",
        _ => "mcap",
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

    let ready = Ready::new(&input, &log, args)?;
    if ready.is_to_ros {
        lidars::warn(name, manifest, &ready.topics);
    }
    ready.tell(name, global.quiet);
    let new = NewLog::begin(place, ready.format, args.force)?;
    let bar = progress::bar(name, manifest.bytes, global);
    let progress = |bytes| bar.inc(bytes);
    let written = new
        .write(&[ready.extract()], &ready.options, |sink| ready.copy(sink, &progress));
    bar.finish_and_clear();
    let ((copied, left_out), written) = written.with_context(|| name.clone())?;
    findings.add(manifest, &ready.topics, &copied.damage);
    findings.add(manifest, &ready.topics, &left_out);
    findings.check(global.strict)?;

    let mut made = Made::new(place, start);
    let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
    made.records = copied.records.saturating_sub(lost);
    made.bytes = written.bytes;
    made.remarks = written.remarks;
    made.tell(name, input.source.len(), global);
    Ok(findings.tell(global.quiet))
}

/// Opens the log `input`, of which the records are wanted as they are.
pub(in crate::commands) fn open(
    input: &Path,
    args: &ConvertArgs,
    global: &GlobalArgs,
) -> Result<(Input, Arc<dyn Log>)> {
    let lidar = lidars::options(&args.lidar, args.clock.time)?;
    let opened = opened::open_to_copy(input, global, &lidar)?;
    Ok((opened.input, opened.log.into()))
}

/// A log that is ready to be written as another.
pub(in crate::commands) struct Ready {
    /// The topics of the log that are read.
    pub(in crate::commands) topics: TopicSet,
    /// The format that it becomes.
    pub(in crate::commands) format: &'static dyn Format,
    pub(in crate::commands) options: WriteOptions,
    /// What people should know before: a sentence each.
    pub(in crate::commands) remarks: Vec<String>,
    /// What the new log has no place for.
    pub(in crate::commands) warnings: Vec<String>,
    /// Whether points are made of packets.
    pub(in crate::commands) is_to_ros: bool,
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
        let clock = ShownClock::new(manifest, args.clock.time)?;
        let time = clock.range(args.records.from, args.end())?;
        let is_to_ros = AS_ROS.contains(&manifest.format.as_str())
            && matches!(args.target(), Target::Mcap | Target::Bag);
        let topics = match args.records.topics.is_empty() && is_to_ros {
            true => translate::ros_topics(manifest),
            false => selection::topics(manifest, &args.records.topics, false)?,
        };
        let format = new_log::called(match args.target() {
            Target::Bag => "rosbag",
            target => end(target),
        })?;
        let mut options = WriteOptions::default();
        options.transcode = args.ros2.then(|| "cdr".to_owned());
        let is_translated = translate::AS_PROTOBUF.contains(&manifest.format.as_str());
        let mut remarks = Vec::new();
        let (beneath, selection) = match args.target() {
            Target::Mcap if is_translated => {
                let topics = match args.records.topics.is_empty() {
                    true => translate::all_topics(manifest),
                    false => topics.clone(),
                };
                let prepared = translate::protobuf(log.clone(), &topics)?;
                remarks = prepared.remarks;
                options.words = translate::words(manifest, input.file_name());
                let time = time.later(prepared.offset_nanos);
                (prepared.log, Selection { time, ..Selection::default() })
            }
            _ if is_to_ros => {
                let prepared = translate::ros(log.clone(), &topics)?;
                remarks = prepared.remarks;
                options.words = translate::words(manifest, input.file_name());
                options.words.extend(translate::ros_words(manifest));
                let time = time.later(prepared.offset_nanos);
                (prepared.log, Selection { time, ..Selection::default() })
            }
            _ => (log.clone(), Selection { topics: topics.clone(), time }),
        };
        let mut extract = Extract { manifest: beneath.manifest(), selection };
        let warnings = new_log::take_out(format, &mut extract);
        let selection = extract.selection;
        Ok(Self {
            topics,
            format,
            options,
            remarks,
            warnings,
            is_to_ros,
            beneath,
            selection,
        })
    }

    /// What the new log is to hold.
    pub(in crate::commands) fn extract(&self) -> Extract<'_> {
        let (manifest, selection) = (self.beneath.manifest(), self.selection.clone());
        Extract { manifest, selection }
    }

    /// Writes the records into `sink`: tells what was read, and what it left out.
    pub(in crate::commands) fn copy(
        &self,
        sink: &mut dyn RecordSink,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Copied, Vec<Damage>)> {
        let job = CopyJob {
            log: &*self.beneath,
            from: 0,
            selection: self.selection.clone(),
            verify: false,
            progress,
        };
        let copied = copy(&job, None, sink)?;
        Ok((copied, sink.left_out(0).to_vec()))
    }

    /// Tells what people should know of the log `name` before it is written.
    fn tell(&self, name: &str, is_quiet: bool) {
        let warning = paint::for_stderr().yellow("warning:");
        self.warnings.iter().for_each(|text| say!("{warning} {name}: {text}"));
        if !is_quiet {
            self.remarks.iter().for_each(|remark| say!("{name}: {remark}"));
        }
    }
}
