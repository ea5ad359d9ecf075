//! Where records come from: files, URLs and streams, and what is selected of them.

pub mod input;
pub mod lidar;
pub mod losses;
pub(crate) mod progress_counter;
pub mod remote;
pub mod selection;
pub mod session;
