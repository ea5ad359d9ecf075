//! Object stores and web servers, with the feature `remote`.

pub mod upload;

#[cfg(feature = "remote")]
mod client;
#[cfg(not(feature = "remote"))]
mod unavailable;

#[cfg(feature = "remote")]
pub use self::client::{
    Connection, Folder, folder, is_folder, is_same, is_unsupported, list, look, open,
    shown,
};
#[cfg(not(feature = "remote"))]
pub use self::unavailable::{
    Connection, Folder, folder, is_folder, is_same, list, look, open, shown,
};

use std::sync::Arc;

use logtool_core::Source;

/// A log that is somewhere else.
pub struct Remote {
    /// What to call it: its URL, without what is secret in it.
    pub name: String,
    /// Its bytes.
    pub source: Arc<dyn Source>,
    /// Whether it was fetched as a whole already.
    pub is_whole: bool,
}

/// What is known of an object without a look into it.
pub struct Listed {
    /// Its URL, without what is secret in it.
    pub url: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was written, in nanoseconds of Unix time, if the server says.
    pub modified: Option<i64>,
}
