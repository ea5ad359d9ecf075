//! Shared code of the fuzz targets: files made from fuzzer input, and the laws that they must satisfy.

pub mod bag;
mod input;
mod laws;
pub mod lidar;
pub mod mcap;
mod reading;
pub mod table;

pub use crate::{
    input::file,
    laws::check,
    reading::{OwnedRecord, read},
};
