//! From what was typed to the logs that are meant.

use std::path::PathBuf;

use anyhow::Result;

use crate::{complaint::Complaint, human::counted, remote, url};

/// Puts the logs in each folder of an object store in its place: the objects in it, and
/// in those in it, that are called as logs are.
pub(crate) fn expand(inputs: &mut Vec<PathBuf>) -> Result<()> {
    let mut expanded = Vec::new();
    for input in inputs.drain(..) {
        match url::of(&input) {
            Some(url) if remote::is_folder(url) => expanded.extend(logs_in(url)?),
            _ => expanded.push(input),
        }
    }
    *inputs = expanded;
    Ok(())
}

fn logs_in(url: &str) -> Result<impl Iterator<Item = PathBuf>> {
    let mut objects = remote::list(url)?;
    let count = objects.len() as u64;
    objects.retain(|object| is_called_as_logs_are(object));
    if objects.is_empty() {
        let what = match count {
            0 => format!("{url}: there are no objects in it"),
            _ => format!(
                "{url}: {} in it, and none is called as logs are",
                counted(count, "object")
            ),
        };
        let hint = "logs end in .ulg, .bag, .mcap, .vel, .pcap or .pcapng; others can be named";
        return Err(Complaint::new(what).hint(hint).into());
    }
    Ok(objects.into_iter().map(PathBuf::from))
}

/// Whether `name` ends as the names of logs do, packed or not.
fn is_called_as_logs_are(name: &str) -> bool {
    const ENDS: [&str; 8] =
        [".ulg", ".ulog", ".bag", ".bag.active", ".mcap", ".vel", ".pcap", ".pcapng"];
    let name = name.to_ascii_lowercase();
    let packed = [".gz", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end));
    ENDS.iter().any(|end| packed.unwrap_or(&name).ends_with(end))
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
