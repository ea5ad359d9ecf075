//! Outputs that appear when they are complete.

pub mod guarded;
pub mod log_writer;
pub mod overwrite_guard;
pub mod provenance;
