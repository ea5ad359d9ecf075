//! Messages of sensors, as the packages `sensor_msgs` and `velodyne_msgs` define them:
//! bytes to values, without I/O, in the encoding of ROS 1 or in CDR; and clouds as Foxglove's
//! types have them, in protocol buffers or JSON.
//!
//! A payload is what its type says, or nothing: every length in it is checked against
//! what is there. Bytes that are left over are counted.

pub(crate) mod cloud;
pub(crate) mod cloud2;
pub(crate) mod json;
pub(crate) mod packed;
pub(crate) mod packets;
pub(crate) mod scan;

/// Why a message that is cut off cannot be read.
const CUT: &str = "it ends within a field, or a length in it is wrong";

#[cfg(test)]
pub(crate) mod testing;
