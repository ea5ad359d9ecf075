//! Decompresses LZ4 frames of bags and MCAP files.
//!
//! Blocks are decompressed by `lz4_flex`. Of a damaged or truncated block, the bytes
//! before the damage are returned too.

mod frame;
mod output;

pub use crate::{
    frame::{Unpacked, is_frame, unpack},
    output::Output,
};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
