//! Data packets of the sensors, and their definitions.

pub(crate) mod definition;
mod firing;

pub(crate) use crate::packet::firing::BLOCK_BYTES;
pub use crate::packet::firing::{
    BLOCKS, Bank, CHANNELS, DATA_BYTES, Firings, Outline, Returns, Tail,
};
