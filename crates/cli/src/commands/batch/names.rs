//! What logs are called in a data set.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use logtool::input::open;

use crate::commands::batch::inputs::Found;

/// Names for `logs`: what each is called without its extension; with the folder that it is in
/// before that, where several are called so, and else with a number made of its path.
///
/// No two are the same, not even where upper and lower case are, and none is one that `known`
/// has of another file, unless `is_free` says that a log may have the name of this source.
pub(super) fn names(
    logs: &[Found],
    known: &BTreeMap<String, String>,
    is_free: &dyn Fn(&Found, &str, &str) -> bool,
) -> Vec<String> {
    let owners: HashMap<String, (&str, &str)> = known
        .iter()
        .map(|(name, source)| (name.to_lowercase(), (&**name, &**source)))
        .collect();
    let own: HashMap<&str, &str> =
        known.iter().map(|(name, source)| (&**source, &**name)).collect();
    let candidates: Vec<[String; 3]> = logs.iter().map(candidates).collect();
    let mut counts: [HashMap<String, u32>; 2] = [HashMap::new(), HashMap::new()];
    for names in &candidates {
        for (count, name) in counts.iter_mut().zip(names) {
            *count.entry(name.to_lowercase()).or_default() += 1;
        }
    }
    let mut taken = HashMap::new();
    for (index, log) in logs.iter().enumerate() {
        if let Some(name) = own.get(&*log.source) {
            taken.insert(name.to_lowercase(), index);
        }
    }
    let mut names = Vec::new();
    for (index, (log, wanted)) in logs.iter().zip(&candidates).enumerate() {
        let given = own.get(&*log.source).map(|name| (*name).to_owned());
        let may_have = |level: usize, name: &str| {
            let name = name.to_lowercase();
            let is_single =
                || counts.get(level).is_none_or(|count| count.get(&name) == Some(&1));
            taken.get(&name).is_none_or(|by| *by == index)
                && match owners.get(&name) {
                    Some((name, owner)) => is_free(log, name, owner),
                    None => is_single(),
                }
        };
        let name = given.unwrap_or_else(|| {
            let mut levels = wanted.iter().enumerate();
            let free = levels.find(|(level, name)| may_have(*level, name));
            let [.., last] = wanted;
            free.map_or(last, |(_, name)| name).clone()
        });
        taken.insert(name.to_lowercase(), index);
        names.push(name);
    }
    names
}

/// What `log` may be called, the best first.
fn candidates(log: &Found) -> [String; 3] {
    let path = Path::new(&log.called);
    let stem = open::stem(path).unwrap_or_default();
    let stem = plain(&stem);
    let parent = path.parent().and_then(Path::file_name);
    let parent = plain(&parent.unwrap_or_default().to_string_lossy());
    let hash = &blake3::hash(log.source.as_bytes()).to_hex()[..12];
    [stem.clone(), plain(&format!("{parent}_{stem}")), format!("{stem}-{hash}")]
}

/// `name`, with an underscore for whatever is no letter or digit, `-` or `.`: readers of
/// partitions do not agree on how anything else is written, and file systems have no room for
/// names that are too long.
fn plain(name: &str) -> String {
    const LONGEST: usize = 150;
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain: String =
        name.chars().map(|c| if keep(c) { c } else { '_' }).take(LONGEST).collect();
    let plain = plain.trim_start_matches('.').trim_end_matches('.');
    if plain.is_empty() { "log".to_owned() } else { plain.to_owned() }
}

#[cfg(test)]
mod tests;
