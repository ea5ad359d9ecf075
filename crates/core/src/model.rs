//! The data model: topics, times, damage, manifests and layouts.

pub mod calendar;
pub(crate) mod clock_transform;
pub(crate) mod damage;
pub(crate) mod excerpt;
pub(crate) mod finding;
pub mod hex;
pub(crate) mod id_set;
pub(crate) mod labels;
pub(crate) mod layout;
pub(crate) mod log_metadata;
pub(crate) mod manifest;
pub(crate) mod open_options;
pub(crate) mod provenance;
pub(crate) mod time;
pub(crate) mod time_base;
pub(crate) mod topic;
pub(crate) mod value;
