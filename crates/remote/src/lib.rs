//! Logs in object stores (`s3://`, `gs://`, `az://`) and on web servers (`http://`,
//! `https://`).
//!
//! A [`Client`] opens an object as a [`Source`](logtool_core::Source). It fetches only the bytes
//! that are read, caches them, and prefetches bytes for sequential readers. The interface is not
//! `async`: the client contains the only async runtime of the workspace.
//!
//! ```no_run
//! use logtool_core::Source as _;
//! use logtool_remote::{Client, Limits, Location};
//!
//! fn main() -> std::io::Result<()> {
//!     let client = Client::new(Limits::default())?;
//!     let bag = client.open(&Location::parse("s3://logs/2024/drive.bag")?, &mut |_, _| Ok(()))?;
//!     println!("{} bytes", bag.source.len());
//!     println!("{:?}", bag.source.read_at(0..13)?);
//!     Ok(())
//! }
//! ```

mod bounded_http;
mod chunk;
mod chunk_cache;
mod client;
mod failure;
mod full_download;
mod limits;
mod list;
mod location;
mod object;
mod profile;
mod read_ahead;
mod small_objects;
mod source;
mod store;
mod transfer_rate;
mod upload;

pub use crate::{
    client::{Client, ObjectInfo, RemoteObject, Traffic},
    limits::Limits,
    location::{Location, Scheme},
    small_objects::{ObjectVersion, WriteCondition},
    upload::IfExists,
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
