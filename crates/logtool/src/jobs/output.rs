//! Outputs that appear when they are complete.

pub mod guarded_outputs;
mod log_output;
pub mod log_writer;
pub mod overwrite_guard;
pub mod provenance;
mod summary;

pub use self::{log_output::LogOutput, summary::OutputSummary};
