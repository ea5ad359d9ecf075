//! How a bag is opened, beyond what is asked of all formats.

use logtool_core::OpenOptions;

use crate::encryption::Key;

/// How a bag is opened, beyond what is asked of all formats.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RosbagOptions {
    /// What is asked of all formats.
    pub open: OpenOptions,
    /// The key of an encrypted bag.
    pub key: Option<Key>,
    /// How the bag is looked through.
    pub survey: Survey,
}

/// How a bag is looked through when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Survey {
    /// The index is believed, if it can be; a bag that is no longer than 128 KiB is
    /// read through.
    #[default]
    Auto,
    /// The index is believed, if it can be.
    Index,
    /// The index is not looked at; the chunks are found by going from one to the next.
    Scan,
    /// Everything is read once: all counts are exact, and all damage is found.
    Full,
}

impl RosbagOptions {
    /// The same, with the general `options`.
    #[must_use]
    pub const fn with_open(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// The same, with the key of an encrypted bag.
    #[must_use]
    pub const fn with_key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// The same, looking through the bag as `survey` says.
    #[must_use]
    pub const fn with_survey(mut self, survey: Survey) -> Self {
        self.survey = survey;
        self
    }
}

impl From<OpenOptions> for RosbagOptions {
    fn from(open: OpenOptions) -> Self {
        Self::default().with_open(open)
    }
}
