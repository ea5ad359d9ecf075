//! Logs prepared for the new log: translated to its format, and with times on its clock.

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{ClockTransform, Log, LogSlice, Selection, ShiftedLog, TopicSet};

use crate::{
    error::{Context as _, Result},
    formats::LogFormat,
    jobs::{merge::source::MergeSource, output::OutputSummary},
    records::translate::{Frames, MessageTypes, TranslationKind},
    source::session::Session,
    time::{offset::ClockOffset, repaired_times::RepairedTimes},
};

/// A log with the encoding and the times that the new log requires.
pub(super) struct PreparedLog {
    pub(super) log: Arc<dyn Log>,
    topics: TopicSet,
    /// The translation, if there is one.
    pub(super) translation: Option<TranslationKind>,
    /// The metadata records that are written to the new log for this log.
    pub(super) metadata_records: Vec<(String, BTreeMap<String, String>)>,
}

impl PreparedLog {
    /// Returns the part that is written: everything except topics that are derived from others.
    pub(super) fn slice(&self) -> LogSlice<'_> {
        let selection =
            Selection { topics: self.topics.clone(), ..Selection::default() };
        LogSlice { manifest: self.log.manifest(), selection }
    }
}

/// Prepares `sources` for a log of `format`, with these clock `offsets`. Changes are noted in the
/// session, and warnings are added to `output`.
pub(super) fn prepare(
    sources: &[MergeSource],
    offsets: &[ClockOffset],
    (format, messages): (LogFormat, MessageTypes),
    output: &mut OutputSummary,
    session: &Session,
) -> Result<Vec<PreparedLog>> {
    let translation = |source: &MergeSource| {
        TranslationKind::for_target(source.log.manifest(), format, messages)
    };
    let translations: Vec<Option<TranslationKind>> =
        sources.iter().map(translation).collect();
    messages.check(&translations)?;
    let mut prepared_logs = Vec::new();
    for ((source, offset), translation) in sources.iter().zip(offsets).zip(translations)
    {
        let name = &source.input.name;
        let mut remarks = Vec::new();
        let prepared = match translation {
            Some(translation) => translate(
                source,
                *offset,
                (translation, format),
                (&mut remarks, output),
                session,
            )?,
            None => shift_times(source, *offset, format, output, session)?,
        };
        if source.drift.is_some() {
            remarks.push("the drift of its clock is corrected".to_owned());
        }
        let zero = if offset.is_unix { ", to Unix time" } else { "" };
        remarks.extend(offset.description().map(|change| format!("{change}{zero}")));
        remarks.iter().for_each(|remark| session.note(name, remark));
        prepared_logs.push(prepared);
    }
    Ok(prepared_logs)
}

/// Prepares a log whose records become messages of another encoding.
fn translate(
    source: &MergeSource,
    offset: ClockOffset,
    (translation, format): (TranslationKind, LogFormat),
    (remarks, output): (&mut Vec<String>, &mut OutputSummary),
    session: &Session,
) -> Result<PreparedLog> {
    let (name, manifest) = (&source.input.name, source.log.manifest());
    let topics = translation.all_topics(manifest);
    if translation.is_lidar() {
        output.warn_of_lidars(session, name, manifest, &topics);
    }
    let selection = Selection { topics, ..Selection::default() };
    let prepared = translation
        .prepare(source.log.clone(), &selection, offset, &Frames::default())
        .with_context(|| name.clone())?;
    output.warn(session, name, &prepared.warnings);
    remarks.extend(prepared.remarks);
    remarks.extend(translation.dropped_metadata(manifest, format));
    let metadata_records =
        translation.metadata_records(manifest, source.input.file_name());
    Ok(PreparedLog {
        log: prepared.log,
        topics: TopicSet::All,
        translation: Some(translation),
        metadata_records,
    })
}

/// Prepares a log whose records are copied unchanged, at their new times.
fn shift_times(
    source: &MergeSource,
    offset: ClockOffset,
    format: LogFormat,
    output: &mut OutputSummary,
    session: &Session,
) -> Result<PreparedLog> {
    let mut log = source.log.clone();
    let topics = log.manifest().logged_topics();
    if source.format() != Some(format) {
        let repaired = RepairedTimes::new(log)?;
        log = repaired.log;
        output.warn(session, &source.input.name, repaired.warning.as_slice());
    }
    if offset.nanos != 0 {
        let transform = ClockTransform::new(offset.nanos);
        log = Arc::new(ShiftedLog::new(log, transform, &BTreeMap::new()));
    }
    Ok(PreparedLog { log, topics, translation: None, metadata_records: Vec::new() })
}
