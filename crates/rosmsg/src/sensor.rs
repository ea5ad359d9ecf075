//! Messages of sensors, as defined by the packages `sensor_msgs` and `velodyne_msgs`: bytes to
//! values, without I/O, in the encoding of ROS 1 or in CDR; and clouds of Foxglove's types, in
//! protocol buffers or JSON.
//!
//! A payload either matches its type or is rejected: every length in it is checked against the
//! available bytes. Trailing bytes are counted.

pub(crate) mod cloud;
pub(crate) mod cloud2;
pub(crate) mod foxglove_cloud;
pub(crate) mod json;
pub(crate) mod packets;
pub(crate) mod scan;

/// Why a truncated message cannot be read.
const CUT: &str = "it ends within a field, or a length in it is wrong";

#[cfg(test)]
pub(crate) mod testing;
