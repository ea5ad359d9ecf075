//! The rotation of the head, if the lidar blanks a sector.

// In reading order: each module uses only those above it.
pub(super) mod blanked_sector;

pub(super) mod packet_rotation;

pub(super) mod field_of_view;
pub(super) mod lost_packets;
