//! One log of many on its way into a data set.

use std::{
    fs::File,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use logtool::{
    ErrorKind, Result,
    convert::{
        ConvertRequest, Destination, Layout, OutputFormat,
        steps::{self, ExportJob, ExportSummary, LogCopy, TableNames},
    },
    error::Context as _,
    input::{
        digest::digest_of,
        open::{self, Opened},
        url,
    },
    lidar,
    losses::Findings,
    output::{guarded::Guarded, log_writer::LogFile, provenance},
    translate::TranslationKind,
};
use logtool_core::{FileSource, Labels, Manifest, Provenance, RecordSink, TopicSet};
use logtool_ulog::Metadata;
use rayon::ThreadPool;

use crate::{
    args::GlobalArgs,
    commands::batch::{
        admission::Pass,
        dataset::{Dataset, Kind},
        entry::Entry,
        inputs::Found,
        progress::LogMeter,
        selected::{meant, shapes},
        tables::Shape,
    },
};

/// What is to be done with each log.
pub(super) struct Work<'w> {
    pub(super) request: &'w ConvertRequest,
    /// Whether logs that were converted before are converted again.
    pub(super) is_forced: bool,
    pub(super) global: &'w GlobalArgs,
    pub(super) dataset: &'w Dataset,
    /// The threads that decode, if they are not all.
    pub(super) pool: Option<ThreadPool>,
    /// What of all that changes what comes out, as a digest.
    pub(super) options: String,
}

/// What became of a log.
pub(super) enum Done {
    /// It was done before, and what was noted then.
    Before(Box<Entry>),
    /// It was done now.
    Now(Box<Entry>, Count),
}

/// How much was made of a log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) tables: u64,
    pub(super) rows: u64,
}

/// A file that was changed less long ago than this may change again with the same time.
const SETTLED_NANOS: i64 = 2_000_000_000;

impl Work<'_> {
    /// Does what is to be done with `found`, the log called `name`.
    pub(super) fn run(
        &self,
        found: &Found,
        name: &str,
        pass: &mut Pass<'_>,
        meter: &LogMeter<'_>,
    ) -> Result<Done> {
        self.dataset.check()?;
        let mut entry = Entry::of(found, name);
        if let Some(old) = self.done_as(&entry)? {
            meter.skip();
            return Ok(Done::Before(Box::new(old)));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let age = found.modified.map_or(0, |modified| now.saturating_sub(modified));
        entry.is_settled = age > SETTLED_NANOS;
        if url::of(&found.path).is_none() {
            entry.digest = digest(&found.path)?;
        }
        entry.options.clone_from(&self.options);
        if let Some(old) = self.same(&entry)? {
            self.dataset.finish(&old)?;
            meter.skip();
            return Ok(Done::Before(Box::new(old)));
        }
        let count = match self.request.format.is_log() {
            true => self.log(found, &mut entry, meter)?,
            false => self.tables(found, &mut entry, pass, meter)?,
        };
        Ok(Done::Now(Box::new(entry), count))
    }

    /// Does `work` on the threads that decode.
    fn decoding<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// What was noted of a file that looks just as that of `entry`, if it was done as it is to
    /// be.
    fn done_as(&self, entry: &Entry) -> Result<Option<Entry>> {
        let old = {
            let journal = self.dataset.journal();
            let is_same = journal.done(&entry.log).is_some_and(|known| {
                known.source == entry.source
                    && known.source_bytes == entry.source_bytes
                    && known.modified_ns.is_some()
                    && known.modified_ns == entry.modified_ns
                    && known.options == self.options
            });
            if self.is_forced || !is_same {
                return Ok(None);
            }
            journal.entry(&entry.log)?
        };
        Ok(old.filter(|old| self.dataset.has(&old.files)))
    }

    /// What was noted of a file with the same bytes as `entry`, as it is to be noted now.
    fn same(&self, entry: &Entry) -> Result<Option<Entry>> {
        let old = self.dataset.journal().entry(&entry.log)?;
        let is_same = |old: &Entry| {
            !entry.digest.is_empty()
                && old.digest == entry.digest
                && old.options == entry.options
                && self.dataset.has(&old.files)
        };
        let old = old.filter(|old| !self.is_forced && is_same(old));
        Ok(old.map(|old| Entry {
            source: entry.source.clone(),
            modified_ns: entry.modified_ns,
            is_settled: entry.is_settled,
            ..old
        }))
    }

    /// Whether all of the log of `manifest` is looked at.
    fn is_looked_through(&self, manifest: &Manifest) -> bool {
        let is_all = self.request.topics.is_empty() && !self.request.has_time_range();
        is_all || open::is_surveyed(manifest)
    }

    /// What a log becomes, if that is no log.
    fn kind(&self) -> Kind {
        match (self.request.format, self.request.layout) {
            (OutputFormat::Mat, _) => Kind::OneFile,
            (_, Some(Layout::Px4)) => Kind::Together,
            _ => Kind::Tables,
        }
    }

    /// Makes tables, or files beside tables, of a log.
    fn tables(
        &self,
        found: &Found,
        entry: &mut Entry,
        pass: &mut Pass<'_>,
        meter: &LogMeter<'_>,
    ) -> Result<Count> {
        let (opened, header) =
            steps::open(&found.path, self.request, &self.global.session)?;
        entry.identify(&opened.input)?;
        let manifest = opened.log.manifest();
        entry.describe(&opened.input, manifest);
        let mut findings = Findings::of(&opened.input, manifest);
        findings.check(self.global.strict)?;

        let labels = self.request.labels(manifest);
        let kind = self.kind();
        let request =
            meant(self.request, &*opened.log, labels.as_ref(), &mut entry.missed)?;
        let progress = |bytes| meter.add(bytes);
        let provenance =
            provenance::of_known(&opened.input, &entry.digest, &self.global.session);
        let (provenance, log) = (&provenance, entry.log.clone());
        let (header, log, progress) = (header.as_ref(), &log, &progress);
        let work = self;
        let making =
            Making { work, request, labels, header, provenance, log, progress };
        let mut written = making.run(&opened, pass)?;
        let topics_of =
            |request| steps::payload_topics(request, manifest, &written.made);
        let topics = making.request.as_ref().map(topics_of).unwrap_or_default();
        let opened = match topics.is_empty() {
            true => opened,
            false => {
                drop(written.outputs);
                let opened = steps::with_payloads(opened, topics);
                // The bytes of the log are counted once.
                let making = Making { progress: &|_| {}, ..making };
                written = making.run(&opened, pass)?;
                opened
            }
        };
        let manifest = opened.log.manifest();
        let Written { outputs, shapes, tables, made } = written;
        findings.add(manifest, &made.topics, &made.damage);
        findings.check(self.global.strict)?;
        entry.lament(&mut findings, self.is_looked_through(manifest));
        entry.settle(&tables, &made.topic_rows);
        if !self.request.has_time_range() {
            entry.complete(&made.seen);
        }
        entry.remarks = made.remarks;
        entry.remarks.extend(lidar::remarks(manifest, &made.topics));
        if kind == Kind::Tables {
            entry.remarks.extend(shapes.iter().filter_map(hidden));
        }
        self.dataset.commit(&outputs, entry)?;
        Ok(Count { tables: made.tables, rows: made.rows })
    }

    /// Makes a log of another format of a log.
    fn log(
        &self,
        found: &Found,
        entry: &mut Entry,
        meter: &LogMeter<'_>,
    ) -> Result<Count> {
        let (input, log) =
            steps::open_to_copy(&found.path, self.request, &self.global.session)?;
        entry.identify(&input)?;
        let manifest = log.manifest();
        entry.describe(&input, manifest);
        let mut findings = Findings::of(&input, manifest);
        findings.check(self.global.strict)?;
        let outputs = self.dataset.outputs(&entry.log, Kind::OneFile);
        let mut count = Count::default();
        let request = meant(self.request, &*log, None, &mut entry.missed)?;
        let copy = match request.map(|request| LogCopy::new(&input, &log, &request)) {
            Some(Err(err)) if err.kind() == ErrorKind::NotFound => {
                entry.remarks.push(err.to_string());
                None
            }
            copy => copy.transpose()?,
        };
        if let Some(mut copy) = copy {
            copy.options.verified = self.global.strict;
            let provenance =
                provenance::of_known(&input, &entry.digest, &self.global.session);
            provenance::tell(&mut copy.options, copy.format, &provenance);
            let name = format!("{}.{}", entry.log, self.request.format.name());
            let file = LogFile::begin(&outputs, &name, copy.format)?;
            let progress = |bytes| meter.add(bytes);
            let extracts = [copy.extract()];
            let write = |sink: &mut dyn RecordSink| {
                self.decoding(|| copy.write(sink, &progress))
            };
            let written = file.write(&extracts, &copy.options, write);
            let ((rows, damage), remarks) = written?;
            findings.add(manifest, &copy.topics, &damage);
            findings.check(self.global.strict)?;
            entry.remarks = [copy.warnings, copy.remarks, remarks].concat();
            if copy.translation.is_some_and(TranslationKind::is_of_lidar) {
                entry.remarks.extend(lidar::remarks(manifest, &copy.topics));
            }
            count = Count { tables: 1, rows };
        }
        entry.lament(&mut findings, self.is_looked_through(manifest));
        self.dataset.commit(&outputs, entry)?;
        Ok(count)
    }
}

/// The tables of one log on their way into the data set.
struct Making<'m> {
    work: &'m Work<'m>,
    /// The request that applies to the log; `None` if no topic or column is selected.
    request: Option<ConvertRequest>,
    labels: Option<Arc<Labels>>,
    header: Option<&'m Metadata>,
    provenance: &'m Provenance,
    /// The name of the log in the data set.
    log: &'m str,
    /// Receives the number of bytes that were processed since the last call.
    progress: &'m (dyn Fn(u64) + Sync),
}

/// The files of a log that are complete but not yet named.
struct Written {
    outputs: Guarded,
    shapes: Vec<Shape>,
    /// The table of each topic.
    tables: TableNames,
    made: ExportSummary,
}

impl Making<'_> {
    fn run(&self, opened: &Opened, pass: &mut Pass<'_>) -> Result<Written> {
        let (work, kind) = (self.work, self.work.kind());
        let outputs = work.dataset.outputs(self.log, kind);
        let shapes = match &self.request {
            Some(request) if kind == Kind::Tables => {
                shapes(opened, request, self.labels.as_ref())?
            }
            // In no table.
            _ => Vec::new(),
        };
        let folder = outputs.dir().to_owned();
        let destination = match kind {
            Kind::OneFile => {
                Destination::File(folder.join(format!("{}.mat", self.log)))
            }
            _ => Destination::Folder(folder),
        };
        let names = pass.in_turn(|| work.dataset.tables(&shapes))?;
        let key = |shape: &Shape| (shape.topic.clone(), shape.instance);
        let files: TableNames = shapes
            .iter()
            .zip(&names)
            .map(|(shape, table)| (key(shape), shape.file_stem(table)))
            .collect();
        let tables: TableNames = shapes.iter().map(key).zip(names).collect();
        let made = match &self.request {
            None => nothing(Vec::new()),
            Some(request) => {
                let job = ExportJob {
                    opened,
                    outputs: &outputs,
                    request,
                    destination: &destination,
                    labels: self.labels.clone(),
                    provenance: self.provenance,
                    tables: Some(&files).filter(|_| kind == Kind::Tables),
                    progress: self.progress,
                };
                nothing_is_fine(work.decoding(|| steps::write(&job, self.header)))?
            }
        };
        Ok(Written { outputs, shapes, tables, made })
    }
}

/// The digest of the file at `path`.
pub(super) fn digest(path: &Path) -> Result<String> {
    let file = File::open(path).context("it cannot be opened")?;
    Ok(digest_of(&FileSource::new(file)?)?)
}

/// `made`, or nothing where the log has nothing of what was asked for.
fn nothing_is_fine(made: Result<ExportSummary>) -> Result<ExportSummary> {
    match made {
        Err(err) if err.kind() == ErrorKind::NotFound => {
            Ok(nothing(vec![err.to_string()]))
        }
        made => made,
    }
}

/// What comes of a log of which nothing is wanted.
fn nothing(remarks: Vec<String>) -> ExportSummary {
    ExportSummary { topics: TopicSet::EMPTY, remarks, ..ExportSummary::default() }
}

/// That readers do not see a field of rows like `shape`, if so.
fn hidden(shape: &Shape) -> Option<String> {
    let is_partition = |name: &&String| {
        let is_instance = shape.has_instances && name.eq_ignore_ascii_case("instance");
        is_instance || name.eq_ignore_ascii_case("log")
    };
    let field = shape.columns.keys().find(is_partition)?;
    Some(format!(
        "{}: readers that take the name of the log from folders do not see its field `{field}` \
         (hive_partitioning = false does)",
        shape.topic
    ))
}
