//! The UDP ports to which lidars send by default.

/// The port of data packets.
pub(crate) const DATA_PORT: u16 = 2368;

/// The port of position packets.
pub(crate) const POSITION_PORT: u16 = 8308;
