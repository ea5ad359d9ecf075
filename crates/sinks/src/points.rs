//! Files of points for point cloud programs (PCD, PLY, KITTI, LAS, LAZ), and images of points.
//!
//! Any table with columns `x`, `y` and `z` contains points. It is written as one file, or as one
//! file for each scan. A new scan starts where the column `scan` changes, or where the column
//! `index` restarts.

// In reading order: each module uses only those above it.
mod losses;
mod options;

mod column;

mod file;
mod metadata;

mod survey;

mod colors;
mod times;

mod attributes;

mod formats;

mod scans;

mod sink;

pub use crate::points::{
    losses::PointLosses,
    options::{PointColor, PointFormat, PointOptions, PointsPerFile},
    sink::{PointSink, has_points},
    survey::PointSurvey,
};
