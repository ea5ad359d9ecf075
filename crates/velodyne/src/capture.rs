//! Captures of lidars: pcap, pcapng, and packets without a container.
//!
//! Supported link layers are Ethernet with VLAN tags, Linux cooked capture, loopback, and
//! raw IP. IPv4 options and IPv6 extension headers are skipped, and fragments are
//! reassembled. Frames without packets of lidars are counted. Each lidar is a topic. It is
//! identified by the interface, its hardware address, its IP address, and the port that
//! it sends to.
//!
//! The payload of a record is that of a datagram.

// In reading order: each module uses only those above it.
mod network;

mod packets;

mod container;
mod hour_counter;
mod item;

mod reader;

mod decode;

mod codes;
mod format_state;
mod resync;

mod build_manifest;
mod cursor;

mod log;

mod sink;

mod format;

pub use crate::capture::format::Capture;
pub use crate::capture::format::FORMAT;
pub use crate::capture::log::CaptureLog;
pub use crate::capture::packets::sender::PositionClockInfo;
pub use crate::capture::packets::sender::SenderInfo;
