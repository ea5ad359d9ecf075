//! The one list of the formats that are read.

use logtool_core::Format;

/// All formats, the likelier first.
pub(crate) const FORMATS: &[&dyn Format] = &[
    &logtool_ulog::FORMAT,
    &logtool_rosbag::FORMAT,
    &logtool_mcap::FORMAT,
    &logtool_velodyne::vel::FORMAT,
    &logtool_velodyne::capture::FORMAT,
];
