//! Opens, reads, converts, repairs and merges the logs of robots, whatever their format:
//! PX4 ULog, ROS 1 bags, MCAP, Velodyne recordings and captures.
//!
//! The formats are in crates of their own, which can be used alone. This crate opens any of
//! them from a path, a URL, or compressed, and does what the command `logtool` does.

// Sources and logs are trait objects, which have no `Debug`.
#![allow(missing_debug_implementations)]

#[cfg(feature = "align")]
pub mod align;
pub mod calibration;
pub mod check;
pub mod convert;
pub mod dataset;
pub mod error;
pub mod filter;
#[cfg(feature = "flight")]
pub mod flight;
pub mod formats;
pub mod info;
pub mod input;
pub mod labels;
pub mod lidar;
pub mod log;
pub mod log_messages;
pub mod losses;
pub mod merge;
mod message_text;
pub mod output;
mod parallel;
pub mod parameters;
#[cfg(feature = "plot")]
pub mod plot;
mod progress_counter;
pub mod px4_modes;
pub mod read;
pub mod remote;
pub mod repair;
#[cfg(feature = "plot")]
pub mod report;
pub mod rows;
pub mod schema;
pub mod selection;
pub mod series;
pub mod session;
mod signals;
pub mod split;
pub mod suggest;
pub mod text_style;
pub mod time;
pub mod translate;
pub mod units;

pub use arrow_array;
pub use arrow_schema;

pub use crate::{
    error::{Error, ErrorKind, Remedy, Result},
    log::{Batches, Log, Message, Messages, Table, open},
    losses::Strictness,
    session::{NoticeLevel, OpenFile, Progress, Session, Stop, Task},
    split::{Plan, PlanRequest, Split, read},
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
