//! A log of another format, with the records as they are.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context as _, Result};
use logtool_core::{CopyJob, Extract, Log, Selection, WriteOptions, copy};

use crate::{
    args::{ConvertArgs, GlobalArgs, Target},
    clock::ShownClock,
    complaint::Complaint,
    findings::Findings,
    input::STDIN,
    lidars,
    made::Made,
    new_log::{self, NewLog},
    opened,
    outcome::Outcome,
    progress, provenance, selection,
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
    let end = match args.target() {
        Target::Bag => "bag",
        Target::Pcap => "pcap",
        Target::Vel => "vel",
        _ => "mcap",
    };
    let name = format!("{stem}.{end}");
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

/// Writes the records of `input` into a log at `place`.
pub(super) fn run(
    input: &Path,
    place: &Path,
    args: &ConvertArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let start = Instant::now();
    let lidar = lidars::options(&args.lidar, args.clock.time)?;
    let opened = opened::open_to_copy(input, global, &lidar)?;
    let log: Arc<dyn Log> = opened.log.into();
    let (name, manifest) = (&opened.input.name, log.manifest());
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;

    let clock = ShownClock::new(manifest, args.clock.time)?;
    let time = clock.range(args.records.from, args.end())?;
    let is_to_ros = AS_ROS.contains(&manifest.format.as_str())
        && matches!(args.target(), Target::Mcap | Target::Bag);
    let topics = match args.records.topics.is_empty() && is_to_ros {
        true => translate::ros_topics(manifest),
        false => selection::topics(manifest, &args.records.topics, false)?,
    };
    let format = match args.target() {
        Target::Bag => "rosbag",
        Target::Pcap => "pcap",
        Target::Vel => "vel",
        _ => "mcap",
    };
    let format = new_log::called(format)?;
    let mut options = WriteOptions::default();
    options.transcode = args.ros2.then(|| "cdr".to_owned());
    let is_translated = translate::AS_PROTOBUF.contains(&manifest.format.as_str());
    let (beneath, selection) = match args.target() {
        Target::Mcap if is_translated => {
            let topics = match args.records.topics.is_empty() {
                true => translate::all_topics(manifest),
                false => topics.clone(),
            };
            let prepared = translate::protobuf(log.clone(), &topics)?;
            if !global.quiet {
                prepared.remarks.iter().for_each(|remark| say!("{name}: {remark}"));
            }
            options.words = translate::words(manifest, opened.input.file_name());
            let time = time.later(prepared.offset_nanos);
            (prepared.log, Selection { time, ..Selection::default() })
        }
        _ if is_to_ros => {
            lidars::warn(name, manifest, &topics);
            let prepared = translate::ros(log.clone(), &topics)?;
            if !global.quiet {
                prepared.remarks.iter().for_each(|remark| say!("{name}: {remark}"));
            }
            options.words = translate::words(manifest, opened.input.file_name());
            options.words.extend(translate::ros_words(manifest));
            let time = time.later(prepared.offset_nanos);
            (prepared.log, Selection { time, ..Selection::default() })
        }
        _ => (log.clone(), Selection { topics: topics.clone(), time }),
    };
    let mut extract = Extract { manifest: beneath.manifest(), selection };
    new_log::warn(name, format, &mut extract);
    let selection = extract.selection.clone();
    let new = NewLog::begin(place, format, args.force)?;
    provenance::tell(&mut options, format, [&opened.input], global)?;
    let bar = progress::bar(name, manifest.bytes, global);
    let job = CopyJob {
        log: &*beneath,
        from: 0,
        selection: selection.clone(),
        verify: false,
        progress: &|bytes| bar.inc(bytes),
    };
    let done = new.write(&[extract], &options, |sink| {
        let copied = copy(&job, None, sink)?;
        Ok((copied, sink.left_out(0).to_vec()))
    });
    bar.finish_and_clear();
    let ((copied, left_out), written) = done.with_context(|| name.clone())?;
    findings.add(manifest, &topics, &copied.damage);
    findings.add(manifest, &topics, &left_out);
    findings.check(global.strict)?;

    let mut made = Made::new(place, start);
    let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
    made.records = copied.records.saturating_sub(lost);
    made.bytes = written.bytes;
    made.remarks = written.remarks;
    made.tell(name, opened.input.source.len(), global);
    Ok(findings.tell(global.quiet))
}
