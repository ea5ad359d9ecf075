//! One table of several topics, with a row for each period.

use std::time::Duration;

use logtool_core::{
    AsofJob, Columns, Manifest, TableSink, Topic, TopicOrigin, TopicSet, View,
    asof_schema, merge_asof,
};
use logtool_sinks::{FileNames, MemoryBudget, NameStyle};

use crate::{
    convert::{
        AsofMerge,
        job::{ExportJob, ExportSummary},
        table_sink,
    },
    error::{Error, Result},
    selection,
    time::{clock::ShownClock, record_span::RecordSpan},
    units::count_of,
};

/// The name of the table.
const NAME: &str = "merged";

/// Writes the table of `job`, with rows as `merge` states.
pub(super) fn write(job: &ExportJob<'_>, merge: AsofMerge) -> Result<ExportSummary> {
    let (log, request) = (&*job.opened.log, job.request);
    let manifest = log.manifest();
    let clock = ShownClock::new(manifest, request.clock())?;
    let mut topics = topics(manifest, &request.topics)?;
    let columns =
        Columns { view: View::Flat, labels: job.labels.clone(), ..Columns::default() };
    let mut columns_of =
        selection::columns(log, &mut topics, &columns, &request.columns)?;
    for (id, _) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        columns_of.entry(id).or_insert_with(|| columns.clone());
    }
    if columns_of.is_empty() {
        let hint = "`logtool info` lists the topics and how many records they have";
        return Err(Error::not_found("there are no records to merge").with_hint(hint));
    }
    // A record whose time is wrong by years would add a row for each period in between.
    let wanted = clock.range(request.start, request.end)?;
    let span = RecordSpan::from_log(log, &topics, wanted)?;
    let time = if span.stray.is_some() { span.usual } else { wanted };
    let asof = AsofJob {
        columns_of,
        time,
        period_nanos: nanos(merge.period).max(1),
        base: clock.base(),
        max_age_nanos: merge.max_age.map(nanos),
        progress: job.progress,
    };
    let schema = asof_schema(log, &asof)?;
    let names = FileNames::new(NameStyle::FirstBare, &[]);
    let sink: Box<dyn TableSink> = table_sink::new(job, names, MemoryBudget::default());
    let mut writer = sink.table(&table(manifest, &schema), &schema)?;
    let report = merge_asof(log, &asof, &mut *writer)?;
    writer.finish()?;
    sink.finish()?;
    let left_out = report.left_out;
    let remark = (left_out > 0).then(|| {
        format!("{} dropped because of impossible times", count_of(left_out, "record"))
    });
    let stray = span.stray.map(|time| {
        let time = clock.as_typed(time);
        format!(
            "rows are of the times of nine of ten records; others are over an hour away, \
             as {time}: another start and end choose other times"
        )
    });
    let of_sink = sink.remarks();
    let remedy = table_sink::remedy(job, &of_sink);
    let remarks = remark.into_iter().chain(stray).chain(of_sink);
    Ok(ExportSummary {
        topics,
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
