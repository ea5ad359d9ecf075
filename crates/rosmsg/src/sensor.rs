//! Parsing messages of sensors without I/O: those of the packages `sensor_msgs` and `velodyne_msgs`
//! in the encoding of ROS 1 or in CDR, and those of Foxglove's own types also in protocol buffers or
//! JSON.
//!
//! A payload that does not match its type is rejected: every length in it is checked against the
//! available bytes. Trailing bytes are counted.

pub(crate) mod cloud;
pub(crate) mod cloud2;
pub(crate) mod foxglove_cloud;
pub(crate) mod foxglove_ros;
pub(crate) mod foxglove_scan;
pub(crate) mod json;
pub(crate) mod packets;
pub(crate) mod scan;

/// The reason why a message that ends too early cannot be read.
const TRUNCATED: &str = "it ends within a field, or a length in it is wrong";

#[cfg(test)]
pub(crate) mod testing;
