//! What the fuzz targets share: files made of what the fuzzer gives, and what has to
//! hold whatever is in them.

pub mod bag;
mod input;
mod laws;
pub mod lidar;
pub mod mcap;
mod reading;

pub use crate::{
    input::file,
    laws::check,
    reading::{Owned, read},
};
