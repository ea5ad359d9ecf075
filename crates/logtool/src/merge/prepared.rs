//! Logs prepared for the new log: translated, and moved to its clock.

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{Extract, Log, MovedLog, Selection, Shift, TopicSet};

use crate::{
    error::{Context as _, Result},
    formats::LogFormat,
    merge::source::Source,
    output::OutputSummary,
    session::Session,
    time::{offset::Moved, usable::Usable},
    translate::{Frames, MessageTypes, Way},
};

/// A log in the form that the new log requires.
pub(super) struct PreparedLog {
    pub(super) log: Arc<dyn Log>,
    topics: TopicSet,
    /// The translation, if there is one.
    pub(super) way: Option<Way>,
    /// The metadata that the new log gets from it.
    pub(super) words: Vec<(String, BTreeMap<String, String>)>,
}

impl PreparedLog {
    /// Returns the part that is written: everything except topics that are derived from others.
    pub(super) fn extract(&self) -> Extract<'_> {
        let selection =
            Selection { topics: self.topics.clone(), ..Selection::default() };
        Extract { manifest: self.log.manifest(), selection }
    }
}

/// Prepares `sources` for a log of `format`, with the offsets `moved`, and passes on remarks
/// about what changes. Warnings are added to `output`.
pub(super) fn prepare(
    sources: &[Source],
    moved: &[Moved],
    (format, messages): (LogFormat, MessageTypes),
    output: &mut OutputSummary,
    session: &Session,
) -> Result<Vec<PreparedLog>> {
    let way = |source: &Source| Way::of(source.log.manifest(), format, messages);
    let ways: Vec<Option<Way>> = sources.iter().map(way).collect();
    messages.check(&ways)?;
    let mut all = Vec::new();
    for ((source, moved), way) in sources.iter().zip(moved).zip(ways) {
        let name = &source.input.name;
        let mut remarks = Vec::new();
        let prepared = match way {
            Some(way) => translate(
                source,
                *moved,
                (way, format),
                (&mut remarks, output),
                session,
            )?,
            None => move_times(source, *moved, format, output, session)?,
        };
        if source.drift.is_some() {
            remarks.push("the drift of its clock is corrected".to_owned());
        }
        let zero = if moved.is_unix { ", to Unix time" } else { "" };
        remarks.extend(moved.told().map(|told| format!("{told}{zero}")));
        remarks.iter().for_each(|remark| session.note(name, remark));
        all.push(prepared);
    }
    Ok(all)
}

/// Prepares a log whose records become messages of another encoding.
fn translate(
    source: &Source,
    moved: Moved,
    (way, format): (Way, LogFormat),
    (remarks, output): (&mut Vec<String>, &mut OutputSummary),
    session: &Session,
) -> Result<PreparedLog> {
    let (name, manifest) = (&source.input.name, source.log.manifest());
    let topics = way.all_topics(manifest);
    if way.is_of_lidar() {
        output.warn_of_lidars(session, name, manifest, &topics);
    }
    let selection = Selection { topics, ..Selection::default() };
    let log = source.log.clone();
    let prepared = way.prepare(log, &selection, moved, &Frames::default());
    let prepared = prepared.with_context(|| name.clone())?;
    output.warn(session, name, &prepared.warnings);
    remarks.extend(prepared.remarks);
    remarks.extend(way.left_out(manifest, format));
    let words = way.words(manifest, source.input.file_name());
    Ok(PreparedLog { log: prepared.log, topics: TopicSet::All, way: Some(way), words })
}

/// Prepares a log whose records are copied as they are, at their new times.
fn move_times(
    source: &Source,
    moved: Moved,
    format: LogFormat,
    output: &mut OutputSummary,
    session: &Session,
) -> Result<PreparedLog> {
    let mut log = source.log.clone();
    let topics = log.manifest().logged();
    if source.format() != Some(format) {
        let usable = Usable::new(log)?;
        log = usable.log;
        output.warn(session, &source.input.name, usable.warning.as_slice());
    }
    if moved.nanos != 0 {
        let shift = Shift::new(moved.nanos);
        log = Arc::new(MovedLog::new(log, shift, &BTreeMap::new()));
    }
    Ok(PreparedLog { log, topics, way: None, words: Vec::new() })
}
