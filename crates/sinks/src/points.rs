//! Files of points for point cloud programs (PCD, PLY, KITTI, LAS, LAZ), and images of points.
//!
//! Any table with columns `x`, `y` and `z` contains points. It is written as one file, or as one
//! file for each scan. A new scan starts where the column `scan` changes, or where the column
//! `index` restarts.

// In reading order: each module uses only those above it.
mod options;

mod column;

mod file;
mod metadata;

mod attributes;

mod formats;

mod scans;

mod sink;

pub use crate::points::{
    options::{PointColor, PointFormat, PointOptions, PointsPerFile},
    sink::{PointSink, has_points},
};
