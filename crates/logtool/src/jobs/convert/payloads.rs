//! Tables with the payloads of records that cannot be decoded.
//!
//! Such records are known only after their topics were decoded once. Tables without the column
//! `payload` are then written again; a table on standard output is decoded before it is written.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{
    Manifest, PayloadLog, Result as CoreResult, TableSink, TableWriter, Topic, TopicId,
    TopicOrigin, TopicSet,
};

use crate::{
    error::Result,
    formats::LogFormat,
    jobs::convert::{
        ConvertRequest, TableLayout,
        job::{ExportJob, ExportSummary},
        tables,
    },
    source::input::open::OpenLog,
};

/// Returns the topics whose tables are to be written again, with payloads.
pub(crate) fn topics(
    request: &ConvertRequest,
    manifest: &Manifest,
    summary: &ExportSummary,
) -> BTreeSet<TopicId> {
    if has_payloads(request) {
        PayloadLog::undecodable_topics(manifest, &summary.damage)
    } else {
        BTreeSet::new()
    }
}

/// Returns the topics whose tables need payloads, of a log that is decoded to learn this.
pub(super) fn topics_by_decoding(job: &ExportJob<'_>) -> Result<BTreeSet<TopicId>> {
    let manifest = job.opened.log.manifest();
    if !has_payloads(job.request) {
        return Ok(BTreeSet::new());
    }
    // Opening a ULog finds all its records that cannot be decoded.
    if LogFormat::from_manifest(manifest) == Some(LogFormat::Ulog) {
        return Ok(PayloadLog::undecodable_topics(manifest, &manifest.damage));
    }
    let wanted = tables::selected_topics(manifest, job.request)?;
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
    let summary = tables::write_into(job, &NullSink, job.request.view(), logged)?;
    Ok(topics(job.request, manifest, &summary))
}

/// Returns `opened` with payloads in the tables of `topics`.
pub(crate) fn with_payloads(opened: OpenLog, topics: BTreeSet<TopicId>) -> OpenLog {
    if topics.is_empty() {
        opened
    } else {
        OpenLog { log: Box::new(PayloadLog::new(opened.log, topics)), ..opened }
    }
}

/// Returns whether the tables of `request` can have payloads.
fn has_payloads(request: &ConvertRequest) -> bool {
    request.format.is_table() && request.layout != Some(TableLayout::Px4)
}

/// Discards the tables.
struct NullSink;

impl TableSink for NullSink {
    fn new_table(&self, _: &Topic, _: &SchemaRef) -> CoreResult<Box<dyn TableWriter>> {
        Ok(Box::new(Self))
    }
}

impl TableWriter for NullSink {
    fn write(&mut self, _: &RecordBatch) -> CoreResult<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> CoreResult<()> {
        Ok(())
    }
}
