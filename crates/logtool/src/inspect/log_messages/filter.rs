//! Selects text messages by their level, their text and their source.

use std::fmt;

use regex_automata::{meta, util::syntax};

use crate::{
    error::{Error, Result},
    records::{message_text::LevelChoice, rows::PrintedRows},
    source::selection::Pattern,
};

/// The maximum memory of a compiled regular expression, in bytes.
const MAX_REGEX_BYTES: usize = 10 << 20;

/// A selection of text messages. Without conditions, it accepts all.
///
/// ```
/// use logtool::log_messages::{LevelChoice, MessageFilter};
///
/// let filter = MessageFilter::new()
///     .with_level(LevelChoice::Warning)
///     .with_regex("battery|voltage")?;
/// # let _ = filter;
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct MessageFilter {
    level: Option<LevelChoice>,
    /// In lower case.
    texts: Vec<String>,
    regex: Option<meta::Regex>,
    sources: Vec<Pattern>,
}

impl MessageFilter {
    /// Creates a filter that accepts all messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts only messages that are at least as urgent as `level`. A level of another name may
    /// be urgent, and counts as such.
    pub fn with_level(mut self, level: LevelChoice) -> Self {
        self.level = Some(level);
        self
    }

    /// Accepts only messages that contain `text`, in upper or lower case.
    pub fn with_text(mut self, text: &str) -> Self {
        self.texts.push(text.to_lowercase());
        self
    }

    /// Accepts only messages that match the regular expression `pattern` somewhere. `(?i)` ignores
    /// the case.
    ///
    /// # Errors
    /// `InvalidRequest` if `pattern` is not a regular expression, or is too large.
    pub fn with_regex(mut self, pattern: &str) -> Result<Self> {
        let limits = meta::Config::new().nfa_size_limit(Some(MAX_REGEX_BYTES));
        let regex = meta::Builder::new()
            .configure(limits)
            .syntax(syntax::Config::new())
            .build(pattern)
            .map_err(|error| {
                let reason = error.syntax_error().map_or_else(
                    || error.to_string(),
                    |syntax| match syntax.to_string().lines().last() {
                        Some(line) => line.trim_start_matches("error: ").to_owned(),
                        None => error.to_string(),
                    },
                );
                let message =
                    format!("`{pattern}` is not a regular expression: {reason}");
                Error::invalid_request(message)
                    .with_hint("--contains searches a text without special characters")
            })?;
        self.regex = Some(regex);
        Ok(self)
    }

    /// Accepts only messages from a source that matches one of `patterns`, in which `*` and `?`
    /// match anything: the name of a ROS node; the module of PX4 that a message starts with, as
    /// `commander` in `[commander] Armed`; `event` or `string`.
    ///
    /// # Errors
    /// `InvalidRequest` if a pattern is not valid.
    pub fn with_sources<P: AsRef<str>>(
        mut self,
        patterns: impl IntoIterator<Item = P>,
    ) -> Result<Self> {
        for pattern in patterns {
            self.sources.push(Pattern::new(pattern.as_ref())?);
        }
        Ok(self)
    }

    /// Returns whether it accepts the row at index `row`. Rows without a text, which are not
    /// messages, are accepted.
    pub fn accepts(&self, rows: &PrintedRows, row: usize) -> bool {
        self.level.is_none_or(|min_level| rows.is_urgent(row, min_level))
            && rows.message(row).is_none_or(|(text, source)| {
                self.accepts_text(text) && self.accepts_source(text, source)
            })
    }

    fn accepts_text(&self, text: &str) -> bool {
        let has = |wanted: &String| text.to_lowercase().contains(wanted);
        self.texts.iter().all(has)
            && self.regex.as_ref().is_none_or(|regex| regex.is_match(text))
    }

    fn accepts_source(&self, text: &str, source: Option<&str>) -> bool {
        if self.sources.is_empty() {
            return true;
        }
        let module = text.strip_prefix('[').and_then(|text| text.split_once(']'));
        let names = source.into_iter().chain(module.map(|(module, _)| module.trim()));
        let mut names = names.map(|name| name.trim_start_matches('/'));
        names.any(|name| {
            let rooted = format!("/{name}");
            let is_match =
                |pattern: &Pattern| pattern.is_match(name) || pattern.is_match(&rooted);
            self.sources.iter().any(is_match)
        })
    }
}

impl fmt::Debug for MessageFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageFilter")
            .field("level", &self.level)
            .field("texts", &self.texts)
            .field("sources", &self.sources.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_in_any_case_and_all_must_be_there() {
        let filter = MessageFilter::new().with_text("Battery").with_text("ÄRGER");
        assert!(filter.accepts_text("low BATTERY, Ärger"));
        assert!(!filter.accepts_text("low battery"));
    }

    #[test]
    fn regular_expressions_match_anywhere() {
        let filter = MessageFilter::new().with_regex(r"^\[\w+\] .*(\d+) ?%").unwrap();
        assert!(filter.accepts_text("[battery] 20 %"));
        assert!(!filter.accepts_text("battery: 20 %"));
        let error = MessageFilter::new().with_regex("a(b").unwrap_err();
        assert!(error.to_string().contains("unclosed group"), "{error}");
        assert!(MessageFilter::new().with_regex(r"\w{1000}{1000}{1000}").is_err());
    }

    #[test]
    fn sources_are_nodes_modules_or_kinds() {
        let accepts = |pattern: &str, text: &str, source: Option<&str>| {
            let filter = MessageFilter::new().with_sources([pattern]).unwrap();
            filter.accepts_source(text, source)
        };
        assert!(accepts("commander", "[commander] Armed", Some("string")));
        assert!(accepts("string", "[commander] Armed", Some("string")));
        assert!(!accepts("logger", "[commander] logger", Some("string")));
        assert!(accepts("/move*", "text", Some("/move_base")));
        assert!(accepts("move_base", "text", Some("/move_base")));
        assert!(!accepts("event", "no module", None));
    }
}
