//! Receives the ULog stream of a PX4 vehicle over MAVLink, and reads it from telemetry logs.
//!
//! ```text
//! packet  LOGGING_DATA (266) or LOGGING_DATA_ACKED (267):
//!         sequence u16 | target system, component u8 | length u8 | first_message_offset u8 | data
//!
//! vehicle                                   receiver
//!                                       <-  COMMAND_LONG MAV_CMD_LOGGING_START
//! COMMAND_ACK                           ->
//! LOGGING_DATA_ACKED: definitions       ->
//!                                       <-  LOGGING_ACK, for each packet
//! LOGGING_DATA: data, never repeated    ->
//!                                       <-  COMMAND_LONG MAV_CMD_LOGGING_STOP
//! ```
//! (MAVLink common message set; PX4, `log_writer_mavlink.cpp` and `mavlink_ulog.cpp`.)
//!
//! The modules `frame`, `order`, `stream` and `vehicle` do not use sockets or a clock.

mod packet;
mod ulog;

mod order;

mod stream;

mod frame;

pub mod tlog;

mod vehicle;

pub mod link;

pub use crate::{
    frame::{Frame, ReceivedFrame, Scan, scan},
    packet::{MAX_DATA_BYTES, StreamPacket},
    stream::{AnotherLogStarted, StreamStatistics, UlogStream},
    vehicle::{CommandResult, Vehicle, VehicleEvent},
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
