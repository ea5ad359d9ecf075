//! Patterns of local files.

use std::path::{Component, Path, PathBuf, is_separator};

use globset::{GlobBuilder, GlobMatcher};

use crate::error::{Error, Result};

/// A pattern with the syntax of shells, e.g. `disk/**/*.bag`.
pub(super) struct FileGlob {
    matcher: GlobMatcher,
    /// The folder that contains all matches.
    pub(super) base: PathBuf,
    /// Whether the pattern ends with a slash, so that it matches only folders.
    matches_only_folders: bool,
}

impl FileGlob {
    /// Parses `path`; returns `None` if it is not a pattern.
    pub(super) fn parse(path: &Path) -> Result<Option<Self>> {
        let Some(text) = path.to_str().filter(|text| has_wildcard(text)) else {
            return Ok(None);
        };
        // Paths are compared in their normal form: `a//b` and `a/./b` are `a/b`.
        let normal: PathBuf = path.components().collect();
        let normal = normal.to_str().unwrap_or(text);
        let glob = GlobBuilder::new(normal).literal_separator(true).build();
        let glob = glob.map_err(|err| {
            Error::invalid_request(format!(
                "`{text}` is not a valid pattern: {}",
                err.kind()
            ))
        })?;
        Ok(Some(Self {
            matcher: glob.compile_matcher(),
            base: base(path),
            matches_only_folders: text.ends_with(is_separator),
        }))
    }

    /// Returns whether the pattern matches the file `path`.
    pub(super) fn matches_file(&self, path: &Path) -> bool {
        !self.matches_only_folders && self.matcher.is_match(path)
    }

    /// Returns whether the pattern matches the folder `path`.
    pub(super) fn matches_folder(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }
}

/// Returns the components at the start of `path` that have no wildcards.
pub(super) fn base(path: &Path) -> PathBuf {
    let is_literal =
        |part: &Component<'_>| !part.as_os_str().to_str().is_some_and(has_wildcard);
    path.components().take_while(is_literal).collect()
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}
