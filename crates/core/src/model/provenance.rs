//! The provenance of an output: its source files, the program and the command.

use std::collections::BTreeMap;

use serde::Serialize;

/// A source file of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    /// The file name without folders.
    pub name: String,
    /// The size of the file in bytes, before decompression.
    pub bytes: u64,
    /// A digest of the bytes: the name of the hash, a colon and hexadecimal digits, e.g.
    /// `blake3:af13…`. Empty if only ranges of a remote object were read.
    pub digest: String,
}

/// The provenance of an output. It contains no time, so that the same program and files
/// give the same output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The source files.
    pub sources: Vec<SourceFile>,
    /// The name and the version of the program.
    pub tool: String,
    /// The command and its options, without file names.
    pub command: String,
}

impl Provenance {
    /// The name of the provenance in outputs with named metadata.
    pub const NAME: &'static str = "provenance";

    /// Returns the provenance as a JSON object on one line.
    pub fn json(&self) -> String {
        // The keys are strings, and the values strings and integers, so this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the provenance as key-value pairs: `tool`, `command`, and for each source
    /// file, e.g. the first, `sources[0].name`, `sources[0].bytes` and
    /// `sources[0].digest`.
    pub fn entries(&self) -> BTreeMap<String, String> {
        let mut entries = BTreeMap::from([
            ("tool".to_owned(), self.tool.clone()),
            ("command".to_owned(), self.command.clone()),
        ]);
        for (index, source) in self.sources.iter().enumerate() {
            let mut add = |key: &str, value: String| {
                entries.insert(format!("sources[{index}].{key}"), value);
            };
            add("name", source.name.clone());
            add("bytes", source.bytes.to_string());
            add("digest", source.digest.clone());
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provenance() -> Provenance {
        let source = SourceFile {
            name: "a \"b\".ulg".to_owned(),
            bytes: 7,
            digest: "blake3:00ff".to_owned(),
        };
        Provenance {
            sources: vec![source],
            tool: "logtool 1".to_owned(),
            command: "convert --format csv".to_owned(),
        }
    }

    #[test]
    fn json_is_on_one_line() {
        let expected = r#"{"sources":[{"name":"a \"b\".ulg","bytes":7,"digest":"blake3:00ff"}],"tool":"logtool 1","command":"convert --format csv"}"#;
        assert_eq!(provenance().json(), expected);
    }

    #[test]
    fn entries_have_the_same_values() {
        let entries = provenance().entries();
        let entries: Vec<_> =
            entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let expected = [
            ("command", "convert --format csv"),
            ("sources[0].bytes", "7"),
            ("sources[0].digest", "blake3:00ff"),
            ("sources[0].name", "a \"b\".ulg"),
            ("tool", "logtool 1"),
        ];
        assert_eq!(entries, expected);
    }
}
