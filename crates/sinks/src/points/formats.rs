//! The formats of point clouds.

pub(crate) mod file_columns;
#[cfg(feature = "plot")]
pub(crate) mod image;
pub(crate) mod kitti;
pub(crate) mod las;
mod lzf;
pub(crate) mod pcd;
pub(crate) mod ply;
mod point_count_header;
mod point_rows;
