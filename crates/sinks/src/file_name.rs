//! What the files of tables are called.
//!
//! Topics are named by whoever wrote the log: a name may have slashes, dots, control
//! characters or hundreds of letters in it, or be one that Windows keeps for itself.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::Topic;

/// How files are named after topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameStyle {
    /// `<prefix>_<topic>_<instance>`, as ulog2csv does, the prefix being the name of
    /// the log without its extension.
    Prefixed(String),
    /// `<topic>_<instance>`.
    Topic,
    /// `<topic>`, and `<topic>_<instance>` for all instances but 0, as PX4's Flight
    /// Review does.
    FirstBare,
    /// `<folder>/index`, the folder being called as with [`FirstBare`](Self::FirstBare):
    /// a table of files that lie beside it.
    Index,
}

/// The names of the files of all topics of a log.
///
/// No two are the same, not even where upper and lower case are the same. Which topic
/// is called what depends on nothing but the list of topics.
#[derive(Clone, Debug)]
pub struct FileNames {
    style: NameStyle,
    stems: BTreeMap<(String, u32), String>,
}

/// How many bytes a name may have without its extension: file systems allow 255.
const MAX_STEM: usize = 230;

impl FileNames {
    /// Names for `topics`, which are all topics of a log.
    pub fn new(style: NameStyle, topics: &[Topic]) -> Self {
        let mut taken = BTreeSet::new();
        let mut stems = BTreeMap::new();
        for topic in topics {
            let wanted = stem(&style, &topic.name, topic.instance);
            let mut given = wanted.clone();
            let mut attempt = 0;
            while !taken.insert(given.to_lowercase()) {
                let hash = hash(&topic.name, topic.instance, attempt);
                given = format!("{wanted}~{hash:08x}");
                attempt += 1;
            }
            stems.insert((topic.name.clone(), topic.instance), given);
        }
        Self { style, stems }
    }

    /// The names that topics were given, by their name and instance; `style` says what
    /// becomes of them.
    pub fn given(style: NameStyle, stems: BTreeMap<(String, u32), String>) -> Self {
        Self { style, stems }
    }

    /// What the file of a topic would be called if there were no other, without its
    /// extension.
    pub fn stem_of(style: &NameStyle, name: &str, instance: u32) -> String {
        stem(style, name, instance)
    }

    /// The name of the file of `topic`, with `extension`.
    pub fn file_name(&self, topic: &Topic, extension: &str) -> String {
        let stem = self.stem(topic);
        match self.style {
            NameStyle::Index => format!("{stem}/index.{extension}"),
            _ => format!("{stem}.{extension}"),
        }
    }

    /// The same without an extension; in the style [`Index`](NameStyle::Index), the name
    /// of the folder of `topic`.
    pub fn stem(&self, topic: &Topic) -> String {
        let key = (topic.name.clone(), topic.instance);
        let stem = || stem(&self.style, &topic.name, topic.instance);
        self.stems.get(&key).cloned().unwrap_or_else(stem)
    }
}

/// What a file would be called if there were no other, without its extension.
fn stem(style: &NameStyle, name: &str, instance: u32) -> String {
    let topic = plain(name.strip_prefix('/').unwrap_or(name));
    let mut stem = match style {
        NameStyle::Prefixed(prefix) => {
            format!("{}_{topic}_{instance}", harmless(prefix))
        }
        NameStyle::FirstBare | NameStyle::Index if instance == 0 => topic,
        NameStyle::Topic | NameStyle::FirstBare | NameStyle::Index => {
            format!("{topic}_{instance}")
        }
    };
    if stem.len() > MAX_STEM {
        let hash = hash(name, instance, 0);
        let kept = (0..MAX_STEM - 8).rev().find(|at| stem.is_char_boundary(*at));
        stem.truncate(kept.unwrap_or_default());
        stem.push_str(&format!("~{hash:08x}"));
    }
    let device = stem.split('.').next().unwrap_or_default().trim_end();
    if stem.starts_with('.') || is_device(device) {
        stem.insert(0, '_');
    }
    stem
}

/// `name`, with an underscore for whatever is not a plain letter or digit, `-` or `.`.
fn plain(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut plain: String =
        name.chars().map(|c| if keep(c) { c } else { '_' }).collect();
    let end = plain.trim_end_matches('.').len();
    plain.replace_range(end.., &"_".repeat(plain.len() - end));
    if plain.is_empty() { "_".to_owned() } else { plain }
}

/// `name`, with an underscore for whatever cannot be in a file's name.
fn harmless(name: &str) -> String {
    let bad = |c: char| c.is_control() || matches!(c, '/' | '\\');
    name.chars().map(|c| if bad(c) { '_' } else { c }).collect()
}

/// Whether Windows opens a device where a file is called `name`.
fn is_device(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let numbered = |kind| {
        let digit: Option<&str> = name.strip_prefix(kind);
        digit.is_some_and(|d| d.len() == 1 && d.as_bytes()[0].is_ascii_digit())
    };
    matches!(name.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || numbered("COM")
        || numbered("LPT")
}

/// 32 bits that tell topics apart (FNV-1a).
fn hash(name: &str, instance: u32, attempt: u32) -> u32 {
    let (instance, attempt) = (instance.to_le_bytes(), attempt.to_le_bytes());
    name.bytes().chain(instance).chain(attempt).fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests;
