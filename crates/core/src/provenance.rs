//! Where an output is from: of which files, made by which program, told to do what.

use std::collections::BTreeMap;

use serde::Serialize;

/// A file that an output is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    /// What it is called, without the folders that it is in.
    pub name: String,
    /// How many bytes it is, as it lies there: packed, if it is packed.
    pub bytes: u64,
    /// What tells these bytes from all others: the name of a hash, a colon and its
    /// hexadecimal digits, as `blake3:af13…`. Empty where the bytes were read by ranges
    /// from afar, and not all of them.
    pub digest: String,
}

/// Where an output is from. There is no time in it: the same program makes the same output
/// of the same files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The files that it is made of.
    pub sources: Vec<SourceFile>,
    /// The program, and its version.
    pub tool: String,
    /// The command, and the options that were given, without the names of files.
    pub command: String,
}

impl Provenance {
    /// What an output calls it, where it has names for what it says.
    pub const NAME: &'static str = "provenance";

    /// All of it as a JSON object, in one line.
    pub fn json(&self) -> String {
        // Text keys, texts and whole numbers: there is nothing that could fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// All of it as words: `tool`, `command`, and of each file, by its number,
    /// `sources[0].name`, `sources[0].bytes` and `sources[0].digest`.
    pub fn words(&self) -> BTreeMap<String, String> {
        let mut words = BTreeMap::from([
            ("tool".to_owned(), self.tool.clone()),
            ("command".to_owned(), self.command.clone()),
        ]);
        for (number, source) in self.sources.iter().enumerate() {
            let mut tell = |key: &str, value: String| {
                words.insert(format!("sources[{number}].{key}"), value);
            };
            tell("name", source.name.clone());
            tell("bytes", source.bytes.to_string());
            tell("digest", source.digest.clone());
        }
        words
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
    fn it_is_one_line_of_json() {
        let want = r#"{"sources":[{"name":"a \"b\".ulg","bytes":7,"digest":"blake3:00ff"}],"tool":"logtool 1","command":"convert --format csv"}"#;
        assert_eq!(provenance().json(), want);
    }

    #[test]
    fn words_say_the_same() {
        let words = provenance().words();
        let words: Vec<_> =
            words.iter().map(|(key, word)| (key.as_str(), word.as_str())).collect();
        let want = [
            ("command", "convert --format csv"),
            ("sources[0].bytes", "7"),
            ("sources[0].digest", "blake3:00ff"),
            ("sources[0].name", "a \"b\".ulg"),
            ("tool", "logtool 1"),
        ];
        assert_eq!(words, want);
    }
}
