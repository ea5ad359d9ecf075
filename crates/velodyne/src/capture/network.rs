//! Network protocols: link layers, IP and UDP.

// In reading order: each module uses only those above it.
pub(super) mod ip;
pub(super) mod link;

pub(super) mod frame_writer;
pub(super) mod udp_checksum;
