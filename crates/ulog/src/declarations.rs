//! The declarations of a log: types, information and parameters.

pub(crate) mod formats;
pub(crate) mod info_values;
pub(crate) mod metadata;
pub(crate) mod system_info;
