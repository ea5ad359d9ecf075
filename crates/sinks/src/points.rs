//! Points as the files that programs for point clouds read: PCD, PLY, KITTI, LAS, LAZ;
//! and as pictures.
//!
//! Any table with columns `x`, `y` and `z` is points. It becomes one file, or one for
//! each scan: where a column `scan` has another number, or a column `index` begins
//! anew.

// In reading order: each module uses only those above it.
mod options;

mod column;

mod lzf;

mod file;
mod metadata;

mod header;
mod rows;

mod measures;

mod kitti;
mod pcd;
mod ply;

mod deferred_error_writer;
mod extra;
mod gps;
mod las;
mod returns;

#[cfg(feature = "plot")]
mod picture;

mod cut;
mod partial;

mod list;
mod sink;

pub use crate::points::{
    options::{Per, PointColor, PointFormat, PointOptions},
    sink::{PointSink, has_points},
};
