//! Jobs that write files: conversions, copies, repairs and merges.

#[cfg(feature = "align")]
pub mod align;
pub mod calibration;
pub mod check;
pub mod convert;
pub mod filter;
#[cfg(feature = "geotag")]
pub mod geotag;
pub mod gps_dump;
pub mod merge;
pub mod output;
#[cfg(feature = "record")]
pub mod record;
pub mod repair;
pub mod replay_log;
