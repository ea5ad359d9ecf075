//! Shared code of the fuzz targets for bags: bags that are built byte by byte, and the laws of every
//! bag that opens.

pub mod laws;
pub mod make;
pub mod types;
