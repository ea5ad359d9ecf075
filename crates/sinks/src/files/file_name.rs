//! The names of the files of tables.
//!
//! Names of topics come from the log: they may contain slashes, dots, control characters or
//! hundreds of letters, or be reserved by Windows.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::Topic;

/// How files are named after topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameStyle {
    /// `<prefix>_<topic>_<instance>`, like ulog2csv. The prefix is the name of the log without
    /// its extension.
    Prefixed(String),
    /// `<topic>_<instance>`.
    Topic,
    /// `<topic>`, and `<topic>_<instance>` for all instances except 0, like PX4's Flight Review.
    FirstBare,
    /// `<folder>/index`: a table of the files in that folder. The folder is named like
    /// [`FirstBare`](Self::FirstBare).
    Index,
}

/// The names of the files of all topics of a log.
///
/// Names are unique, also when upper and lower case are not distinguished. They depend only on
/// the list of topics.
#[derive(Clone, Debug)]
pub struct FileNames {
    style: NameStyle,
    stems: BTreeMap<(String, u32), String>,
}

/// The longest name without its extension, in bytes; file systems allow 255.
const MAX_STEM: usize = 230;

impl FileNames {
    /// Chooses names for `topics`, which must be all topics of a log.
    pub fn new(style: NameStyle, topics: &[Topic]) -> Self {
        let mut taken_names = BTreeSet::new();
        let mut stems = BTreeMap::new();
        for topic in topics {
            let base_name = stem(&style, &topic.name, topic.instance);
            let mut file_name = base_name.clone();
            let mut attempt = 0;
            while !taken_names.insert(file_name.to_lowercase()) {
                let hash = hash(&topic.name, topic.instance, attempt);
                file_name = format!("{base_name}~{hash:08x}");
                attempt += 1;
            }
            stems.insert((topic.name.clone(), topic.instance), file_name);
        }
        Self { style, stems }
    }

    /// Uses names that were chosen before: `stems` maps the name and instance of a topic to its
    /// name without extension.
    pub fn from_stems(
        style: NameStyle,
        stems: BTreeMap<(String, u32), String>,
    ) -> Self {
        Self { style, stems }
    }

    /// Returns the file name of a topic without extension if no other topic has the same.
    pub fn stem_of(style: &NameStyle, name: &str, instance: u32) -> String {
        stem(style, name, instance)
    }

    /// Returns the name of the file of `topic`, with `extension`.
    pub fn file_name(&self, topic: &Topic, extension: &str) -> String {
        let stem = self.stem(topic);
        match self.style {
            NameStyle::Index => format!("{stem}/index.{extension}"),
            _ => format!("{stem}.{extension}"),
        }
    }

    /// Returns the name of the file of `topic` without extension; in the style
    /// [`Index`](NameStyle::Index), the name of the folder of `topic`.
    pub fn stem(&self, topic: &Topic) -> String {
        let key = (topic.name.clone(), topic.instance);
        let stem = || stem(&self.style, &topic.name, topic.instance);
        self.stems.get(&key).cloned().unwrap_or_else(stem)
    }
}

/// Returns a file name without extension, which may not be unique.
fn stem(style: &NameStyle, name: &str, instance: u32) -> String {
    let topic = ascii_only(name.strip_prefix('/').unwrap_or(name));
    let mut stem = match style {
        NameStyle::Prefixed(prefix) => {
            format!("{}_{topic}_{instance}", without_separators(prefix))
        }
        NameStyle::FirstBare | NameStyle::Index if instance == 0 => topic,
        NameStyle::Topic | NameStyle::FirstBare | NameStyle::Index => {
            format!("{topic}_{instance}")
        }
    };
    if stem.len() > MAX_STEM {
        let hash = hash(name, instance, 0);
        let len = (0..MAX_STEM - 8).rev().find(|at| stem.is_char_boundary(*at));
        stem.truncate(len.unwrap_or_default());
        stem.push_str(&format!("~{hash:08x}"));
    }
    let device = stem.split('.').next().unwrap_or_default().trim_end();
    if stem.starts_with('.') || is_device(device) {
        stem.insert(0, '_');
    }
    stem
}

/// Replaces each character of `name` except ASCII letters, digits, `-` and `.` by an underscore.
fn ascii_only(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut ascii_only: String =
        name.chars().map(|c| if keep(c) { c } else { '_' }).collect();
    let end = ascii_only.trim_end_matches('.').len();
    ascii_only.replace_range(end.., &"_".repeat(ascii_only.len() - end));
    if ascii_only.is_empty() { "_".to_owned() } else { ascii_only }
}

/// Replaces each character of `name` that cannot be in a file name by an underscore.
fn without_separators(name: &str) -> String {
    let is_unsafe = |c: char| c.is_control() || matches!(c, '/' | '\\');
    name.chars().map(|c| if is_unsafe(c) { '_' } else { c }).collect()
}

/// Returns whether Windows opens a device instead of a file called `name`.
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

/// Returns a 32-bit hash that distinguishes topics (FNV-1a).
fn hash(name: &str, instance: u32, attempt: u32) -> u32 {
    let (instance, attempt) = (instance.to_le_bytes(), attempt.to_le_bytes());
    name.bytes().chain(instance).chain(attempt).fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests;
