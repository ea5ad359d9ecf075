//! Reads [MCAP](https://mcap.dev/spec) files, sound or not, and writes them.
//!
//! Of a file with a summary only that is read to open it; one without is looked through,
//! and what is broken is stepped over. Messages of ROS 1 become columns by their
//! definitions; of others there are the bytes.

// In reading order: each module uses only those above it.
mod wire;

mod judge;

mod chunk;
mod contents;

mod channels;
mod table;

mod messages;

mod notes;

mod cursor;

mod survey;

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
