//! The division of a stream of packets into scans.

// In reading order: each module uses only those above it.
pub(super) mod tracker;

pub(super) mod index;
