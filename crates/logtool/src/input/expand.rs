//! From what was typed to the logs that are meant.

use std::{collections::BTreeSet, path::PathBuf};

use globset::GlobBuilder;

use crate::{
    error::{Error, Result},
    formats::LogFormat,
    input::{Packing, url},
    remote::{self, Listed},
    session::Session,
    units::counted,
};

/// Puts the logs in each folder of an object store, and those that a pattern means, in its
/// place.
pub fn expand(inputs: &mut Vec<PathBuf>, session: &Session) -> Result<()> {
    let mut expanded = Vec::new();
    for input in inputs.drain(..) {
        match url::of(&input).map(|url| listed(url, "", session)).transpose()?.flatten()
        {
            Some(Folder { logs, .. }) => {
                expanded.extend(logs.into_iter().map(|log| PathBuf::from(log.url)));
            }
            None => expanded.push(input),
        }
    }
    *inputs = expanded;
    Ok(())
}

/// What there is in a folder of an object store.
pub struct Folder {
    /// The objects that are called as logs are or, of a pattern, all that it means, in the
    /// order of their URLs; at least one.
    pub logs: Vec<Listed>,
    /// How many others there are.
    pub others: u64,
    /// The data sets of ours in it, as URLs with a `/` at the end.
    pub sets: Vec<String>,
}

/// What is wild in a pattern.
const WILD: [char; 4] = ['*', '?', '[', '{'];

/// What `url` begins with that is no pattern.
pub fn plain(url: &str) -> &str {
    url.split(WILD).next().unwrap_or(url)
}

/// What `url` means, if it is a folder of an object store or a pattern: if it has a `*`, or
/// anything else that is wild and there is no object that is called just so. Without what is
/// in the folder `but`, if that is not empty.
pub fn listed(url: &str, but: &str, session: &Session) -> Result<Option<Folder>> {
    if remote::is_folder(url) {
        return in_folder(url, but, session).map(Some);
    }
    let plain = plain(url);
    let base = plain.rfind('/').map_or(plain, |slash| &plain[..=slash]);
    if plain == url || !remote::is_folder(base) {
        return Ok(None);
    }
    if !url.contains('*') && remote::look(url, session).is_ok() {
        return Ok(None);
    }
    let glob = GlobBuilder::new(url).literal_separator(true).build();
    let glob = glob.map_err(|err| {
        Error::invalid(format!("`{url}` is no pattern: {}", err.kind()))
    })?;
    let glob = glob.compile_matcher();
    let mut logs = remote::list(base, but, session)?;
    logs.retain(|object| glob.is_match(&object.url));
    match logs.is_empty() {
        false => Ok(Some(Folder { logs, others: 0, sets: Vec::new() })),
        true => Err(Error::failed(format!("{url}: no object is called so"))),
    }
}

fn in_folder(url: &str, but: &str, session: &Session) -> Result<Folder> {
    let mut logs = remote::list(url, but, session)?;
    let count = logs.len() as u64;
    let states = logs.iter().filter_map(|object| {
        let end = object.url.find("/_logtool/")? + 1;
        Some(object.url[..end].to_owned())
    });
    let sets: BTreeSet<String> = states.collect();
    logs.retain(|object| is_called_as_logs_are(&object.url));
    if logs.is_empty() {
        let what = match count {
            0 => format!("{url}: there are no objects in it"),
            _ => format!(
                "{url}: {} in it, and none is called as logs are",
                counted(count, "object")
            ),
        };
        let extensions = LogFormat::ALL.iter().flat_map(|format| format.extensions());
        let extensions: Vec<String> =
            extensions.map(|extension| format!(".{extension}")).collect();
        let hint =
            format!("logs end in {}; others can be named", extensions.join(", "));
        return Err(Error::failed(what).with_hint(hint));
    }
    let others = count - logs.len() as u64;
    Ok(Folder { logs, others, sets: sets.into_iter().collect() })
}

/// Whether `name` ends as the names of logs do, packed or not.
fn is_called_as_logs_are(name: &str) -> bool {
    let unpacked = Packing::of_name(name).map_or(name, |(_, unpacked)| unpacked);
    LogFormat::from_file_name(unpacked).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_known_by_their_names_packed_or_not() {
        for name in ["a/x.bag", "X.ULG", "y.mcap.zst", "z.bag.active", "p.pcapng.gz"] {
            assert!(is_called_as_logs_are(name), "{name}");
        }
        for name in ["a/x.txt", "bag", "x.parquet", "x.tar.gz"] {
            assert!(!is_called_as_logs_are(name), "{name}");
        }
    }
}
