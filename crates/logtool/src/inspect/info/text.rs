//! The description of a log as text.

mod chunks;
mod facts;
mod lidars;
mod topics;
mod types;

use std::fmt::Write as _;

use logtool_core::Manifest;

use crate::{
    formats::LogFormat,
    inspect::info::LogInfo,
    text::{
        text_style::TextStyle,
        units::{Bytes, escape_unprintable},
    },
    time::clock::{ShownClock, TimeChoice},
};

/// The width of the column of the names of facts.
const NAME_WIDTH: usize = 12;

/// How [`LogInfo::to_text`] writes a description.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TextOptions {
    style: TextStyle,
    shortens_topics: bool,
    has_file_name_only: bool,
    clock: TimeChoice,
}

impl TextOptions {
    /// Creates options for text without emphasis.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the emphasis.
    pub fn with_style(mut self, style: TextStyle) -> Self {
        self.style = style;
        self
    }

    /// Shortens the names of topics to 60 characters, so that lines fit on a terminal.
    pub fn with_short_topics(mut self) -> Self {
        self.shortens_topics = true;
        self
    }

    /// Sets the clock of the times. The default is that of the log, which is also used if UTC is
    /// chosen and the log has no UTC reference.
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = clock;
        self
    }

    /// Leaves out the folder of the log.
    pub fn with_file_name_only(mut self) -> Self {
        self.has_file_name_only = true;
        self
    }
}

impl TextOptions {
    /// Returns the clock on which times of the log of `manifest` are shown.
    fn shown_clock(&self, manifest: &Manifest) -> ShownClock {
        let clock = ShownClock::new(manifest, self.clock);
        clock.unwrap_or_else(|_| ShownClock::from_manifest(manifest))
    }
}

/// Returns the description `info` as lines of text.
pub(super) fn write(info: &LogInfo, options: &TextOptions) -> String {
    let mut text = TextWriter { text: String::new(), options };
    let input = info.log.input();
    let name = if options.has_file_name_only { input.file_name() } else { &info.file };
    let compression =
        info.compression.map(|compression| format!(", from {}", compression.name()));
    let format = LogFormat::from_name(&info.format);
    let format = format.map_or(info.format.as_str(), |format| format.title());
    text.add_line(&format!(
        "{}  {}, {}{}",
        options.style.bold(&escape_unprintable(name)),
        format,
        Bytes(info.bytes),
        compression.unwrap_or_default()
    ));
    facts::write(&mut text, info);
    topics::write(&mut text, info);
    let manifest = info.log.manifest();
    types::write(&mut text, manifest);
    if info.health.is_some() {
        topics::write_md5_sums(&mut text, manifest);
    }
    topics::write_frequencies(&mut text, info);
    text.text
}

/// A text to which lines are added.
struct TextWriter<'o> {
    text: String,
    options: &'o TextOptions,
}

impl TextWriter<'_> {
    fn style(&self) -> TextStyle {
        self.options.style
    }

    fn add_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds an empty line, and the heading of a table.
    fn add_heading(&mut self, heading: &str) {
        self.add_line("");
        let heading = self.style().bold(heading).into_owned();
        self.add_line(&heading);
    }

    /// Adds a fact. Its name is empty if it continues the line before.
    fn add_fact(&mut self, name: &str, text: &str) {
        self.add_styled_fact(name, &escape_unprintable(text));
    }

    /// Adds a fact that users should notice.
    fn add_warning(&mut self, name: &str, text: &str) {
        let text = escape_unprintable(text);
        let text = self.style().yellow(&text).into_owned();
        self.add_styled_fact(name, &text);
    }

    fn add_styled_fact(&mut self, name: &str, text: &str) {
        // Padding is outside the emphasis, so that escape sequences do not count.
        let padding = NAME_WIDTH.saturating_sub(name.chars().count());
        let name = escape_unprintable(name);
        let name = self.style().dim(&name);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "  {name}{:padding$}{text}", "");
    }
}
