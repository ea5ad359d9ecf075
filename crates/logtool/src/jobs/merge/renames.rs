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
    let each = logs.iter_mut().zip(sources).zip(offsets.iter().zip(&translations));
    for (index, ((log, source), (offset, translation))) in each.enumerate() {
        let manifest = source.log.manifest();
        let is_same_vehicle =
            |(other, translation): (&MergeSource, &Option<TranslationKind>)| {
                let other = other.log.manifest();
                let is_same_clock = unknown_clocks == UnknownClocks::Same
                    || clocks::is_same(&other.clock, &manifest.clock);
                is_vehicle(translation)
                    && is_same_clock
                    && !have_other_lidars(other, manifest)
            };
        let mut before = sources.iter().zip(&translations).take(index);
        let vehicle = before.position(is_same_vehicle);
        // Each translated log is of one vehicle; logs of the same start share it.
        let vehicle = is_vehicle(translation).then(|| vehicle.unwrap_or(index));
        let changed = names.add(log.log.manifest(), source.input.file_name(), vehicle);
        let Some(first) = changed.values().next() else { continue };
        let frame = translation.and_then(|kind| kind.example_frame(log.log.manifest()));
        if let Some(translation) = translation.filter(|_| frame.is_some()) {
            let topics = translation.all_topics(manifest);
            let selection = Selection { topics, ..Selection::default() };
            let frames = Frames::for_vehicle(names::vehicle(first));
            let prepared = translation.prepare(
                source.log.clone(),
                &selection,
                *offset,
                &frames,
            )?;
            log.log = prepared.log;
        }
        session.note(&source.input.name, &description(&changed, first, frame));
        log.log = Arc::new(ShiftedLog::new(
            log.log.clone(),
            ClockTransform::default(),
            &changed,
        ));
    }
    Ok(())
}

/// Describes the new names `changed`. The name `first` is the example, and `frame` that of the
/// frames, if there are some.
fn description(
    changed: &BTreeMap<TopicId, String>,
    first: &str,
    frame: Option<&str>,
) -> String {
    let vehicle = names::vehicle(first);
    let frames = frame.map(|frame| format!(", and frames, as {vehicle}/{frame}"));
    let frames = frames.unwrap_or_default();
    let count = changed.len();
    format!(
        "an earlier log has topics of these names: {count} renamed, as {first}{frames}"
    )
}

/// Returns whether two captures are of different lidars: they have no address in common.
fn have_other_lidars(a: &Manifest, b: &Manifest) -> bool {
    let senders = |manifest: &Manifest| -> BTreeSet<IpAddr> {
        manifest
            .topics
            .iter()
            .filter_map(|t| Some(SenderInfo::from_topic(t)?.address))
            .collect()
    };
    let (a, b) = (senders(a), senders(b));
    !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
}
