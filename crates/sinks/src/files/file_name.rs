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
    OmitInstanceZero,
    /// `<folder>/index`: a table of the files in that folder. The folder is named like
    /// [`OmitInstanceZero`](Self::OmitInstanceZero).
    FolderIndex,
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
const MAX_STEM_BYTES: usize = 230;

impl FileNames {
    /// Chooses names for `topics`, which must be all topics of a log.
    pub fn new(style: NameStyle, topics: &[Topic]) -> Self {
        let mut taken_names = BTreeSet::new();
        let mut stems = BTreeMap::new();
        for topic in topics {
            let base_stem = stem(&style, &topic.name, topic.instance);
            let mut unique_stem = base_stem.clone();
            let mut attempt = 0;
            while !taken_names.insert(unique_stem.to_lowercase()) {
                let hash = topic_hash(&topic.name, topic.instance, attempt);
                unique_stem = format!("{base_stem}~{hash:08x}");
                attempt += 1;
            }
            stems.insert((topic.name.clone(), topic.instance), unique_stem);
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

    /// Returns the file name without extension that a topic gets unless another topic of the log
    /// has the same file name.
    pub fn stem_of(style: &NameStyle, name: &str, instance: u32) -> String {
        stem(style, name, instance)
    }

    /// Returns the name of the file of `topic`, including `extension`.
    pub fn file_name(&self, topic: &Topic, extension: &str) -> String {
        let stem = self.stem(topic);
        match self.style {
            NameStyle::FolderIndex => format!("{stem}/index.{extension}"),
            _ => format!("{stem}.{extension}"),
        }
    }

    /// Returns the name of the file of `topic` without extension; in the style
    /// [`FolderIndex`](NameStyle::FolderIndex), the name of the folder of `topic`.
    pub fn stem(&self, topic: &Topic) -> String {
        let key = (topic.name.clone(), topic.instance);
        let stem = || stem(&self.style, &topic.name, topic.instance);
        self.stems.get(&key).cloned().unwrap_or_else(stem)
    }
}

/// Returns a file name without extension, which may not be unique.
fn stem(style: &NameStyle, name: &str, instance: u32) -> String {
    let topic = to_safe_ascii(name.strip_prefix('/').unwrap_or(name));
    let mut stem = match style {
        NameStyle::Prefixed(prefix) => {
            format!("{}_{topic}_{instance}", replace_separators(prefix))
        }
        NameStyle::OmitInstanceZero | NameStyle::FolderIndex if instance == 0 => topic,
        NameStyle::Topic | NameStyle::OmitInstanceZero | NameStyle::FolderIndex => {
            format!("{topic}_{instance}")
        }
    };
    if stem.len() > MAX_STEM_BYTES {
        let hash = topic_hash(name, instance, 0);
        let hash_len = 9; // `~` and eight digits
        let mut len = MAX_STEM_BYTES - hash_len;
        while !stem.is_char_boundary(len) {
            len -= 1;
        }
        stem.truncate(len);
        stem.push_str(&format!("~{hash:08x}"));
    }
    // Windows ignores everything after the first dot when it looks for a device.
    let device_name = stem.split('.').next().unwrap_or_default().trim_end();
    if stem.starts_with('.') || is_windows_device(device_name) {
        stem.insert(0, '_');
    }
    stem
}

/// Replaces each character of `name` except ASCII letters, digits, `-` and `.`, and also the dots
/// at its end, with an underscore. An empty name becomes an underscore.
fn to_safe_ascii(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut safe_name: String =
        name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    let len_without_dots = safe_name.trim_end_matches('.').len();
    let dots = safe_name.len() - len_without_dots;
    safe_name.replace_range(len_without_dots.., &"_".repeat(dots));
    if safe_name.is_empty() { "_".to_owned() } else { safe_name }
}

/// Replaces each control character and separator of directories in `name` with an underscore.
fn replace_separators(name: &str) -> String {
    let is_unsafe = |c: char| c.is_control() || matches!(c, '/' | '\\');
    name.chars().map(|c| if is_unsafe(c) { '_' } else { c }).collect()
}

/// Returns whether Windows opens a device instead of a file called `name`.
fn is_windows_device(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_numbered_port = |prefix| {
        let number: Option<&str> = name.strip_prefix(prefix);
        number.is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit())
    };
    matches!(name.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || is_numbered_port("COM")
        || is_numbered_port("LPT")
}

/// Returns a 32-bit hash that distinguishes topics (FNV-1a).
fn topic_hash(name: &str, instance: u32, attempt: u32) -> u32 {
    let (instance, attempt) = (instance.to_le_bytes(), attempt.to_le_bytes());
    name.bytes().chain(instance).chain(attempt).fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests;
