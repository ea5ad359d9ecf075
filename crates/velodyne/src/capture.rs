//! Captures of what lidars send: pcap, pcapng, and packets without a container.
//!
//! Whatever lies around the packets is taken off: Ethernet with tags of VLANs, Linux's
//! cooked links, loopbacks, or nothing; IPv4 with options, IPv6 with headers that extend
//! it; pieces are put together. What is no packet of a lidar is counted. Each lidar is a
//! topic of its own, identified by the interface, its hardware address, its IP address and
//! the port that it sends to.
//!
//! A record's payload is that of a datagram.

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
