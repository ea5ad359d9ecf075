//! A table for each topic.

use std::sync::atomic::Ordering;

use logtool::{Error, Result, selection, time::clock::ShownClock};
use logtool_core::{
    Columns, Manifest, Selection, TableJob, TableSink, Topic, TopicSet, View, to_tables,
};

use crate::{
    args::{ConvertArgs, Layout, Target},
    commands::convert::{
        job::{Job, Made},
        sink::{self, Counted},
    },
    lidar_options,
};

/// Writes the tables that `job` asks for.
pub(super) fn write(job: &Job<'_>) -> Result<Made> {
    let (manifest, globs) = (job.opened.log.manifest(), &job.args.records.topics);
    let topics = selection::topics(manifest, globs, true)?;
    if job.args.is_stdout() {
        check_one(manifest, &topics, "one standard output", "")?;
    } else if job.args.target() != Target::Mat {
        check_file(job.args, manifest, &topics)?;
    }
    let room = sink::room(manifest, &topics);
    let sink = sink::new(job, sink::names(job), room);
    let mut made = write_into(job, &*sink, view(job.args), topics)?;
    sink.finish()?;
    made.remarks.extend(sink.remarks());
    Ok(made)
}

/// Refuses several tables where OUT is one file.
pub(super) fn check_file(
    args: &ConvertArgs,
    manifest: &Manifest,
    topics: &TopicSet,
) -> Result<()> {
    let Some(file) = args.one_file() else { return Ok(()) };
    let (shown, stem) = (file.display(), file.with_extension(""));
    let target = args.target().name();
    let folder =
        format!("; -o {} --to {target} makes a folder of them", stem.display());
    check_one(manifest, topics, &format!("{shown} is one file"), &folder)
}

/// Refuses several tables where one fits, because of `what_there_is`.
fn check_one(
    manifest: &Manifest,
    topics: &TopicSet,
    what_there_is: &str,
    otherwise: &str,
) -> Result<()> {
    let is_meant = |topic: &Topic| topic.records != Some(0);
    let topics =
        manifest.topics().filter(|(id, topic)| topics.contains(*id) && is_meant(topic));
    let names: Vec<_> = topics.map(|(_, topic)| topic.label()).collect();
    if names.len() < 2 {
        return Ok(());
    }
    let what = format!("{} tables, and {what_there_is}", names.len());
    let some = names.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let more = if names.len() > 4 { ", …" } else { "" };
    let hint = format!("--topic names one: {some}{more}{otherwise}");
    Err(Error::invalid(what).with_hint(hint))
}

/// Writes the tables of `topics` into `sink`.
pub(super) fn write_into(
    job: &Job<'_>,
    sink: &dyn TableSink,
    view: View,
    mut topics: TopicSet,
) -> Result<Made> {
    let (log, args) = (&*job.opened.log, job.args);
    let manifest = log.manifest();
    let clock = ShownClock::new(manifest, args.clock.time())?;
    let time = clock.range(args.records.from, args.end())?;
    lidar_options::check_each(&args.lidar, manifest, &topics)?;
    let columns = Columns { view, labels: job.labels.clone(), ..Columns::default() };
    let columns_of = selection::columns(log, &mut topics, &columns, &args.fields)?;
    let sink = Counted::new(sink);
    let table_job = TableJob {
        selection: Selection { topics: topics.clone(), time },
        columns,
        columns_of,
        time: clock.base(),
        part_bytes: part_bytes(manifest, &topics),
        progress: job.progress,
    };
    let report = to_tables(log, &table_job, &sink)?;
    let is_table = args.one_file().is_some() && args.target() != Target::Mat;
    let is_one = args.is_stdout() || is_table;
    if is_one && sink.tables.load(Ordering::Relaxed) == 0 {
        begin_one(job, &table_job, &sink)?;
    }
    let rows_of = sink.rows_of();
    Ok(Made {
        topics,
        tables: sink.tables.load(Ordering::Relaxed),
        rows: rows_of.values().sum(),
        rows_of,
        seen: report.seen,
        damage: report.damage,
        ..Made::default()
    })
}

/// Makes a table without rows, so that who reads it learns what columns it has.
fn begin_one(
    job: &Job<'_>,
    table_job: &TableJob<'_>,
    sink: &dyn TableSink,
) -> Result<()> {
    let (log, wanted) = (&*job.opened.log, &table_job.selection.topics);
    let mut topics = log.manifest().topics().filter(|(id, _)| wanted.contains(*id));
    let Some((id, topic)) = topics.next() else { return Ok(()) };
    let columns = table_job.columns_of.get(&id).unwrap_or(&table_job.columns);
    let schema = table_job.time.schema(log.decoder(id, columns)?.schema());
    Ok(sink.table(topic, &schema)?.finish()?)
}

/// How much of the log is decoded at a time for tables of `topics`: little enough that every
/// processor gets some of it, and that what is decoded stays small.
pub(super) fn part_bytes(manifest: &Manifest, topics: &TopicSet) -> u64 {
    const LEAST: u64 = 1 << 20;
    let mut wanted = manifest.topics().filter(|(id, _)| topics.contains(*id));
    // Packets of lidars become a dozen times their bytes.
    let most = if wanted.any(|(_, topic)| topic.type_name == "points") { 1 } else { 4 };
    let threads = rayon::current_num_threads() as u64;
    (manifest.bytes / (threads * 4)).clamp(LEAST, most * LEAST)
}

/// The columns that tables have.
pub(in crate::commands) fn view(args: &ConvertArgs) -> View {
    let is_flat = args.flat || args.layout == Some(Layout::Flat);
    if is_flat || args.target() == Target::Csv { View::Flat } else { View::Nested }
}
