//! The part of a request that applies to one log.

use std::sync::Arc;

use arrow_schema::Schema;
use logtool_core::{Columns, Labels, Log, Manifest};

use crate::{
    dataset::{patterns, tables::RowSchema},
    error::{ErrorKind, Result},
    formats::{LogFormat, RecordKind},
    jobs::convert::ConvertRequest,
    source::{input::open::OpenLog, selection},
    time::clock::ShownClock,
};

/// Returns `request` with only those patterns of topics and columns that match something in
/// `log`; `None` if no topic or column is selected. The other patterns are added to `missed`.
pub(super) fn applicable_request(
    request: &ConvertRequest,
    log: &dyn Log,
    labels: Option<&Arc<Labels>>,
    missed: &mut Vec<String>,
) -> Result<Option<ConvertRequest>> {
    let (manifest, mut request) = (log.manifest(), request.clone());
    let mut topics = Vec::new();
    for glob in std::mem::take(&mut request.topics) {
        let before = topics.len();
        for glob in selection::split_list(manifest, &glob) {
            let glob = glob.to_owned();
            let selected_columns =
                selection::topics_with_derived(manifest, std::slice::from_ref(&glob));
            if has_match(selected_columns)? {
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
    let selected = selection::topics_with_derived(manifest, &request.topics)?;
    let columns = Columns { labels: labels.cloned(), ..Columns::new(request.view()) };
    let requested = std::mem::take(&mut request.columns);
    let selects_all = requested.is_empty();
    for glob in requested {
        let globs = std::slice::from_ref(&glob);
        let selected_columns =
            selection::columns(log, &mut selected.clone(), &columns, globs);
        if has_match(selected_columns)? {
            request.columns.push(glob);
        } else {
            missed.push(patterns::field(&glob));
        }
    }
    Ok((selects_all || !request.columns.is_empty()).then_some(request))
}

/// Returns false if the selection failed because nothing matches.
fn has_match<T>(selection: Result<T>) -> Result<bool> {
    match selection {
        Ok(_) => Ok(true),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(false),
        Err(err) => Err(err),
    }
}

/// Returns the schemas of the tables that `request` makes of a log.
pub(super) fn row_schemas(
    opened: &OpenLog,
    request: &ConvertRequest,
    labels: Option<&Arc<Labels>>,
) -> Result<Vec<RowSchema>> {
    let log = &*opened.log;
    let manifest: &Manifest = log.manifest();
    let mut topics = selection::topics_with_derived(manifest, &request.topics)?;
    let columns = Columns { labels: labels.cloned(), ..Columns::new(request.view()) };
    let columns_by_topic =
        selection::columns(log, &mut topics, &columns, &request.columns)?;
    let base = ShownClock::new(manifest, request.clock())?.base();
    let is_table = request.format.is_table();
    let has_instances = is_table
        && LogFormat::from_manifest(manifest)
            .is_some_and(|format| format.record_kind() != RecordKind::Message);
    let mut schemas = Vec::new();
    for (id, topic) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        if topic.records == Some(0) {
            continue;
        }
        schemas.push(if is_table {
            let decoder =
                log.decoder(id, columns_by_topic.get(&id).unwrap_or(&columns))?;
            RowSchema::new(topic, &base.schema(decoder.schema()), has_instances)
        } else {
            RowSchema::new(topic, &Schema::empty(), has_instances)
        });
    }
    Ok(schemas)
}
