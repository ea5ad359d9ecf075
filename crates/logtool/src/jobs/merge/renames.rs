//! New names for topics and frames that differ from those of an earlier log.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use logtool_core::{ClockTransform, Manifest, Selection, ShiftedLog, TopicId};
use logtool_velodyne::capture::SenderInfo;

use crate::{
    error::Result,
    jobs::merge::{
        clocks::{self, UnknownClocks},
        names,
        prepared_log::PreparedLog,
        source::MergeSource,
    },
    records::translate::{Frames, TranslationKind},
    source::session::Session,
    time::offset::ClockOffset,
};

/// Renames topics if an earlier log has topics of the same name and of another type or
/// vehicle, and the frames in their messages. Bags that share a topic are parts of one recording.
pub(super) fn rename(
    logs: &mut [PreparedLog],
    sources: &[MergeSource],
    offsets: &[ClockOffset],
    unknown_clocks: UnknownClocks,
    session: &Session,
) -> Result<()> {
    let is_vehicle = |translation: &Option<TranslationKind>| {
        translation.is_some_and(TranslationKind::is_vehicle)
    };
    let translations: Vec<Option<TranslationKind>> =
        logs.iter().map(|log| log.translation).collect();
    if !translations.iter().any(is_vehicle) {
        return Ok(());
    }
    let mut names = names::MergedNames::default();
    let merged_logs =
        logs.iter_mut().zip(sources).zip(offsets.iter().zip(&translations));
    for (index, ((log, source), (offset, translation))) in merged_logs.enumerate() {
        let manifest = source.log.manifest();
        let is_same_vehicle =
            |(other, translation): (&MergeSource, &Option<TranslationKind>)| {
                let other = other.log.manifest();
                let is_same_clock = unknown_clocks == UnknownClocks::Same
                    || clocks::is_same(&other.clock, &manifest.clock);
                is_vehicle(translation)
                    && is_same_clock
                    && !have_different_lidars(other, manifest)
            };
        // A vehicle is identified by the index of its first log. Logs of the same start of a
        // vehicle have the same clock.
        let earlier_log =
            sources.iter().zip(&translations).take(index).position(is_same_vehicle);
        let vehicle = is_vehicle(translation).then(|| earlier_log.unwrap_or(index));
        let new_names =
            names.add(log.log.manifest(), source.input.file_name(), vehicle);
        let Some(example_name) = new_names.values().next() else { continue };
        let frame = translation.and_then(|kind| kind.example_frame(log.log.manifest()));
        if let Some(translation) = translation.filter(|_| frame.is_some()) {
            let topics = translation.all_topics(manifest);
            let selection = Selection { topics, ..Selection::default() };
            let frames = Frames::for_vehicle(names::vehicle(example_name));
            let prepared = translation.prepare(
                source.log.clone(),
                &selection,
                *offset,
                &frames,
            )?;
            log.log = prepared.log;
        }
        session.note(&source.input.name, &description(&new_names, example_name, frame));
        log.log = Arc::new(ShiftedLog::new(
            log.log.clone(),
            ClockTransform::default(),
            &new_names,
        ));
    }
    Ok(())
}

/// Describes `new_names`. `example_name` is one of them, and `frame` is the old name of a frame, if
/// frames are renamed, too.
fn description(
    new_names: &BTreeMap<TopicId, String>,
    example_name: &str,
    frame: Option<&str>,
) -> String {
    let vehicle = names::vehicle(example_name);
    let frames = frame.map(|frame| format!(", and frames, as {vehicle}/{frame}"));
    let frames = frames.unwrap_or_default();
    let count = new_names.len();
    format!(
        "an earlier log has topics of these names: {count} renamed, as {example_name}{frames}"
    )
}

/// Returns whether two captures contain packets of different lidars, i.e. both have addresses of
/// senders, and no address in common.
fn have_different_lidars(a: &Manifest, b: &Manifest) -> bool {
    let addresses = |manifest: &Manifest| -> BTreeSet<IpAddr> {
        manifest
            .topics
            .iter()
            .filter_map(|topic| Some(SenderInfo::from_topic(topic)?.address))
            .collect()
    };
    let (a, b) = (addresses(a), addresses(b));
    !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
}
