//! Packets of Velodyne lidars, and the exact points that they hold.

// In reading order: each module uses only those above it.
pub mod packet;

pub mod model;

pub mod calibration;

pub mod points;

pub mod lidar;

mod packet_columns;
mod rows;
mod window;

pub mod vel;

pub mod capture;
