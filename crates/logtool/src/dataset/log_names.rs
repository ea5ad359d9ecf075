//! The names of logs in a dataset.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use crate::{dataset::inputs::InputLog, source::input::open};

/// Returns names for `logs`: the file name without its extension; with the name of the folder
/// in front if several logs have the same name; or else with a hash of the path.
///
/// The names differ from each other, even if case is ignored. A log keeps the name by which
/// it is `known`. Another log gets that name only if `may_take` allows it: it receives the log,
/// the name, and the source that has the name.
pub(super) fn assign(
    logs: &[InputLog],
    known: &BTreeMap<String, String>,
    may_take: &dyn Fn(&InputLog, &str, &str) -> bool,
) -> Vec<String> {
    let owners: HashMap<String, (&str, &str)> = known
        .iter()
        .map(|(name, source)| (name.to_lowercase(), (&**name, &**source)))
        .collect();
    let known_names: HashMap<&str, &str> =
        known.iter().map(|(name, source)| (&**source, &**name)).collect();
    let candidates: Vec<[String; 3]> = logs.iter().map(candidates).collect();
    let mut counts: [HashMap<String, u32>; 2] = [HashMap::new(), HashMap::new()];
    for names in &candidates {
        for (count, name) in counts.iter_mut().zip(names) {
            *count.entry(name.to_lowercase()).or_default() += 1;
        }
    }
    let mut taken_names = HashMap::new();
    for (index, log) in logs.iter().enumerate() {
        if let Some(name) = known_names.get(&*log.source) {
            taken_names.insert(name.to_lowercase(), index);
        }
    }
    let mut names = Vec::new();
    for (index, (log, candidates)) in logs.iter().zip(&candidates).enumerate() {
        let is_free = |level: usize, name: &str| {
            let name = name.to_lowercase();
            let is_unique =
                || counts.get(level).is_none_or(|count| count.get(&name) == Some(&1));
            taken_names.get(&name).is_none_or(|owner| *owner == index)
                && match owners.get(&name) {
                    Some((name, owner)) => may_take(log, name, owner),
                    None => is_unique(),
                }
        };
        let known_name = known_names.get(&*log.source).map(|name| (*name).to_owned());
        let name = known_name.unwrap_or_else(|| {
            let mut levels = candidates.iter().enumerate();
            let free = levels.find(|(level, name)| is_free(*level, name));
            let [.., last] = candidates;
            free.map_or(last, |(_, name)| name).clone()
        });
        taken_names.insert(name.to_lowercase(), index);
        names.push(name);
    }
    names
}

/// Returns the possible names of `log`, the best first.
fn candidates(log: &InputLog) -> [String; 3] {
    let path = Path::new(&log.named_path);
    let stem = portable_name(&open::stem(path).unwrap_or_default());
    let parent = path.parent().and_then(Path::file_name);
    let parent = portable_name(&parent.unwrap_or_default().to_string_lossy());
    let hash = &blake3::hash(log.source.as_bytes()).to_hex()[..12];
    [stem.clone(), portable_name(&format!("{parent}_{stem}")), format!("{stem}-{hash}")]
}

/// Returns `name` with an underscore for each character that is not a letter or digit of ASCII,
/// `_`, `-` or `.`, because readers of partitions do not agree on how others are written. Long
/// names are cut, because file systems limit them.
fn portable_name(name: &str) -> String {
    const MAX_CHARS: usize = 150;
    let is_portable =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = name
        .chars()
        .map(|c| if is_portable(c) { c } else { '_' })
        .take(MAX_CHARS)
        .collect();
    let name = name.trim_start_matches('.').trim_end_matches('.');
    if name.is_empty() { "log".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests;
