//! Packets of lidars in datagrams, and their senders.

// In reading order: each module uses only those above it.
pub(super) mod ports;

pub(super) mod manufacturer;
pub(super) mod sender;

pub(super) mod duplicates;
pub(super) mod payload;

pub(super) mod locate;

pub(super) mod defragment;
