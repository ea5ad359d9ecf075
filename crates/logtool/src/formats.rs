//! The one list of the formats that are read.

use logtool_core::Format;

/// All formats, the likelier first.
pub const FORMATS: &[&dyn Format] = &[
    &logtool_ulog::FORMAT,
    &logtool_rosbag::FORMAT,
    &logtool_mcap::FORMAT,
    &logtool_velodyne::vel::FORMAT,
    &logtool_velodyne::capture::FORMAT,
];

/// A format that the user names because the start of the file no longer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum InputFormat {
    /// PX4's ULog
    Ulog,
    /// A bag of ROS 1
    #[cfg_attr(feature = "clap", value(alias = "rosbag"))]
    Bag,
    /// An MCAP file
    Mcap,
    /// A log of Velodyne's .vel format
    Vel,
    /// A capture of network packets
    #[cfg_attr(feature = "clap", value(aliases = ["pcapng", "capture"]))]
    Pcap,
}

impl InputFormat {
    /// Returns the format of this name.
    pub fn format(self) -> &'static dyn Format {
        match self {
            Self::Ulog => &logtool_ulog::FORMAT,
            Self::Bag => &logtool_rosbag::FORMAT,
            Self::Mcap => &logtool_mcap::FORMAT,
            Self::Vel => const { &logtool_velodyne::vel::FORMAT },
            Self::Pcap => const { &logtool_velodyne::capture::FORMAT },
        }
    }
}
