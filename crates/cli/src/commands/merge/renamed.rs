//! Topics and frames that an earlier log has of something else.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use logtool::{
    Result,
    time::offset::Moved,
    translate::{Frames, Way},
};
use logtool_core::{Manifest, MovedLog, Selection, Shift, TopicId};

use crate::{
    args::{GlobalArgs, MergeArgs},
    commands::merge::{clocks, names, ready::Ready, sources::Source},
    terminal::say,
};

/// Gives topics other names that an earlier log has of another kind, or of another vehicle, and so
/// the frames of the lidars that those logs are of. Bags that share a topic are parts of one
/// recording.
pub(super) fn rename(
    all: &mut [Ready],
    sources: &[Source],
    moved: &[Moved],
    (args, global): (&MergeArgs, &GlobalArgs),
) -> Result<()> {
    let is_own = |way: &Option<Way>| way.is_some_and(Way::is_of_vehicle);
    let ways: Vec<Option<Way>> = all.iter().map(|ready| ready.way).collect();
    if !ways.iter().any(is_own) {
        return Ok(());
    }
    let mut names = names::Names::default();
    let each = all.iter_mut().zip(sources).zip(moved.iter().zip(&ways));
    for (index, ((ready, source), (moved, way))) in each.enumerate() {
        let about = source.log.manifest();
        let is_it = |(other, way): (&Source, &Option<Way>)| {
            let other = other.log.manifest();
            let is_same =
                args.same_clock || clocks::is_same(&other.clock, &about.clock);
            is_own(way) && is_same && !are_apart(other, about)
        };
        let vehicle = sources.iter().zip(&ways).take(index).position(is_it);
        // Logs that are translated are of one vehicle each; those of one start share it.
        let vehicle = is_own(way).then(|| vehicle.unwrap_or(index));
        let changed =
            names.add(ready.log.manifest(), source.input.file_name(), vehicle);
        let Some(first) = changed.values().next() else { continue };
        if let Some(way) = way.filter(|way| way.is_of_lidar()) {
            let topics = way.all_topics(about);
            let wanted = Selection { topics, ..Selection::default() };
            let frames = Frames::of(names::vehicle(first));
            let prepared = way.prepare(source.log.clone(), &wanted, *moved, &frames)?;
            ready.log = prepared.log;
        }
        tell(source, &changed, first, way.is_some_and(Way::is_of_lidar), global);
        ready.log =
            Arc::new(MovedLog::new(ready.log.clone(), Shift::default(), &changed));
    }
    Ok(())
}

fn tell(
    source: &Source,
    changed: &BTreeMap<TopicId, String>,
    first: &str,
    has_frames: bool,
    global: &GlobalArgs,
) {
    if global.quiet {
        return;
    }
    let (name, count) = (&source.input.name, changed.len());
    let frames = match has_frames {
        true => format!(", and frames, as {}/velodyne", names::vehicle(first)),
        false => String::new(),
    };
    say!(
        "{name}: an earlier log has topics of these names: {count} renamed, as {first}{frames}"
    );
}

/// Whether two captures are of different lidars: no packet of one is from where those of the other
/// are.
fn are_apart(a: &Manifest, b: &Manifest) -> bool {
    let senders = |of: &Manifest| -> BTreeSet<String> {
        of.topics.iter().filter_map(|t| t.metadata.get("address").cloned()).collect()
    };
    let (a, b) = (senders(a), senders(b));
    !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
}
