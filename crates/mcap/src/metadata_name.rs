//! Names of metadata records that depend on their contents.
//!
//! Programs that merge files refuse two records with the same name and other contents (the mcap
//! CLI: "metadata name … was previously encountered"). So the records of this writer have names
//! such as `provenance.1a2b3c4d`, and readers of this crate show them as `provenance`.

use std::collections::BTreeMap;

/// Returns the name of a new record called `name` with `entries`.
pub(crate) fn with_checksum(name: &str, entries: &BTreeMap<String, String>) -> String {
    format!("{name}.{:08x}", checksum(entries))
}

/// Returns the name without the checksum of `entries`, if it ends with that.
pub(crate) fn without_checksum<'n>(
    name: &'n str,
    entries: &BTreeMap<String, String>,
) -> &'n str {
    let suffix = format!(".{:08x}", checksum(entries));
    name.strip_suffix(&suffix).unwrap_or(name)
}

/// Returns the CRC-32 of `entries`, each preceded by its length.
fn checksum(entries: &BTreeMap<String, String>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for text in entries.iter().flat_map(|(key, value)| [key, value]) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_depends_on_the_entries_and_is_restored() {
        let entries =
            |value: &str| BTreeMap::from([("command".to_owned(), value.to_owned())]);
        let names =
            ["filter", "merge"].map(|value| with_checksum("a", &entries(value)));
        assert_ne!(names[0], names[1]);
        assert_eq!(with_checksum("a", &entries("filter")), names[0]);
        assert_eq!(without_checksum(&names[0], &entries("filter")), "a");
        // The name of another program.
        assert_eq!(without_checksum("a.1a2b3c4d", &entries("filter")), "a.1a2b3c4d");
    }
}
