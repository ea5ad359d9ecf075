//! The topics of a capture and their decoders.

// In reading order: each module uses only those above it.
pub(super) mod motion;

pub(super) mod position;

pub(super) mod topics;
