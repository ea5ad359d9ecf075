//! Converting one log.

use std::{path::Path, sync::Arc, time::Instant};

use logtool::{
    Result,
    error::Context as _,
    input::open::{self, Opened},
    labels,
    losses::Findings,
    output::{
        guarded::{self, Guarded},
        provenance,
    },
    time::clock,
    units::{Bytes, Span, counted},
};
use logtool_core::{Labels, Provenance};
use logtool_sinks::Existing;
use logtool_ulog::Header;

use crate::{
    args::{ConvertArgs, GlobalArgs, Layout, Target},
    commands::convert::{
        images,
        job::{Job, Made},
        left_over, merged, payloads, points, px4, sidecar, tables, tracks,
    },
    lidar_options, notices,
    outcome::Outcome,
    progress, raw,
    terminal::say,
};

/// Converts `input` into tables in the folder `place`, or into the one file
/// `place`.
pub(super) fn run(
    input: &Path,
    place: &Path,
    args: &ConvertArgs,
    labels: Option<Arc<Labels>>,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let start = Instant::now();
    let (opened, header, digest) = open_with_digest(input, args, global)?;
    let name = &opened.input.name.clone();
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;

    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let file = args.one_file();
    let is_stdout = args.is_stdout();
    let new_outputs = || match (is_stdout, file) {
        (true, _) => Ok(guarded::stdout(&global.session)),
        (_, Some(file)) => guarded::one_file(file, existing, &global.session),
        (_, None) => guarded::outputs(place, existing, &global.session),
    };
    let outputs = new_outputs()?;
    let bar = progress::bar(name, opened.log.manifest().bytes, global);
    let progress = |bytes| bar.inc(bytes);
    let progress = &progress;
    let provenance = provenance::of_known(&opened.input, &digest, &global.session);
    let conversion = Conversion {
        args,
        labels,
        provenance: &provenance,
        header: header.as_ref(),
        progress,
    };
    let made = conversion.run(opened, outputs, || {
        bar.reset();
        new_outputs()
    });
    bar.finish_and_clear();
    let (opened, outputs, made) = made.with_context(|| name.clone())?;
    findings.add(opened.log.manifest(), &made.topics, &made.damage);
    findings.check(global.strict)?;
    let has_sidecar = !is_stdout
        && file.is_none()
        && made.tables > 0
        && sidecar::is_wanted(args.target());
    let sidecar = match has_sidecar {
        true => sidecar::write(&outputs, existing, &provenance),
        false => Ok(None),
    };
    let sidecar = sidecar.with_context(|| name.clone())?;
    let files = outputs.commit().with_context(|| name.clone())?;
    if !global.quiet && files.is_empty() && !is_stdout {
        let why = match made.remarks.is_empty() {
            true => format!(": {}", clock::nothing(&opened.log.manifest().clock)),
            false => String::new(),
        };
        say!("{name}: nothing is written{why}");
    } else if !global.quiet {
        let sidecar = sidecar.map(|name| outputs.dir().join(name));
        let tables = files.iter().filter(|(path, _)| Some(path) != sidecar.as_ref());
        let took = start.elapsed();
        let speed =
            opened.input.source.len() as f64 / 1e6 / took.as_secs_f64().max(1e-6);
        let place = match is_stdout || file.is_some() {
            true => place.to_owned(),
            false => place.join(""),
        };
        let written = match is_stdout {
            true => String::new(),
            false => format!(", {}", Bytes(tables.map(|(_, len)| len).sum())),
        };
        say!(
            "{name} → {}: {}, {}{written} in {} ({speed:.0} MB/s)",
            place.display(),
            counted(made.tables, "table"),
            counted(made.rows, "row"),
            Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
        );
    }
    if !global.quiet {
        made.remarks.iter().for_each(|remark| say!("  {remark}"));
        left_over::warn(&files);
        notices::lidars(name, opened.log.manifest(), &made.topics);
        raw::warn(name, opened.log.manifest(), &made.topics);
    }
    Ok(notices::losses(findings, global.quiet))
}

/// One log on its way into outputs.
struct Conversion<'c> {
    args: &'c ConvertArgs,
    labels: Option<Arc<Labels>>,
    provenance: &'c Provenance,
    header: Option<&'c Header>,
    /// Receives the number of bytes that were processed since the last call.
    progress: &'c (dyn Fn(u64) + Sync),
}

impl Conversion<'_> {
    /// Writes `opened` into `outputs`. If tables turn out to need payloads, all are written
    /// again, into `new_outputs`.
    fn run(
        &self,
        opened: Opened,
        outputs: Guarded,
        new_outputs: impl FnOnce() -> Result<Guarded>,
    ) -> Result<(Opened, Guarded, Made)> {
        if self.args.is_stdout() {
            // Standard output cannot be rewritten, so the topics must be known before.
            let job = Job { progress: &|_| {}, ..self.job(&opened, &outputs) };
            let topics = payloads::topics_by_decoding(&job)?;
            let opened = payloads::with_payloads(opened, topics);
            let made = write(self.job(&opened, &outputs), self.header)?;
            return Ok((opened, outputs, made));
        }
        let made = write(self.job(&opened, &outputs), self.header)?;
        let topics = payloads::topics(self.args, opened.log.manifest(), &made);
        if topics.is_empty() {
            return Ok((opened, outputs, made));
        }
        drop(outputs);
        let (opened, outputs) =
            (payloads::with_payloads(opened, topics), new_outputs()?);
        let made = write(self.job(&opened, &outputs), self.header)?;
        Ok((opened, outputs, made))
    }

    fn job<'j>(&'j self, opened: &'j Opened, outputs: &'j Guarded) -> Job<'j> {
        Job {
            opened,
            outputs,
            args: self.args,
            labels: self.labels.clone(),
            provenance: self.provenance,
            tables: None,
            progress: self.progress,
        }
    }
}

/// Opens the log `input`, of which PX4's layout wants more than others.
pub(in crate::commands) fn open(
    input: &Path,
    args: &ConvertArgs,
    global: &GlobalArgs,
) -> Result<(Opened, Option<Header>)> {
    if args.layout == Some(Layout::Px4) {
        let (input, log) = open::open_ulog(input, &global.session, "such layout")?;
        let header = log.header().clone();
        return Ok((Opened { input, log: Box::new(log) }, Some(header)));
    }
    let lidar = lidar_options::options(&args.lidar, args.clock.time())?;
    Ok((open::open_with(input, &global.session, &lidar)?, None))
}

/// The same, and its digest.
fn open_with_digest(
    input: &Path,
    args: &ConvertArgs,
    global: &GlobalArgs,
) -> Result<(Opened, Option<Header>, String)> {
    if args.layout == Some(Layout::Px4) {
        let (opened, header) = open(input, args, global)?;
        let digest = provenance::digest(&opened.input)?;
        return Ok((opened, header, digest));
    }
    let lidar = lidar_options::options(&args.lidar, args.clock.time())?;
    let (opened, digest) = open::open_with_digest(input, &global.session, &lidar)?;
    Ok((opened, None, digest))
}

/// Writes what is to come of one log, if that is no log, into the outputs of `job`.
pub(in crate::commands) fn write(
    mut job: Job<'_>,
    header: Option<&Header>,
) -> Result<Made> {
    let args = job.args;
    if job.labels.is_none() && args.labels.labels {
        job.labels = labels::of_log(job.opened.log.manifest());
    }
    match header {
        Some(header) => px4::write(&job, header),
        None if args.target() == Target::Images => images::write(&job),
        None if args.target().is_points() => points::write(&job),
        None if args.target().is_track() => tracks::write(&job, args.one_file()),
        None if args.merge.is_some() => merged::write(&job),
        None => tables::write(&job),
    }
}
