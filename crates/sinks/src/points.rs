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

mod about;
mod file;

mod header;
mod rows;

mod measures;

mod kitti;
mod pcd;
mod ply;

mod extra;
mod gps;
mod las;
mod returns;
mod unfailing;

mod picture;

mod cut;
mod partial;

mod list;
mod sink;

pub use crate::points::{
    options::{Per, PointColor, PointFormat, PointOptions},
    sink::{PointSink, has_points},
};
