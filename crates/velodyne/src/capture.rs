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
mod duplicates;
mod ip;
mod link;
mod manufacturer;
mod payload;
mod sender;

mod frame;
mod verify;

mod defragment;

mod container;
mod item;
mod top_of_hour;

mod reader;

mod motion;
mod position;
mod topics;

mod codes;
mod notes;
mod search;

mod cursor;
mod survey;

mod log;

mod sink;

mod format;

pub use crate::capture::{
    format::{Capture, FORMAT},
    log::CaptureLog,
    sender::{SenderInfo, position_clock},
};
