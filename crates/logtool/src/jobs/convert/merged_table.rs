//! One table of several topics, with a row for each period.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{
    AsofJob, Columns, Damage, ErrorKind, Labels, Log as FormatLog, Manifest, TableSink,
    TableWriter, TimeBase, TimeRange, Timestamp, Topic, TopicId, TopicOrigin, TopicSet,
    View, asof_schema, merge_asof,
};
use logtool_sinks::{FileNames, MemoryBudget, NameStyle};

use crate::{
    error::{Error, Result},
    jobs::convert::{
        AsofMerge, ConvertRequest, RequestConflict,
        job::{ExportJob, ExportSummary},
        table_sink,
    },
    records::log::{
        Log,
        column_types::{ColumnConverter, ColumnTypes},
    },
    source::selection,
    text::units::count_of,
    time::{clock::ShownClock, record_span::RecordSpan},
};

/// The name of the table.
const NAME: &str = "merged";

/// One table of several topics of an open log, with a row for each period. The times are
/// durations, or timestamps with the time zone UTC.
#[derive(Clone, Debug)]
pub struct MergedTable {
    log: Log,
    plan: Arc<MergePlan>,
    types: ColumnTypes,
}

impl Log {
    /// Returns the merged table that `request` describes: its topics, columns, times, clock and
    /// [merge](ConvertRequest::merge).
    ///
    /// # Errors
    /// `InvalidRequest` if the request has no merge, `NotFound` if there is nothing to merge;
    /// others if the log cannot be read.
    pub fn merged_table(&self, request: &ConvertRequest) -> Result<MergedTable> {
        let merge = request.merge.filter(|merge| !merge.period.is_zero());
        let merge = merge.ok_or(RequestConflict::NoMergePeriod)?;
        let labels = request.labels(self.manifest());
        let plan = MergePlan::new(self.format_log(), request, labels, merge)?;
        let types = ColumnTypes { has_typed_times: true, has_spark_types: false };
        Ok(MergedTable { log: self.clone(), plan: Arc::new(plan), types })
    }
}

impl MergedTable {
    /// Converts the columns to types that Apache Spark reads.
    #[must_use]
    pub fn with_spark_types(mut self) -> Self {
        self.types.has_spark_types = true;
        self
    }

    /// Returns the log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the topics.
    pub fn topics(&self) -> &TopicSet {
        &self.plan.topics
    }

    /// Returns the columns.
    ///
    /// # Errors
    /// If a topic cannot be decoded.
    pub fn schema(&self) -> Result<SchemaRef> {
        let schema = asof_schema(self.log.format_log(), &self.job())?;
        Ok(self.converter(&schema).schema().clone())
    }

    /// Reads the table on the current pool of rayon, and passes its batches to `receive`, which
    /// returns whether to continue. Returns the damage that was found.
    ///
    /// # Errors
    /// If the log cannot be read, or the table has too many rows.
    pub fn read(
        &self,
        receive: &mut (dyn FnMut(RecordBatch) -> bool + Send),
    ) -> Result<Vec<Damage>> {
        let (log, job) = (self.log.format_log(), self.job());
        let converter = self.converter(&asof_schema(log, &job)?);
        let mut writer = Receiver { converter, receive, is_stopped: false };
        let read = merge_asof(log, &job, &mut writer);
        if writer.is_stopped {
            return Ok(Vec::new());
        }
        Ok(read?.read.damage)
    }

    /// Returns the job, with times on the clock of the log.
    fn job(&self) -> AsofJob<'_> {
        AsofJob { base: TimeBase::default(), ..self.plan.job(&|_| {}) }
    }

    fn converter(&self, schema: &SchemaRef) -> ColumnConverter {
        let zero = self.log.manifest().clock.zero;
        self.types.converter(schema, self.plan.clock.base(), zero)
    }
}

/// Passes the batches of a merged table on.
struct Receiver<'r> {
    converter: ColumnConverter,
    receive: &'r mut (dyn FnMut(RecordBatch) -> bool + Send),
    is_stopped: bool,
}

impl TableWriter for Receiver<'_> {
    fn write(&mut self, batch: &RecordBatch) -> logtool_core::Result<()> {
        let stopped =
            |message| logtool_core::Error::new(ErrorKind::Unsupported, message);
        let converted = self.converter.convert(batch.clone());
        let converted = converted
            .map_err(|err| stopped("the table cannot be converted").with_source(err))?;
        if (self.receive)(converted) {
            return Ok(());
        }
        self.is_stopped = true;
        Err(stopped("no more rows are wanted"))
    }

    fn finish(self: Box<Self>) -> logtool_core::Result<()> {
        Ok(())
    }
}

/// The topics, columns and times of a merged table.
#[derive(Debug)]
struct MergePlan {
    topics: TopicSet,
    columns_by_topic: BTreeMap<TopicId, Columns>,
    time: TimeRange,
    clock: ShownClock,
    merge: AsofMerge,
    /// The time of a record that is far from the others.
    outlier: Option<Timestamp>,
}

impl MergePlan {
    fn new(
        log: &dyn FormatLog,
        request: &ConvertRequest,
        labels: Option<Arc<Labels>>,
        merge: AsofMerge,
    ) -> Result<Self> {
        let manifest = log.manifest();
        let clock = ShownClock::new(manifest, request.clock())?;
        let mut topics = topics(manifest, &request.topics)?;
        let columns = Columns { view: View::Flat, labels, ..Columns::default() };
        let mut columns_by_topic =
            selection::columns(log, &mut topics, &columns, &request.columns)?;
        for (id, _) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
            columns_by_topic.entry(id).or_insert_with(|| columns.clone());
        }
        if columns_by_topic.is_empty() {
            let hint = "`logtool info` lists the topics and how many records they have";
            let error = Error::not_found("there are no records to merge");
            return Err(error.with_hint(hint));
        }
        // A record whose time is wrong by years would add a row for each period in between.
        let wanted = clock.range(request.start, request.end)?;
        let span = RecordSpan::from_log(log, &topics, wanted)?;
        let time = if span.outlier.is_some() { span.shown } else { wanted };
        Ok(Self { topics, columns_by_topic, time, clock, merge, outlier: span.outlier })
    }

    fn job<'j>(&self, progress: &'j (dyn Fn(u64) + Sync)) -> AsofJob<'j> {
        AsofJob {
            columns_by_topic: self.columns_by_topic.clone(),
            time: self.time,
            period_nanos: nanos(self.merge.period).max(1),
            base: self.clock.base(),
            max_age_nanos: self.merge.max_age.map(nanos),
            progress,
        }
    }
}

/// Writes the table of `job`, with rows as `merge` states.
pub(super) fn write(job: &ExportJob<'_>, merge: AsofMerge) -> Result<ExportSummary> {
    let (log, request) = (&*job.opened.log, job.request);
    let manifest = log.manifest();
    let plan = MergePlan::new(log, request, job.labels.clone(), merge)?;
    let asof = plan.job(job.progress);
    let schema = asof_schema(log, &asof)?;
    let names = FileNames::new(NameStyle::OmitInstanceZero, &[]);
    let sink: Box<dyn TableSink> = table_sink::new(job, names, MemoryBudget::default());
    let mut writer = sink.new_table(&table(manifest, &schema), &schema)?;
    let report = merge_asof(log, &asof, &mut *writer)?;
    writer.finish()?;
    sink.finish()?;
    let left_out = report.dropped_rows;
    let remark = (left_out > 0).then(|| {
        format!("{} dropped because of impossible times", count_of(left_out, "record"))
    });
    let stray = plan.outlier.map(|time| {
        let time = plan.clock.typed_text(time);
        format!(
            "rows are of the times of nine of ten records; others are over an hour away, \
             as {time}: another start and end choose other times"
        )
    });
    let of_sink = sink.remarks();
    let remedy = table_sink::remedy(job, &of_sink);
    let remarks = remark.into_iter().chain(stray).chain(of_sink);
    Ok(ExportSummary {
        topics: plan.topics,
        tables: 1,
        rows: report.rows,
        damage: report.read.damage,
        remarks: remarks.collect(),
        remedy,
        ..ExportSummary::default()
    })
}

/// Returns the topics that match `globs`: without globs, those of the file that have records.
fn topics(manifest: &Manifest, globs: &[String]) -> Result<TopicSet> {
    if !globs.is_empty() {
        return selection::topics_with_derived(manifest, globs);
    }
    let is_wanted =
        |topic: &Topic| topic.origin == TopicOrigin::Logged && topic.records != Some(0);
    Ok(manifest.topics().filter(|(_, t)| is_wanted(t)).map(|(id, _)| id).collect())
}

/// Returns a duration in nanoseconds, or the longest one.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the description of the table for a sink.
fn table(manifest: &Manifest, schema: &arrow_schema::SchemaRef) -> Topic {
    Topic {
        origin: TopicOrigin::Derived,
        encoding: manifest.format.clone(),
        ..Topic::new(NAME, schema.clone())
    }
}
