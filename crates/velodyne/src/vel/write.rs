//! Writes `.vel` logs: message by message, as a copy of another log, or from the packets of
//! other formats.

// In reading order: each module uses only those above it.
pub(super) mod writer;

pub(super) mod import_packets;
pub(super) mod record_sink;
