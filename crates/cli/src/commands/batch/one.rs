//! One log of many on its way into a data set.

use std::{
    fs::File,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result};
use arrow_schema::Schema;
use logtool_core::{Columns, FileSource, Labels, Log, Manifest, RecordSink, TopicSet};
use rayon::ThreadPool;

use crate::{
    args::{ConvertArgs, GlobalArgs, Layout, Target},
    clock::ShownClock,
    commands::{
        batch::{
            dataset::{Dataset, Kind},
            entry::Entry,
            gate::Pass,
            inputs::Found,
            meter::LogMeter,
            tables::Shape,
        },
        convert::{
            job::{Job, Made, TableNames},
            log::{self, Ready},
            one, tables,
        },
    },
    complaint,
    digest::digest_of,
    findings::Findings,
    input::Input,
    labels, lidars,
    new_log::LogFile,
    opened::Opened,
    provenance, selection,
    translate::Way,
    url,
};

/// What is to be done with each log.
pub(super) struct Work<'w> {
    pub(super) args: &'w ConvertArgs,
    pub(super) global: &'w GlobalArgs,
    pub(super) labels: Option<Arc<Labels>>,
    pub(super) dataset: &'w Dataset,
    /// The threads that decode, if they are not all.
    pub(super) pool: Option<ThreadPool>,
    /// What of all that changes what comes out, as a digest.
    pub(super) options: String,
}

/// What became of a log.
pub(super) enum Done {
    /// It was done before, and what was damaged then.
    Before(Option<String>),
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
        if self.is_done(&entry)? {
            meter.skip();
            return Ok(Done::Before(self.damage_before(name)));
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
            let damage = old.damage.clone();
            self.dataset.finish(&old)?;
            meter.skip();
            return Ok(Done::Before(damage));
        }
        let count = match self.args.target().is_log() {
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

    /// Whether a file that looks just as that of `entry` was done as it is to be.
    fn is_done(&self, entry: &Entry) -> Result<bool> {
        let files = {
            let journal = self.dataset.journal();
            let is_same = journal.done(&entry.log).is_some_and(|known| {
                known.source == entry.source
                    && known.source_bytes == entry.source_bytes
                    && known.modified_ns.is_some()
                    && known.modified_ns == entry.modified_ns
                    && known.options == self.options
            });
            if self.args.force || !is_same {
                return Ok(false);
            }
            journal.entry(&entry.log)?.map(|old| old.files)
        };
        Ok(files.is_some_and(|files| self.dataset.has(&files)))
    }

    fn damage_before(&self, name: &str) -> Option<String> {
        self.dataset.journal().done(name)?.damage.clone()
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
        let old = old.filter(|old| !self.args.force && is_same(old));
        Ok(old.map(|old| Entry {
            source: entry.source.clone(),
            modified_ns: entry.modified_ns,
            is_settled: entry.is_settled,
            ..old
        }))
    }

    /// What a log becomes, if that is no log.
    fn kind(&self) -> Kind {
        match (self.args.target(), self.args.layout) {
            (Target::Mat, _) => Kind::OneFile,
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
        let (opened, header) = one::open(&found.path, self.args, self.global)?;
        complete(entry, &opened.input)?;
        let manifest = opened.log.manifest();
        entry.describe(&opened.input, manifest);
        let mut findings = Findings::of(&opened.input, manifest);
        findings.check(self.global.strict)?;

        let has_labels = self.args.labels.labels;
        let of_log = || has_labels.then(|| labels::of_log(manifest)).flatten();
        let labels = self.labels.clone().or_else(of_log);
        let kind = self.kind();
        let outputs = self.dataset.outputs(&entry.log, kind);
        let mut args = meant(self.args, &*opened.log, labels.as_ref())?;
        let shapes = match &mut args {
            Some(args) if kind == Kind::Tables => {
                shapes(&opened, args, labels.as_ref())?
            }
            // In no table.
            Some(args) => {
                let file = format!("{}.mat", entry.log);
                args.out = (kind == Kind::OneFile).then(|| outputs.dir().join(file));
                Vec::new()
            }
            None => Vec::new(),
        };
        let names = pass.in_turn(|| self.dataset.tables(&shapes))?;
        let keys = shapes.iter().map(|shape| (shape.topic.clone(), shape.instance));
        let names: TableNames = keys.zip(names).collect();

        let made = match &args {
            None => nothing(Vec::new()),
            Some(args) => {
                let progress = |bytes| meter.add(bytes);
                let (opened, outputs) = (&opened, &*outputs);
                let tables = Some(&names).filter(|_| kind == Kind::Tables);
                let progress = &progress;
                let provenance =
                    &provenance::of_known(&opened.input, &entry.digest, self.global);
                let job =
                    Job { opened, outputs, args, labels, provenance, tables, progress };
                nothing_is_fine(self.decoding(|| one::write(job, header.as_ref())))?
            }
        };
        findings.add(manifest, &made.topics, &made.damage);
        findings.check(self.global.strict)?;
        entry.lament(&mut findings);
        entry.settle(&names, &made.rows_of);
        entry.remarks = made.remarks;
        entry.remarks.extend(lidars::remarks(manifest, &made.topics));
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
        let (input, log) = log::open(&found.path, self.args, self.global)?;
        complete(entry, &input)?;
        let manifest = log.manifest();
        entry.describe(&input, manifest);
        let mut findings = Findings::of(&input, manifest);
        findings.check(self.global.strict)?;
        let outputs = self.dataset.outputs(&entry.log, Kind::OneFile);
        let mut count = Count::default();
        if let Some(args) = meant(self.args, &*log, None)? {
            let mut ready = Ready::new(&input, &log, &args)?;
            ready.options.verified = self.global.strict;
            let provenance = provenance::of_known(&input, &entry.digest, self.global);
            provenance::tell(&mut ready.options, ready.format, &provenance);
            let name = format!("{}.{}", entry.log, log::end(args.target()));
            let file = LogFile::begin(&outputs, &name, ready.format)?;
            let progress = |bytes| meter.add(bytes);
            let extracts = [ready.extract()];
            let copy = |sink: &mut dyn RecordSink| {
                self.decoding(|| ready.copy(sink, &progress))
            };
            let written = file.write(&extracts, &ready.options, copy);
            let ((copied, left_out), remarks) = written?;
            findings.add(manifest, &ready.topics, &copied.damage);
            findings.add(manifest, &ready.topics, &left_out);
            findings.check(self.global.strict)?;
            entry.remarks = [ready.warnings, ready.remarks, remarks].concat();
            if ready.way == Some(Way::Lidar) {
                entry.remarks.extend(lidars::remarks(manifest, &ready.topics));
            }
            count = Count { tables: 1, rows: copied.records };
        }
        entry.lament(&mut findings);
        self.dataset.commit(&outputs, entry)?;
        Ok(count)
    }
}

/// Puts into `entry` the digest of what came whole from afar: what is there is not fetched
/// twice for it.
fn complete(entry: &mut Entry, input: &Input) -> Result<()> {
    if entry.digest.is_empty() {
        entry.digest = provenance::digest(input)?;
    }
    Ok(())
}

/// The digest of the file at `path`.
fn digest(path: &Path) -> Result<String> {
    let file = File::open(path).context("it cannot be opened")?;
    Ok(digest_of(&FileSource::new(file)?)?)
}

/// `made`, or nothing where the log has nothing of what was asked for.
fn nothing_is_fine(made: Result<Made>) -> Result<Made> {
    match made {
        Err(err) if complaint::is_nothing(&err) => Ok(nothing(vec![err.to_string()])),
        made => made,
    }
}

/// What comes of a log of which nothing is wanted.
fn nothing(remarks: Vec<String>) -> Made {
    Made { topics: TopicSet::EMPTY, remarks, ..Made::default() }
}

/// `args`, with those patterns of topics and fields that mean something in `log`; nothing if
/// there are some and none does.
fn meant(
    args: &ConvertArgs,
    log: &dyn Log,
    labels: Option<&Arc<Labels>>,
) -> Result<Option<ConvertArgs>> {
    let (manifest, mut args) = (log.manifest(), args.clone());
    let is_meant = |found: Result<()>| match found {
        Err(err) if complaint::is_nothing(&err) => Ok(false),
        found => found.map(|()| true),
    };
    let mut topics = Vec::new();
    for glob in std::mem::take(&mut args.records.topics) {
        let found = selection::topics(manifest, std::slice::from_ref(&glob), true);
        if is_meant(found.map(drop))? {
            topics.push(glob);
        } else if topics.is_empty() {
            args.records.topics = vec![glob];
        }
    }
    if topics.is_empty() && !args.records.topics.is_empty() {
        return Ok(None);
    }
    args.records.topics = topics;
    let all = selection::topics(manifest, &args.records.topics, true)?;
    let columns =
        Columns { labels: labels.cloned(), ..Columns::all(tables::view(&args)) };
    let (mut fields, had) = (Vec::new(), !args.fields.is_empty());
    for glob in std::mem::take(&mut args.fields) {
        let globs = std::slice::from_ref(&glob);
        let found = selection::columns(log, &mut all.clone(), &columns, globs);
        if is_meant(found.map(drop))? {
            fields.push(glob);
        }
    }
    args.fields = fields;
    Ok((!had || !args.fields.is_empty()).then_some(args))
}

/// What the tables are like that `args` want of a log.
fn shapes(
    opened: &Opened,
    args: &ConvertArgs,
    labels: Option<&Arc<Labels>>,
) -> Result<Vec<Shape>> {
    let log = &*opened.log;
    let manifest: &Manifest = log.manifest();
    let mut topics = selection::topics(manifest, &args.records.topics, true)?;
    let columns =
        Columns { labels: labels.cloned(), ..Columns::all(tables::view(args)) };
    let columns_of = selection::columns(log, &mut topics, &columns, &args.fields)?;
    let base = ShownClock::new(manifest, args.clock.time)?.base();
    let is_table = !args.target().is_points()
        && !args.target().is_track()
        && args.target() != Target::Images;
    let mut shapes = Vec::new();
    for (id, topic) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        if topic.records == Some(0) {
            continue;
        }
        shapes.push(if is_table {
            let decoder = log.decoder(id, columns_of.get(&id).unwrap_or(&columns))?;
            Shape::new(topic, &base.schema(decoder.schema()))
        } else {
            Shape::new(topic, &Schema::empty())
        });
    }
    Ok(shapes)
}
