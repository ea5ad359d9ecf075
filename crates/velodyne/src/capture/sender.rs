//! Who sends packets.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use crate::capture::link::Mac;

/// Who sends packets of one sort, and where to: a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Sender {
    pub(crate) device: Device,
    /// The port that the packets are sent to.
    pub(crate) port: u16,
    /// Whether they are position packets, and not data packets.
    pub(crate) is_position: bool,
}

/// A device on one of the networks of a capture. Two lidars can have the same address: all
/// are delivered with 192.168.1.201.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Device {
    /// The number of the interface at which its packets were captured.
    pub(crate) interface: u32,
    /// Its hardware address, if the link has such addresses.
    pub(crate) mac: Option<Mac>,
    pub(crate) address: IpAddr,
}

impl Device {
    /// The sender of packets without a container, which is not known.
    pub(crate) const UNKNOWN: Self =
        Self { interface: 0, mac: None, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
}
