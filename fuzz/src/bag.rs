//! What the fuzz targets of bags share: bags made by hand, and what has to hold of every
//! bag that opens.

pub mod laws;
pub mod make;
pub mod types;
