//! Reads [MCAP](https://mcap.dev/spec) files, sound or not, and writes them.
//!
//! Of a file with a summary only that is read to open it; one without is looked through,
//! and what is broken is stepped over. Messages of ROS 1, of ROS 2, of protocol buffers and in
//! JSON become columns by their schemas; of others there are the bytes. What is written may be translated:
//! messages of ROS 1 to CDR, which ROS 2 has.

// In reading order: each module uses only those above it.
mod wire;

mod resync;

mod chunk;
mod contents;

mod channels;
mod table;

mod cdr;
mod json;
mod messages;
mod null_time;
mod protobuf;
mod ros2;

mod notes;

mod check;

mod cursor;

mod survey;

mod lookahead;

mod log;

mod write;

mod sink;

mod format;

pub use crate::{
    chunk::Compression,
    format::{FORMAT, Mcap},
    log::McapLog,
    write::{ChannelHandle, SchemaHandle, Writer, WriterOptions},
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
