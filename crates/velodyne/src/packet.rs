//! What the sensors send: packets of firings, as bytes.

pub(crate) mod definition;
mod firing;

pub(crate) use crate::packet::firing::BLOCK_BYTES;
pub use crate::packet::firing::{
    BLOCKS, Bank, CHANNELS, DATA_BYTES, Firings, Outline, Returns, Tail,
};
