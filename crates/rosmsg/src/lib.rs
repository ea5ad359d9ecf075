//! Definitions of ROS messages, wherever they are found: in bags, in MCAP files.
//!
//! A [`Definition`] says what the fields of a type are, and how its messages lie in
//! memory, as a [`Layout`](logtool_core::Layout) of which columns are made.

mod definition;

pub use crate::definition::{Definition, Described, compile, describe, md5sum};
