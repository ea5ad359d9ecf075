//! Reading ROS 1 bags, also damaged ones, and writing them.
//!
//! ```text
//! file      #ROSBAG V2.0\n | bag header | chunks, each with its index data | index
//! record    header length u32 | fields | data length u32 | data           little-endian
//! field     length u32 | name=value
//!
//! op  record       fields                                  data
//!  2  message      conn u32, time                          the message
//!  3  bag header   index_pos u64, conn_count, chunk_count  spaces up to 4096 bytes
//!  4  index data   ver u32 = 1, conn, count u32            count × (time | offset u32)
//!  5  chunk        compression none|bz2|lz4, size u32      connections and messages
//!  6  chunk info   ver, chunk_pos u64, start_time,         count × (conn u32 | messages u32)
//!                  end_time, count
//!  7  connection   conn, topic                             fields: type, md5sum,
//!                                                          message_definition, callerid…
//!
//! time      seconds u32 | nanoseconds u32, from 1970
//! ```
//! (ROS wiki, "Bags/Format/2.0".) Each chunk is followed by an index data record for every
//! connection with messages in it. The index at the end repeats all connections, and has a chunk
//! info for every chunk.
//!
//! # Example
//!
//! ```no_run
//! use std::{fs::File, sync::Arc};
//! use logtool_core::{FileSource, Log as _, Result};
//! use logtool_rosbag::{RosbagLog, RosbagOptions};
//!
//! fn main() -> Result<()> {
//!     let source = FileSource::new(File::open("drive.bag")?)?;
//!     let log = RosbagLog::open(Arc::new(source), RosbagOptions::default())?;
//!     for topic in &log.manifest().topics {
//!         println!("{:40} {:>8}", topic.label(), topic.records.unwrap_or(0));
//!     }
//!     Ok(())
//! }
//! ```

// In reading order: each module uses only those above it.
mod wire;

mod connections;

mod records;

mod codec;

mod options;

mod file;

mod recovery;

mod check;

mod read;

mod format_state;

mod manifest;

mod log;

mod write;

mod sink;

mod format;

pub use crate::{
    codec::{
        compression::Compression, encryption::Key, encryption_info::EncryptionInfo,
    },
    connections::connection::Connection,
    format::{FORMAT, Rosbag},
    log::RosbagLog,
    options::{OpenMode, RosbagOptions},
    write::{
        ConnectionHandle, Writer, connection_header::ConnectionHeader,
        options::WriterOptions,
    },
};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
