//! Who sends packets.

use std::net::{IpAddr, Ipv4Addr};

use logtool_core::Topic;
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

// The keys of the metadata. Outputs have them too, so that they are part of the interface.
const ADDRESS: &str = "address";
const PORT: &str = "port";
const MAC: &str = "mac";
const INTERFACE: &str = "interface";
const CLOCK: &str = "clock";

/// The device that sent the packets of a topic of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderInfo<'t> {
    /// Its IP address.
    pub address: IpAddr,
    /// The UDP port that the packets are sent to.
    pub port: u16,
    /// Its hardware address, if the link has such addresses.
    pub mac: Option<&'t str>,
    /// The index of the interface at which the packets were captured, in a pcapng file.
    pub interface: Option<u32>,
}

impl<'t> SenderInfo<'t> {
    /// Returns the sender that the metadata of `topic` state, or `None` if they state none.
    pub fn of(topic: &'t Topic) -> Option<Self> {
        let get = |key: &str| topic.metadata.get(key).map(String::as_str);
        Some(Self {
            address: get(ADDRESS)?.parse().ok()?,
            port: get(PORT)?.parse().ok()?,
            mac: get(MAC),
            interface: get(INTERFACE).and_then(|interface| interface.parse().ok()),
        })
    }
}

/// Returns the state of the lidar's clock that the position packets of `topic` show, as text, or
/// `None` if it is not a topic of position packets.
pub fn position_clock(topic: &Topic) -> Option<&str> {
    topic.metadata.get(CLOCK).map(String::as_str)
}

/// Adds to the metadata of `topic` who sends its packets, and the index of the `interface` at
/// which they were captured, if the capture has several.
pub(crate) fn state_sender(sender: &Sender, interface: Option<u32>, topic: &mut Topic) {
    let mut state = |key: &str, value| topic.metadata.insert(key.to_owned(), value);
    state(ADDRESS, sender.device.address.to_string());
    state(PORT, sender.port.to_string());
    if let Some(mac) = sender.device.mac {
        state(MAC, mac.to_string());
    }
    if let Some(interface) = interface {
        state(INTERFACE, interface.to_string());
    }
}

/// Adds to the metadata of `topic` the state of the lidar's clock that its position packets
/// show.
pub(crate) fn state_position_clock(clock: String, topic: &mut Topic) {
    topic.metadata.insert(CLOCK.to_owned(), clock);
}
