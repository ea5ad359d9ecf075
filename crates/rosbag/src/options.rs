//! Options for opening a bag.

use logtool_core::OpenOptions;

use crate::codec::encryption::Key;

/// Options for opening a bag.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RosbagOptions {
    /// The options of all formats.
    pub open: OpenOptions,
    /// The key of an encrypted bag.
    pub key: Option<Key>,
    /// How the contents of the bag are found.
    pub mode: OpenMode,
}

/// How the contents of a bag are found when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenMode {
    /// The index is used if it is consistent; a bag of up to 128 KiB is read completely.
    #[default]
    Auto,
    /// The index is used if it is consistent.
    Index,
    /// The index is not used; the chunks are found by going from one to the next.
    Scan,
    /// The whole bag is read once: all counts are exact, and all damage is found.
    Full,
}

impl RosbagOptions {
    /// Sets the general `options`.
    #[must_use]
    pub const fn with_open(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Sets the key of an encrypted bag.
    #[must_use]
    pub const fn with_key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets how the contents of the bag are found.
    #[must_use]
    pub const fn with_mode(mut self, mode: OpenMode) -> Self {
        self.mode = mode;
        self
    }
}

impl From<OpenOptions> for RosbagOptions {
    fn from(open: OpenOptions) -> Self {
        Self::default().with_open(open)
    }
}
