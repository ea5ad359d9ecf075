//! Reads [MCAP](https://mcap.dev/spec) files, including damaged ones, and writes them.
//!
//! Opening a file with a summary reads only the summary; a file without one is scanned,
//! and damaged records are skipped. Messages of ROS 1, ROS 2, protobuf and JSON are
//! decoded to columns by their schemas; other messages have only their raw bytes.
//! Messages of ROS 1 can be translated to CDR for ROS 2 when they are written.

// In reading order: each module uses only those above it.
mod metadata_name;
mod schema_encoding;
mod wire;

mod declaration;
mod resync;

mod chunk;
mod contents;

mod channel_table;
mod channels;

mod messages;

mod format_state;

mod check;

mod cursor;

mod index;

mod log;

mod write;

mod sink;

mod format;

pub use crate::{
    chunk::Compression,
    format::{FORMAT, Mcap},
    log::McapLog,
    schema_encoding::{remove_schema_encoding, schema_encoding, set_schema_encoding},
    write::{ChannelHandle, SchemaHandle, Writer, WriterOptions},
};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
