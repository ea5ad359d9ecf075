//! Dividing points into scans, and the index of their files.

pub(crate) mod partial_scans;
pub(crate) mod scan_index;
pub(crate) mod scan_splitter;
