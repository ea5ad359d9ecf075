//! Decompresses LZ4 frames, as bags and MCAP files have them.
//!
//! Blocks are decompressed by `lz4_flex`. Of a block that is damaged or cut off, the bytes
//! before the damage are delivered too.

mod frame;
mod output;

pub use crate::{
    frame::{Unpacked, is_frame, unpack},
    output::Output,
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
