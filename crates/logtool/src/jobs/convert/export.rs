//! The conversion of a log to tables, images, points or tracks.

use std::{path::Path, sync::Arc};

use logtool_core::{Labels, Provenance};
use logtool_ulog::Metadata;
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    error::{Context as _, Error, Result},
    formats,
    jobs::{
        convert::{
            Convert, ConvertRequest, Destination, FormatKind, TableLayout, images,
            job::{ExportJob, ExportSummary},
            merged_table, payloads, points, provenance_file, px4,
            report::{ConvertReport, OutputFile},
            stale_files, tables, tracks,
        },
        output::{
            guarded_outputs::{self, GuardedOutputs},
            overwrite_guard, provenance,
        },
    },
    source::{
        input::{
            open::{self, OpenLog},
            url,
        },
        lidar,
        progress_counter::ProgressCounter,
        session::Session,
    },
    time::clock::{self, TimeChoice},
};

/// Converts the input of `convert` to files.
pub(super) fn run(convert: &Convert, session: &Session) -> Result<ConvertReport> {
    let Convert { input, destination, request, existing, strictness } = convert;
    check_destination(destination, input)?;
    let (opened, header, digest) = open_with_digest(input, request, session)?;
    let name = &opened.input.name.clone();
    let mut losses = opened.input.findings(opened.log.manifest());
    losses.check(*strictness)?;
    let manifest = opened.log.manifest();
    session.warn_of_late_times(name, manifest, request.start, request.end);

    let outputs = new_outputs(convert, session)?;
    let provenance = provenance::from_digest(&opened.input, &digest, session);
    let exporter = Exporter {
        convert,
        session,
        labels: request.labels(opened.log.manifest()),
        provenance: &provenance,
        header: header.as_ref(),
    };
    let exported = exporter.run(opened, outputs).with_context(|| name.clone())?;
    let (opened, outputs, summary) = exported;
    let manifest = opened.log.manifest();
    losses.add(manifest, &summary.topics, &summary.damage);
    losses.check(*strictness)?;
    let has_provenance_file = matches!(destination, Destination::Folder(_))
        && summary.tables > 0
        && !request.format.has_provenance();
    let provenance_file = if has_provenance_file {
        provenance_file::write(&outputs, *existing, &provenance)
    } else {
        Ok(None)
    };
    let provenance_file = provenance_file.with_context(|| name.clone())?;
    let files = outputs.commit().with_context(|| name.clone())?;

    let mut report = ConvertReport::new(name, opened.input.source.len(), losses);
    report.files =
        files.into_iter().map(|(path, bytes)| OutputFile { path, bytes }).collect();
    report.stale_files = stale_files::find(&report.files);
    let has_files = !report.files.is_empty() || destination.is_stdout();
    let is_table =
        matches!(request.format.kind(), FormatKind::Tables(_) | FormatKind::Arrays(_));
    let has_rows = !is_table || summary.rows > 0 || report.losses.has_damage();
    if !(has_files && has_rows) && summary.remarks.is_empty() {
        report.empty_reason = Some(clock::empty_selection(&manifest.clock));
    }
    if let Some(name) = provenance_file {
        let path = outputs.dir().join(name);
        let index = report.files.iter().position(|file| file.path == path);
        report.provenance_file = index.map(|index| report.files.remove(index));
    }
    report.lidar = lidar::warnings(manifest, &summary.topics);
    report.raw_topics = formats::raw_topics(manifest, &summary.topics);
    (report.tables, report.rows) = (summary.tables, summary.rows);
    (report.topic_rows, report.remarks) = (summary.topic_rows, summary.remarks);
    report.remedy = summary.remedy;
    Ok(report)
}

/// Rejects a folder that is a file, and a file that is the input.
fn check_destination(destination: &Destination, input: &Path) -> Result<()> {
    match destination {
        Destination::Folder(folder)
            if url::from_path(folder).is_none() && folder.is_file() =>
        {
            let message = format!("{} is a file, not a folder", folder.display());
            Err(Error::invalid_request(message).with_hint("name a folder"))
        }
        Destination::File(file) => overwrite_guard::refuse(file, [input]),
        _ => Ok(()),
    }
}

fn new_outputs(convert: &Convert, session: &Session) -> Result<GuardedOutputs> {
    let (existing, format) = (convert.existing, convert.request.format);
    match &convert.destination {
        Destination::Stdout => {
            guarded_outputs::for_stdout(format.name(), format.is_text(), session)
        }
        Destination::File(file) => guarded_outputs::for_file(file, existing, session),
        Destination::Folder(folder) => {
            guarded_outputs::for_folder(folder, existing, session)
        }
    }
}

/// Writes one log to outputs.
struct Exporter<'e> {
    convert: &'e Convert,
    session: &'e Session,
    labels: Option<Arc<Labels>>,
    provenance: &'e Provenance,
    header: Option<&'e Metadata>,
}

impl Exporter<'_> {
    /// Writes `opened` to `outputs`. If tables turn out to need payloads, all tables are written
    /// again, to new outputs.
    fn run(
        &self,
        opened: OpenLog,
        outputs: GuardedOutputs,
    ) -> Result<(OpenLog, GuardedOutputs, ExportSummary)> {
        let request = &self.convert.request;
        if self.convert.destination.is_stdout() {
            // Standard output cannot be rewritten, so the topics must be known in advance.
            let topics =
                payloads::topics_by_decoding(&self.job(&opened, &outputs, &|_| {}))?;
            let opened = payloads::with_payloads(opened, topics);
            let summary = self.write(&opened, &outputs)?;
            return Ok((opened, outputs, summary));
        }
        let summary = self.write(&opened, &outputs)?;
        let topics = payloads::topics(request, opened.log.manifest(), &summary);
        if topics.is_empty() {
            return Ok((opened, outputs, summary));
        }
        drop(outputs);
        let opened = payloads::with_payloads(opened, topics);
        let outputs = new_outputs(self.convert, self.session)?;
        let summary = self.write(&opened, &outputs)?;
        Ok((opened, outputs, summary))
    }

    fn write(
        &self,
        opened: &OpenLog,
        outputs: &GuardedOutputs,
    ) -> Result<ExportSummary> {
        let bytes = opened.log.manifest().bytes;
        let counter =
            ProgressCounter::for_bytes(self.session, &opened.input.name, bytes);
        let progress = |bytes| counter.add(bytes);
        write(&self.job(opened, outputs, &progress), self.header)
    }

    fn job<'j>(
        &'j self,
        opened: &'j OpenLog,
        outputs: &'j GuardedOutputs,
        progress: &'j (dyn Fn(u64) + Sync),
    ) -> ExportJob<'j> {
        ExportJob {
            opened,
            outputs,
            request: &self.convert.request,
            destination: &self.convert.destination,
            labels: self.labels.clone(),
            provenance: self.provenance,
            tables: None,
            progress,
        }
    }
}

/// Opens the log `input` for `request`, with the header that the layout of PX4 needs.
///
/// # Errors
/// If the input cannot be read, or the request does not suit it.
pub(crate) fn open(
    input: &Path,
    request: &ConvertRequest,
    session: &Session,
) -> Result<(OpenLog, Option<Metadata>)> {
    if request.layout == Some(TableLayout::Px4) {
        let (input, log) = open::open_ulog(input, session, "have the layout of PX4")?;
        let header = log.metadata().clone();
        return Ok((OpenLog { input, log: Box::new(log) }, Some(header)));
    }
    Ok((open::open_with(input, session, &lidar_options(request))?, None))
}

/// Opens the log `input` like [`open`], and returns its digest too.
fn open_with_digest(
    input: &Path,
    request: &ConvertRequest,
    session: &Session,
) -> Result<(OpenLog, Option<Metadata>, String)> {
    if request.layout == Some(TableLayout::Px4) {
        let (opened, header) = open(input, request, session)?;
        let digest = opened.input.digest_if_read_completely()?;
        return Ok((opened, header, digest));
    }
    let (opened, digest) =
        open::open_with_digest(input, session, &lidar_options(request))?;
    Ok((opened, None, digest))
}

/// Returns the options for lidars, with the clock of the request.
fn lidar_options(request: &ConvertRequest) -> LidarOptions {
    let mut options = request.lidar.clone();
    options.utc = request.clock() == TimeChoice::Utc;
    options
}

/// Writes the files of `job` to its outputs, which are not completed. A log with the layout of
/// PX4 needs its `header`.
///
/// # Errors
/// `NotFound` if the log has nothing that was selected; others if it cannot be read or written.
pub(crate) fn write(
    job: &ExportJob<'_>,
    header: Option<&Metadata>,
) -> Result<ExportSummary> {
    let request = job.request;
    if let Some(header) = header {
        return px4::write(job, header);
    }
    match request.format.kind() {
        FormatKind::Images => images::write(job),
        FormatKind::Points(format) => points::write(job, format),
        FormatKind::Tracks(format) => tracks::write(job, format),
        // Logs are copied instead of exported.
        FormatKind::Tables(_) | FormatKind::Arrays(_) | FormatKind::Log(_) => {
            match request.merge {
                Some(merge) => merged_table::write(job, merge),
                None => tables::write(job),
            }
        }
    }
}
