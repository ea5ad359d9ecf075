//! What of what was asked for means something in one log.

use std::sync::Arc;

use arrow_schema::Schema;
use logtool::{
    ErrorKind, Result,
    formats::{LogFormat, RecordKind},
    input::open::Opened,
    selection,
    time::clock::ShownClock,
};
use logtool_core::{Columns, Labels, Log, Manifest};

use crate::{
    args::{ConvertArgs, Target},
    commands::{
        batch::{patterns, tables::Shape},
        convert::tables,
    },
};

/// `args`, with those patterns of topics and fields that mean something in `log`; nothing if
/// there are some and none does. The others are added to `missed`.
pub(super) fn meant(
    args: &ConvertArgs,
    log: &dyn Log,
    labels: Option<&Arc<Labels>>,
    missed: &mut Vec<String>,
) -> Result<Option<ConvertArgs>> {
    let (manifest, mut args) = (log.manifest(), args.clone());
    let is_meant = |found: Result<()>| match found {
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(false),
        found => found.map(|()| true),
    };
    let mut topics = Vec::new();
    for glob in std::mem::take(&mut args.records.topics) {
        let before = topics.len();
        for glob in selection::listed(manifest, &glob) {
            let glob = glob.to_owned();
            let found = selection::topics(manifest, std::slice::from_ref(&glob), true);
            if is_meant(found.map(drop))? {
                topics.push(glob);
            }
        }
        if topics.len() == before {
            missed.push(patterns::topic(&glob));
        }
    }
    if topics.is_empty() && !missed.is_empty() {
        missed.extend(args.fields.iter().map(|glob| patterns::field(glob)));
        return Ok(None);
    }
    args.records.topics = topics;
    let all = selection::topics(manifest, &args.records.topics, true)?;
    let columns =
        Columns { labels: labels.cloned(), ..Columns::all(tables::view(&args)) };
    let (mut fields, had) = (Vec::new(), !args.fields.is_empty());
    for glob in std::mem::take(&mut args.fields) {
        let globs = std::slice::from_ref(&glob);
        let found = selection::columns(log, &mut all.clone(), &columns, globs);
        match is_meant(found.map(drop))? {
            true => fields.push(glob),
            false => missed.push(patterns::field(&glob)),
        }
    }
    args.fields = fields;
    Ok((!had || !args.fields.is_empty()).then_some(args))
}

/// What the tables are like that `args` want of a log.
pub(super) fn shapes(
    opened: &Opened,
    args: &ConvertArgs,
    labels: Option<&Arc<Labels>>,
) -> Result<Vec<Shape>> {
    let log = &*opened.log;
    let manifest: &Manifest = log.manifest();
    let mut topics = selection::topics(manifest, &args.records.topics, true)?;
    let columns =
        Columns { labels: labels.cloned(), ..Columns::all(tables::view(args)) };
    let columns_of = selection::columns(log, &mut topics, &columns, &args.fields)?;
    let base = ShownClock::new(manifest, args.clock.time())?.base();
    let is_table = !args.target().is_points()
        && !args.target().is_track()
        && args.target() != Target::Images;
    let has_instances = is_table
        && LogFormat::of(manifest)
            .is_some_and(|format| format.record_kind() == RecordKind::Px4);
    let mut shapes = Vec::new();
    for (id, topic) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        if topic.records == Some(0) {
            continue;
        }
        shapes.push(if is_table {
            let decoder = log.decoder(id, columns_of.get(&id).unwrap_or(&columns))?;
            Shape::new(topic, &base.schema(decoder.schema()), has_instances)
        } else {
            Shape::new(topic, &Schema::empty(), has_instances)
        });
    }
    Ok(shapes)
}
