//! Computes the points of a block, with one array of 32 channels per quantity.

// In reading order: each module uses only those above it.
pub(super) mod laser_bank;

pub(super) mod azimuth_steps;
pub(super) mod deinterleave;
pub(super) mod intensity;
pub(super) mod return_runs;

pub(super) mod firing_azimuths;
pub(super) mod point_buffer;

pub(super) mod near_corrections;
