//! The layers of a frame.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::capture::network::link_names;

/// A hardware address.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub(crate) struct Mac(pub(crate) [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([a, b, c, d, e, g]) = self;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Ethernet types below are lengths.
pub(super) const MIN_ETHERTYPE: u16 = 0x0600;

/// A layer of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Layer {
    /// A frame of this link type.
    Link(u16),
    /// A frame that starts with hardware addresses.
    Ethernet,
    /// The contents that an Ethernet type states.
    EtherType(u16),
    /// IEEE 802.2.
    Llc,
    /// PPP, with or without its address and control bytes.
    Ppp,
    /// The contents that a PPP protocol states.
    PppProtocol(u16),
    FrameRelay,
    /// IEEE 802.11. The contents may be aligned to 4 bytes.
    Wifi {
        is_padded: bool,
    },
    /// An aggregate of several frames of IEEE 802.11.
    WifiAggregate,
    Mpls,
    /// GRE, including that of PPTP.
    Gre,
    /// ERSPAN of type II or III. The Ethernet type in GRE distinguishes them.
    Erspan(u16),
    /// The network service header.
    Nsh,
    /// An IP packet of this version, or of any version if it is 0.
    Ip(u8),
    /// The contents of an IP packet with this protocol.
    IpProtocol(u8),
    /// The payload of a datagram to this port.
    UdpPort(u16),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(number) => match link_names::name(*number) {
                Some(name) => write!(f, "link type {number} ({name})"),
                None => write!(f, "link type {number}"),
            },
            // Numbers below are lengths.
            Self::EtherType(number) if *number < MIN_ETHERTYPE => {
                f.write_str("IEEE 802.2")
            }
            Self::EtherType(number) => write!(f, "Ethernet type {number:#06x}"),
            Self::PppProtocol(number) => write!(f, "PPP protocol {number:#06x}"),
            Self::IpProtocol(number) => write!(f, "IP protocol {number}"),
            Self::UdpPort(port) => write!(f, "UDP port {port}"),
            Self::Erspan(_) => f.write_str("ERSPAN"),
            Self::Wifi { .. } => f.write_str("IEEE 802.11"),
            Self::WifiAggregate => f.write_str("an aggregate of IEEE 802.11"),
            Self::Ethernet => f.write_str("Ethernet"),
            Self::Llc => f.write_str("IEEE 802.2"),
            Self::Ppp => f.write_str("PPP"),
            Self::FrameRelay => f.write_str("Frame Relay"),
            Self::Mpls => f.write_str("MPLS"),
            Self::Gre => f.write_str("GRE"),
            Self::Nsh => f.write_str("NSH"),
            Self::Ip(_) => f.write_str("IP"),
        }
    }
}

/// A layer with the position at which it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerStart {
    pub(crate) layer: Layer,
    pub(crate) start: usize,
    /// The source hardware address of the innermost layer that has one.
    pub(crate) mac: Option<Mac>,
}

/// What follows a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    At(LayerStart),
    Unknown,
}

impl LayerStart {
    pub(crate) fn new(layer: Layer, start: usize) -> Self {
        Self { layer, start, mac: None }
    }
}

impl Next {
    pub(super) fn with_mac(self, mac: Option<Mac>) -> Self {
        match self {
            Self::At(next) => Self::At(LayerStart { mac, ..next }),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// Returns the contents that the Ethernet type at `offset` states. They follow it.
pub(super) fn at_ethertype(frame: &[u8], offset: usize) -> Option<Next> {
    let layer = Layer::EtherType(be16(frame, offset)?);
    Some(Next::At(LayerStart::new(layer, offset + 2)))
}

pub(super) fn be16(frame: &[u8], offset: usize) -> Option<u16> {
    bytes_at(frame, offset).map(u16::from_be_bytes)
}

pub(super) fn bytes_at<const N: usize>(frame: &[u8], offset: usize) -> Option<[u8; N]> {
    frame.get(offset..)?.first_chunk().copied()
}
