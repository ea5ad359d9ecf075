//! Labels of enumerations.

pub(crate) mod msg_dir;
pub(crate) mod px4;
