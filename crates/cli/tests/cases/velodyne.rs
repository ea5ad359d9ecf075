//! The cases of velodyne logs.
