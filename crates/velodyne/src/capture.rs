//! Captures of lidars: pcap, pcapng, and packets without a container.
//!
//! Frames are followed through link layers and tunnels to datagrams, and fragments are
//! reassembled. If a layer is unknown, its bytes are searched for a packet. Frames without
//! packets of lidars are counted. Each lidar is a topic. It is identified by the interface,
//! its hardware address, its IP address, and the port that it sends to.
//!
//! The payload of a record is that of a datagram.

// In reading order: each module uses only those above it.
mod network;

mod packets;

mod codes;
mod corrections;

mod container;
mod hour_counter;
mod item;

mod reader;

mod decode;

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
