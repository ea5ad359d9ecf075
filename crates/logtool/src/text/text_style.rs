//! The emphasis of text for people: none, or the colours of a terminal.

use std::borrow::Cow;

/// The emphasis of text for people.
///
/// ```
/// use logtool::text_style::TextStyle;
///
/// assert_eq!(TextStyle::Plain.bold("TOPIC"), "TOPIC");
/// assert_eq!(TextStyle::Terminal.bold("TOPIC"), "\x1b[1mTOPIC\x1b[0m");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextStyle {
    /// Text without emphasis.
    #[default]
    Plain,
    /// Text with the escape sequences of terminals: ECMA-48, "select graphic rendition".
    Terminal,
}

/// Ends an emphasis.
const RESET: &str = "\x1b[0m";

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[33m";

impl TextStyle {
    /// All escape sequences that a styled text may contain.
    pub const SEQUENCES: [&'static str; 5] = [BOLD, DIM, RED, YELLOW, RESET];

    /// The escape sequence after an emphasised text.
    pub const RESET: &'static str = RESET;

    /// Emphasises headings and names.
    pub fn bold(self, text: &str) -> Cow<'_, str> {
        self.emphasize(BOLD, text)
    }

    /// Makes labels less prominent.
    pub fn dim(self, text: &str) -> Cow<'_, str> {
        self.emphasize(DIM, text)
    }

    /// Emphasises failures.
    pub fn red(self, text: &str) -> Cow<'_, str> {
        self.emphasize(RED, text)
    }

    /// Emphasises warnings.
    pub fn yellow(self, text: &str) -> Cow<'_, str> {
        self.emphasize(YELLOW, text)
    }

    fn emphasize<'t>(self, start: &str, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Terminal if !text.is_empty() => {
                format!("{start}{text}{RESET}").into()
            }
            Self::Plain | Self::Terminal => text.into(),
        }
    }
}
