//! Patterns of files of this machine.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use logtool::{Error, Result};

/// A pattern, as shells have them: `disk/**/*.bag`.
pub(super) struct Wild {
    matcher: GlobMatcher,
    /// The folder in which is all that it means.
    pub(super) base: PathBuf,
    /// Whether it ends with a slash, and so means folders.
    is_of_folders: bool,
}

impl Wild {
    /// The pattern `typed`, if it is one.
    pub(super) fn new(typed: &Path) -> Result<Option<Self>> {
        let Some(text) = typed.to_str().filter(|text| is_pattern(text)) else {
            return Ok(None);
        };
        // As names of files are put together: `a//b` and `a/./b` are `a/b`.
        let pattern: PathBuf = typed.components().collect();
        let pattern = pattern.to_str().unwrap_or(text);
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|err| {
            Error::invalid(format!("`{text}` is no pattern: {}", err.kind()))
        })?;
        Ok(Some(Self {
            matcher: glob.compile_matcher(),
            base: plain(typed),
            is_of_folders: text.ends_with(std::path::is_separator),
        }))
    }

    /// Whether it means `path`, which `is_dir` or not.
    pub(super) fn is_match(&self, path: &Path, is_dir: bool) -> bool {
        (is_dir || !self.is_of_folders) && self.matcher.is_match(path)
    }
}

/// What `path` begins with that is no pattern.
pub(super) fn plain(path: &Path) -> PathBuf {
    let is_plain =
        |part: &Component<'_>| !part.as_os_str().to_str().is_some_and(is_pattern);
    path.components().take_while(is_plain).collect()
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}
