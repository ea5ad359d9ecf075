//! The senders of packets.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use logtool_core::Topic;
use serde::{Deserialize, Serialize};

use crate::{capture::network::layer::Mac, lidar::ClockState};

/// The sender of packets of one type, and their destination port. Each is a topic.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Sender {
    pub(crate) device: Device,
    /// The destination port of the packets.
    pub(crate) port: u16,
    /// Whether they are position packets instead of data packets.
    pub(crate) is_position: bool,
}

/// A device on one of the networks of a capture. Two lidars may have the same address,
/// because all have the factory default 192.168.1.201.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Device {
    /// The index of the interface that captured its packets.
    pub(crate) interface: u32,
    /// Its hardware address, if the link type has such addresses.
    pub(crate) mac: Option<Mac>,
    pub(crate) address: IpAddr,
}

impl Device {
    /// The unknown sender of packets without a container.
    pub(crate) const UNKNOWN: Self =
        Self { interface: 0, mac: None, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
}

// The metadata keys. Outputs contain them too, so they are part of the public interface.
const ADDRESS: &str = "address";
const PORT: &str = "port";
const MAC: &str = "mac";
const INTERFACE: &str = "interface";
const CLOCK: &str = "clock";
const CLOCK_EVIDENCE: &str = "clock_evidence";

/// The device that sent the packets of a topic of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderInfo<'t> {
    /// Its IP address.
    pub address: IpAddr,
    /// The destination UDP port of the packets.
    pub port: u16,
    /// Its hardware address, if the link type has such addresses.
    pub mac: Option<&'t str>,
    /// The index of the capture interface, in a pcapng file.
    pub interface: Option<u32>,
}

impl<'t> SenderInfo<'t> {
    /// Reads the metadata of `topic`, or returns `None` if it has no sender.
    pub fn from_topic(topic: &'t Topic) -> Option<Self> {
        let get = |key: &str| topic.metadata.get(key).map(String::as_str);
        Some(Self {
            address: get(ADDRESS)?.parse().ok()?,
            port: get(PORT)?.parse().ok()?,
            mac: get(MAC),
            interface: get(INTERFACE).and_then(|interface| interface.parse().ok()),
        })
    }
}

/// The clock of a lidar, as its position packets state it. It is displayed as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PositionClockInfo<'t> {
    /// The state that most packets indicate.
    pub state: ClockState,
    /// A description of the number of packets that indicate this state.
    pub evidence: &'t str,
}

impl<'t> PositionClockInfo<'t> {
    /// Reads the metadata of `topic`, or returns `None` if it is not a topic of position packets.
    pub fn from_topic(topic: &'t Topic) -> Option<Self> {
        let state = topic.metadata.get(CLOCK)?.parse().ok()?;
        Some(Self { state, evidence: topic.metadata.get(CLOCK_EVIDENCE)? })
    }
}

impl fmt::Display for PositionClockInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.state, self.evidence)
    }
}

/// Adds the sender to the metadata of `topic`, and the index of the capture `interface`
/// if the capture has several.
pub(crate) fn add_sender_metadata(
    sender: &Sender,
    interface: Option<u32>,
    topic: &mut Topic,
) {
    let mut insert = |key: &str, value| topic.metadata.insert(key.to_owned(), value);
    insert(ADDRESS, sender.device.address.to_string());
    insert(PORT, sender.port.to_string());
    if let Some(mac) = sender.device.mac {
        insert(MAC, mac.to_string());
    }
    if let Some(interface) = interface {
        insert(INTERFACE, interface.to_string());
    }
}

/// Adds the state of the lidar's clock, as its position packets state it, to the metadata
/// of `topic`.
pub(crate) fn add_position_clock_metadata(
    state: ClockState,
    evidence: String,
    topic: &mut Topic,
) {
    topic.metadata.insert(CLOCK.to_owned(), state.to_string());
    topic.metadata.insert(CLOCK_EVIDENCE.to_owned(), evidence);
}
