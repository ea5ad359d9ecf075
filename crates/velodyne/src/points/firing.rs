//! The order and the times of the firings in a packet.

// In reading order: each module uses only those above it.
pub(super) mod sin_cos_table;

pub(super) mod block_layout;
pub(super) mod timing;
