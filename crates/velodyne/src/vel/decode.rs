//! The topics of a `.vel` log and their decoders.

// In reading order: each module uses only those above it.
pub(super) mod layouts;

pub(super) mod image;
pub(super) mod packet_rows;
pub(super) mod points;
pub(super) mod raw_messages;

pub(super) mod topics;
