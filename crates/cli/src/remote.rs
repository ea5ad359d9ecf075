//! The way to object stores and web servers, which the feature `cloud` brings.

#[cfg(feature = "cloud")]
mod client;
#[cfg(not(feature = "cloud"))]
mod none;

#[cfg(feature = "cloud")]
pub(crate) use self::client::{
    Folder, folder, is_folder, is_same, is_unsupported, list, look, open, shown,
};
#[cfg(not(feature = "cloud"))]
pub(crate) use self::none::{
    Folder, folder, is_folder, is_same, list, look, open, shown,
};

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use logtool_core::Source;

use crate::args::GlobalArgs;

/// What was typed of it.
static TYPED: OnceLock<Typed> = OnceLock::new();

/// What was typed that is for all that is somewhere else.
#[derive(Clone, Copy, Debug, Default)]
struct Typed {
    #[cfg_attr(not(feature = "cloud"), expect(dead_code, reason = "nothing is asked"))]
    wait: Option<Duration>,
    #[cfg_attr(not(feature = "cloud"), expect(dead_code, reason = "nothing is told"))]
    is_quiet: bool,
}

/// Notes what was typed.
pub(crate) fn take(global: &GlobalArgs) {
    let wait = global.remote_timeout.map(|seconds| Duration::from_secs(seconds.into()));
    TYPED.get_or_init(|| Typed { wait, is_quiet: global.quiet });
}

/// A log that is somewhere else.
pub(crate) struct Remote {
    /// What to call it: its URL, without what is secret in it.
    pub(crate) name: String,
    /// Its bytes.
    pub(crate) source: Arc<dyn Source>,
    /// Whether it was fetched as a whole already.
    pub(crate) is_whole: bool,
}

/// What is known of an object without a look into it.
pub(crate) struct Listed {
    /// Its URL, without what is secret in it.
    pub(crate) url: String,
    /// How many bytes it has.
    pub(crate) bytes: u64,
    /// When it was written, in nanoseconds of Unix time, if the server says.
    pub(crate) modified: Option<i64>,
}
