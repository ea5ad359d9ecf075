//! Object stores and web servers, with the feature `remote`.

pub mod upload;

#[cfg(feature = "remote")]
mod client;
#[cfg(not(feature = "remote"))]
mod missing_feature;

#[cfg(feature = "remote")]
pub use self::client::{
    UploadFolder, folder, is_folder, is_same, is_unsupported, list, open, stat,
    without_secrets,
};
#[cfg(not(feature = "remote"))]
pub use self::missing_feature::{
    UploadFolder, folder, is_folder, is_same, list, open, stat, without_secrets,
};

use std::sync::Arc;

use logtool_core::Source;

/// A log on a server.
pub struct Remote {
    /// The name in messages: the URL without secrets.
    pub name: String,
    /// Its bytes.
    pub source: Arc<dyn Source>,
    /// Whether it was downloaded completely.
    pub is_whole: bool,
}

/// The properties of an object in a listing.
pub struct ListedObject {
    /// Its URL without secrets.
    pub url: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the last change, in nanoseconds of Unix time, if the server states it.
    pub modified: Option<i64>,
    /// The entity tag or the version of the object, if the server states one.
    pub tag: Option<String>,
}
