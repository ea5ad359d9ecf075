//! Tables that have the payloads of records that cannot be decoded.
//!
//! Such records are known only when their topics were decoded once. Tables without the column
//! `payload` are then made again; what goes to standard output is decoded before it is written.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool::{Result, formats::LogFormat, input::open::Opened, selection};
use logtool_core::{
    Manifest, PayloadLog, Result as CoreResult, TableSink, TableWriter, Topic, TopicId,
    TopicOrigin, TopicSet,
};

use crate::{
    args::{ConvertArgs, Layout, Target},
    commands::convert::{
        job::{Job, Made},
        tables,
    },
};

/// Returns the topics whose tables are to be made again, now with payloads.
pub(in crate::commands) fn topics(
    args: &ConvertArgs,
    manifest: &Manifest,
    made: &Made,
) -> BTreeSet<TopicId> {
    match makes_tables(args) {
        true => PayloadLog::topics(manifest, &made.damage),
        false => BTreeSet::new(),
    }
}

/// Returns the topics whose tables need payloads, of a log that is decoded to learn this.
pub(super) fn topics_by_decoding(job: &Job<'_>) -> Result<BTreeSet<TopicId>> {
    let manifest = job.opened.log.manifest();
    // The survey of a ULog has found all its records that cannot be decoded.
    if !makes_tables(job.args) || LogFormat::of(manifest) == Some(LogFormat::Ulog) {
        return Ok(BTreeSet::new());
    }
    let wanted = selection::topics(manifest, &job.args.records.topics, true)?;
    // Only records of the log itself have payloads.
    let is_logged = |(id, topic): &(TopicId, &Topic)| {
        wanted.contains(*id) && topic.origin == TopicOrigin::Logged
    };
    let logged: Vec<TopicId> =
        manifest.topics().filter(is_logged).map(|(id, _)| id).collect();
    if logged.is_empty() {
        return Ok(BTreeSet::new());
    }
    let logged: TopicSet = logged.into_iter().collect();
    let made = tables::write_into(job, &NoTables, tables::view(job.args), logged)?;
    Ok(topics(job.args, manifest, &made))
}

/// Returns `opened` with payloads in the tables of `topics`.
pub(in crate::commands) fn with_payloads(
    opened: Opened,
    topics: BTreeSet<TopicId>,
) -> Opened {
    match topics.is_empty() {
        true => opened,
        false => {
            Opened { log: Box::new(PayloadLog::new(opened.log, topics)), ..opened }
        }
    }
}

fn makes_tables(args: &ConvertArgs) -> bool {
    let target = args.target();
    !target.is_log()
        && !target.is_points()
        && !target.is_track()
        && target != Target::Images
        && args.layout != Some(Layout::Px4)
}

/// Takes tables and keeps nothing.
struct NoTables;

impl TableSink for NoTables {
    fn table(&self, _: &Topic, _: &SchemaRef) -> CoreResult<Box<dyn TableWriter>> {
        Ok(Box::new(Self))
    }
}

impl TableWriter for NoTables {
    fn write(&mut self, _: &RecordBatch) -> CoreResult<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> CoreResult<()> {
        Ok(())
    }
}
