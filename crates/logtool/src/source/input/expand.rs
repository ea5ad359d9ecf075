//! Expands folders of object stores and patterns to the logs in them.

use std::{collections::BTreeSet, path::PathBuf};

use globset::GlobBuilder;

use crate::{
    error::{Error, Result},
    formats::LogFormat,
    source::{
        input::{FileCompression, url},
        remote::{self, ListedObject},
        session::Session,
    },
    text::units::count_of,
};

/// Replaces each folder of an object store and each pattern in `inputs` by the logs that it
/// contains or matches.
pub fn expand(inputs: &mut Vec<PathBuf>, session: &Session) -> Result<()> {
    let mut expanded = Vec::new();
    for input in inputs.drain(..) {
        match url::from_path(&input)
            .map(|url| list_objects(url, "", session))
            .transpose()?
            .flatten()
        {
            Some(FolderContents { logs, .. }) => {
                expanded.extend(logs.into_iter().map(|log| PathBuf::from(log.url)));
            }
            None => expanded.push(input),
        }
    }
    *inputs = expanded;
    Ok(())
}

/// The contents of a folder of an object store.
pub struct FolderContents {
    /// The objects with the extension of a log, or all objects that match the pattern, sorted by
    /// URL; at least one.
    pub logs: Vec<ListedObject>,
    /// The number of other objects.
    pub other_objects: u64,
    /// The datasets in the folder, as URLs with a trailing `/`.
    pub datasets: Vec<String>,
}

/// The wildcard characters of patterns.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// Returns the start of `url` up to the first wildcard.
pub fn literal_prefix(url: &str) -> &str {
    url.split(WILDCARDS).next().unwrap_or(url)
}

/// Lists the objects of `url` if it is a folder of an object store or a pattern. It is a pattern if
/// it contains `*`, or another wildcard while no object has exactly this name. The contents of the
/// folder `but` are excluded, unless `but` is empty.
pub fn list_objects(
    url: &str,
    but: &str,
    session: &Session,
) -> Result<Option<FolderContents>> {
    if remote::is_folder(url) {
        return list_folder(url, but, session).map(Some);
    }
    let literal_prefix = literal_prefix(url);
    let base = literal_prefix
        .rfind('/')
        .map_or(literal_prefix, |slash| &literal_prefix[..=slash]);
    if literal_prefix == url || !remote::is_folder(base) {
        return Ok(None);
    }
    if !url.contains('*') && remote::stat(url, session).is_ok() {
        return Ok(None);
    }
    let glob = GlobBuilder::new(url).literal_separator(true).build();
    let glob = glob.map_err(|err| {
        Error::invalid_request(format!(
            "`{url}` is not a valid pattern: {}",
            err.kind()
        ))
    })?;
    let glob = glob.compile_matcher();
    let mut logs = remote::list(base, but, session)?;
    logs.retain(|object| glob.is_match(&object.url));
    if logs.is_empty() {
        Err(Error::other("no matching object").context(url))
    } else {
        Ok(Some(FolderContents { logs, other_objects: 0, datasets: Vec::new() }))
    }
}

fn list_folder(url: &str, but: &str, session: &Session) -> Result<FolderContents> {
    let mut logs = remote::list(url, but, session)?;
    let count = logs.len() as u64;
    let states = logs.iter().filter_map(|object| {
        let end = object.url.find("/_logtool/")? + 1;
        Some(object.url[..end].to_owned())
    });
    let datasets: BTreeSet<String> = states.collect();
    logs.retain(|object| has_log_extension(&object.url));
    if logs.is_empty() {
        let message = match count {
            0 => "the folder is empty".to_owned(),
            _ => format!(
                "{} in it, but none with the extension of a log",
                count_of(count, "object")
            ),
        };
        let formats = LogFormat::ALL.iter().filter(|format| !format.is_table());
        let extensions = formats.flat_map(|format| format.extensions());
        let extensions: Vec<String> =
            extensions.map(|extension| format!(".{extension}")).collect();
        let hint = format!(
            "logs end in {}; other objects can be named",
            extensions.join(", ")
        );
        return Err(Error::other(message).with_hint(hint).context(url));
    }
    let other_objects = count - logs.len() as u64;
    Ok(FolderContents { logs, other_objects, datasets: datasets.into_iter().collect() })
}

/// Returns whether `name` has the extension of a log, compressed or not.
fn has_log_extension(name: &str) -> bool {
    let unpacked =
        FileCompression::from_name(name).map_or(name, |(_, unpacked)| unpacked);
    LogFormat::from_file_name(unpacked).is_some_and(|format| !format.is_table())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_of_logs_are_recognised_compressed_or_not() {
        for name in ["a/x.bag", "X.ULG", "y.mcap.zst", "z.bag.active", "p.pcapng.gz"] {
            assert!(has_log_extension(name), "{name}");
        }
        for name in ["a/x.txt", "bag", "x.parquet", "x.tar.gz"] {
            assert!(!has_log_extension(name), "{name}");
        }
    }
}
