//! The names of states in plots.

use std::collections::BTreeMap;

use logtool_core::{Labels, Manifest};

use crate::records::signals::RequestedSignal;

/// Returns the names of the values of a signal, without the words that all of them start with. They are
/// empty unless it is a state with names.
pub(super) fn of(
    labels: &Labels,
    manifest: &Manifest,
    signal: &RequestedSignal,
) -> BTreeMap<i64, String> {
    let topic = manifest.topic(signal.topic).ok();
    let names = topic.and_then(|topic| labels.get(&topic.type_name, &signal.field));
    let Some(names) = names.filter(|_| signal.is_held) else { return BTreeMap::new() };
    let start = |name: &String| name.rfind('_').map_or(0, |end| end + 1);
    let first = names.values().next();
    let mut common =
        first.map_or("", |name| name.get(..start(name)).unwrap_or_default());
    while !names.values().all(|name| name.starts_with(common)) {
        let end = common.trim_end_matches('_').rfind('_').map_or(0, |end| end + 1);
        common = common.get(..end).unwrap_or_default();
    }
    let short = |name: &String| name.strip_prefix(common).unwrap_or(name).to_owned();
    names.iter().map(|(value, name)| (*value, short(name))).collect()
}
