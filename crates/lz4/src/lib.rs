//! Decompresses LZ4 frames of bags and MCAP files.
//!
//! Blocks are decompressed by `lz4_flex`. Of a damaged or truncated block, the bytes
//! before the damage are returned too.

mod outcome;

mod output;

mod frame;

pub use crate::{
    frame::{is_frame, unpack},
    outcome::FrameOutcome,
    output::OutputBuffer,
};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
