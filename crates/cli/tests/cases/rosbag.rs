//! The cases of rosbag logs.
