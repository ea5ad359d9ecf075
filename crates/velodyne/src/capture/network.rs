//! Network protocols: link layers, tunnels, IP and UDP.

// In reading order: each module uses only those above it.
pub(super) mod link_names;

pub(super) mod layer;

pub(super) mod link;
pub(super) mod tunnels;

pub(super) mod layers;

pub(super) mod ip;

pub(super) mod frame_writer;
pub(super) mod udp_checksum;
