//! A table for each topic.

use std::sync::atomic::Ordering;

use logtool_core::{
    Columns, Manifest, Selection, TableJob, TableSink, Topic, TopicContent, TopicSet,
    View, count_columns, export_tables,
};

use crate::{
    error::{Error, Remedy, Result},
    jobs::convert::{
        ConvertRequest, OutputFormat,
        job::{ExportJob, ExportSummary},
        table_sink::{self, CountingSink},
    },
    records::series::{self, DerivedTables},
    source::{lidar, selection},
    time::clock::ShownClock,
};

/// Writes the tables of `job`.
pub(super) fn write(job: &ExportJob<'_>) -> Result<ExportSummary> {
    let log = &*job.opened.log;
    let (manifest, derived) = (log.manifest(), &job.request.derived);
    let topics = selected_topics(manifest, job.request)?;
    let is_only_derived = !derived.is_empty() && topics == TopicSet::EMPTY;
    let derived = DerivedTables::new(log, derived)?;
    let others: Vec<String> =
        derived.topics().map(|topic| topic.name.clone()).collect();
    if job.destination.is_stdout() {
        check_one(manifest, &topics, others, "one standard output", |topics| {
            Remedy::SelectTopic { topics }
        })?;
    } else if job.request.format != OutputFormat::Mat {
        check_file_of(job, manifest, &topics, others)?;
    }
    let room = table_sink::table_budget(manifest, &topics);
    let sink = table_sink::new(job, table_sink::names(job), room);
    let mut summary = if is_only_derived {
        ExportSummary { topics: TopicSet::EMPTY, ..ExportSummary::default() }
    } else {
        write_into(job, &*sink, job.request.view(), topics)?
    };
    write_derived(job, &derived, &*sink, &mut summary)?;
    sink.finish()?;
    let remarks = sink.remarks();
    summary.remedy = table_sink::remedy(job, &remarks);
    summary.remarks.extend(remarks);
    if job.request.format != OutputFormat::Jsonl {
        summary.remarks.extend(count_remarks(manifest, &summary.topics));
    }
    Ok(summary)
}

/// Returns remarks about the columns of `topics` that have the number of elements of a list or
/// an array, whose elements have no fields and so no columns.
pub(super) fn count_remarks(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
    let selected = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let remark = |topic: &Topic| {
        let columns = count_columns(topic.schema.fields());
        (!columns.is_empty()).then(|| {
            let (label, columns) = (topic.label(), columns.join(", "));
            format!(
                "{label}: elements of a list or an array have no fields, and the column has their \
                 number: {columns}"
            )
        })
    };
    selected.filter_map(|(_, topic)| remark(topic)).collect()
}

/// Returns the topics of the log whose tables `request` selects.
///
/// # Errors
/// `NotFound` if a pattern matches neither a topic nor a derived table.
pub(super) fn selected_topics(
    manifest: &Manifest,
    request: &ConvertRequest,
) -> Result<TopicSet> {
    let globs = series::patterns_of_topics(&request.topics, &request.derived);
    let Some(globs) = globs else { return Ok(TopicSet::EMPTY) };
    selection::topics_with_derived(manifest, &globs)
}

/// Writes the tables `derived` into `sink`, and adds them to `summary`.
fn write_derived(
    job: &ExportJob<'_>,
    derived: &DerivedTables,
    sink: &dyn TableSink,
    summary: &mut ExportSummary,
) -> Result<()> {
    let (log, request) = (&*job.opened.log, job.request);
    if derived.topics().next().is_none() {
        return Ok(());
    }
    let clock = ShownClock::new(log.manifest(), request.clock())?;
    let time = clock.range(request.start, request.end)?;
    let (tables, damage) = derived.read(log, time, clock.base(), job.progress)?;
    for (topic, batches) in derived.topics().zip(tables) {
        let mut writer = sink.new_table(topic, &clock.base().schema(&topic.schema))?;
        let mut rows = 0;
        for batch in &batches {
            rows += batch.num_rows() as u64;
            writer.write(batch)?;
        }
        writer.finish()?;
        summary.tables += 1;
        summary.rows += rows;
        summary.topic_rows.insert((topic.name.clone(), topic.instance), rows);
    }
    for entry in damage {
        if !summary.damage.contains(&entry) {
            summary.damage.push(entry);
        }
    }
    let manifest = log.manifest();
    let sources = derived.source_topics(manifest);
    let read = manifest.topics().map(|(id, _)| id);
    summary.topics = read
        .filter(|id| summary.topics.contains(*id) || sources.contains(*id))
        .collect();
    Ok(())
}

/// Rejects several tables for one file.
///
/// # Errors
/// `InvalidRequest` if the destination is a file, and several topics have records.
pub(super) fn check_file(
    job: &ExportJob<'_>,
    manifest: &Manifest,
    topics: &TopicSet,
) -> Result<()> {
    check_file_of(job, manifest, topics, Vec::new())
}

/// Like [`check_file`], with the names of `other` tables.
fn check_file_of(
    job: &ExportJob<'_>,
    manifest: &Manifest,
    topics: &TopicSet,
    others: Vec<String>,
) -> Result<()> {
    let Some(file) = job.destination.file() else { return Ok(()) };
    let remedy = |topics| Remedy::SelectTopicOrFolder {
        topics,
        folder: file.with_extension(""),
        format: job.request.format.name(),
    };
    let message = format!("{} is one file", file.display());
    check_one(manifest, topics, others, &message, remedy)
}

/// Rejects several tables for a destination of one table, which `destination` describes;
/// `remedy` receives the labels of the topics, and `others` are the names of other tables.
fn check_one(
    manifest: &Manifest,
    topics: &TopicSet,
    others: Vec<String>,
    destination: &str,
    remedy: impl FnOnce(Vec<String>) -> Remedy,
) -> Result<()> {
    let has_records = |topic: &Topic| topic.records != Some(0);
    let topics = manifest
        .topics()
        .filter(|(id, topic)| topics.contains(*id) && has_records(topic));
    let labels = topics.map(|(_, topic)| topic.label().into_owned());
    let names: Vec<String> = labels.chain(others).collect();
    if names.len() < 2 {
        return Ok(());
    }
    let message = format!("{} tables, and {destination}", names.len());
    Err(Error::invalid_request(message).with_remedy(remedy(names)))
}

/// Writes the tables of `topics` into `sink`.
pub(super) fn write_into(
    job: &ExportJob<'_>,
    sink: &dyn TableSink,
    view: View,
    mut topics: TopicSet,
) -> Result<ExportSummary> {
    let (log, request) = (&*job.opened.log, job.request);
    let manifest = log.manifest();
    let clock = ShownClock::new(manifest, request.clock())?;
    let time = clock.range(request.start, request.end)?;
    if request.lidar.calibration.is_some() {
        lidar::check_selected(manifest, &topics)?;
    }
    let columns = Columns { view, labels: job.labels.clone(), ..Columns::default() };
    let columns_by_topic =
        selection::columns(log, &mut topics, &columns, &request.columns)?;
    let sink = CountingSink::new(sink);
    let table_job = TableJob {
        selection: Selection { topics: topics.clone(), time },
        columns,
        columns_by_topic,
        time: clock.base(),
        part_bytes: part_bytes(manifest, &topics),
        progress: job.progress,
    };
    let report = export_tables(log, &table_job, &sink)?;
    let is_file = job.destination.file().is_some();
    let is_one_table = request.derived.is_empty()
        && (job.destination.is_stdout()
            || is_file && request.format != OutputFormat::Mat);
    if is_one_table && sink.tables.load(Ordering::Relaxed) == 0 {
        write_empty_table(job, &table_job, &sink)?;
    }
    let topic_rows = sink.topic_rows();
    Ok(ExportSummary {
        topics,
        tables: sink.tables.load(Ordering::Relaxed),
        rows: topic_rows.values().sum(),
        topic_rows,
        seen: report.topic_statistics,
        damage: report.damage,
        ..ExportSummary::default()
    })
}

/// Writes a table without rows, so that readers find its columns.
fn write_empty_table(
    job: &ExportJob<'_>,
    table_job: &TableJob<'_>,
    sink: &dyn TableSink,
) -> Result<()> {
    let (log, wanted) = (&*job.opened.log, &table_job.selection.topics);
    let mut topics = log.manifest().topics().filter(|(id, _)| wanted.contains(*id));
    let Some((id, topic)) = topics.next() else { return Ok(()) };
    let columns = table_job.columns_by_topic.get(&id).unwrap_or(&table_job.columns);
    let schema = table_job.time.schema(log.decoder(id, columns)?.schema());
    Ok(sink.new_table(topic, &schema)?.finish()?)
}

/// Returns the size in bytes of the parts of the log that are decoded at a time for tables of
/// `topics`: small enough that each thread gets several parts, and that the decoded rows of a
/// part need little memory.
pub(super) fn part_bytes(manifest: &Manifest, topics: &TopicSet) -> u64 {
    const MIN_BYTES: u64 = 1 << 20;
    let mut wanted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    // The points of lidars need about twelve times the bytes of their packets.
    let max_bytes =
        if wanted.any(|(_, topic)| topic.content == TopicContent::LidarPoints) {
            1
        } else {
            4
        };
    let threads = rayon::current_num_threads() as u64;
    (manifest.bytes / (threads * 4)).clamp(MIN_BYTES, max_bytes * MIN_BYTES)
}
