//! What of what was asked for means something in one log.

use std::sync::Arc;

use arrow_schema::Schema;
use logtool::{
    ErrorKind, Result,
    convert::ConvertRequest,
    formats::{LogFormat, RecordKind},
    input::open::Opened,
    selection,
    time::clock::ShownClock,
};
use logtool_core::{Columns, Labels, Log, Manifest};

use crate::commands::batch::{patterns, tables::Shape};

/// Returns `request` with only those patterns of topics and columns that match something in
/// `log`; `None` if there are patterns and none matches. The others are added to `missed`.
pub(super) fn meant(
    request: &ConvertRequest,
    log: &dyn Log,
    labels: Option<&Arc<Labels>>,
    missed: &mut Vec<String>,
) -> Result<Option<ConvertRequest>> {
    let (manifest, mut request) = (log.manifest(), request.clone());
    let is_meant = |found: Result<()>| match found {
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(false),
        found => found.map(|()| true),
    };
    let mut topics = Vec::new();
    for glob in std::mem::take(&mut request.topics) {
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
        missed.extend(request.columns.iter().map(|glob| patterns::field(glob)));
        return Ok(None);
    }
    request.topics = topics;
    let all = selection::topics(manifest, &request.topics, true)?;
    let columns = Columns { labels: labels.cloned(), ..Columns::all(request.view()) };
    let (mut fields, had) = (Vec::new(), !request.columns.is_empty());
    for glob in std::mem::take(&mut request.columns) {
        let globs = std::slice::from_ref(&glob);
        let found = selection::columns(log, &mut all.clone(), &columns, globs);
        match is_meant(found.map(drop))? {
            true => fields.push(glob),
            false => missed.push(patterns::field(&glob)),
        }
    }
    request.columns = fields;
    Ok((!had || !request.columns.is_empty()).then_some(request))
}

/// Returns the shapes of the tables that `request` makes from a log.
pub(super) fn shapes(
    opened: &Opened,
    request: &ConvertRequest,
    labels: Option<&Arc<Labels>>,
) -> Result<Vec<Shape>> {
    let log = &*opened.log;
    let manifest: &Manifest = log.manifest();
    let mut topics = selection::topics(manifest, &request.topics, true)?;
    let columns = Columns { labels: labels.cloned(), ..Columns::all(request.view()) };
    let columns_of = selection::columns(log, &mut topics, &columns, &request.columns)?;
    let base = ShownClock::new(manifest, request.clock())?.base();
    let is_table = request.format.is_table();
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
