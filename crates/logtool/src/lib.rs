//! Opens, reads, converts, repairs and merges the logs of robots, whatever their format:
//! PX4 ULog, ROS 1 bags, MCAP, Velodyne recordings and captures.
//!
//! The formats are in crates of their own, which can be used alone. This crate opens any of
//! them from a path, a URL, or compressed, and does what the command `logtool` does.
//!
//! # Memory
//!
//! Batches of tables have some megabytes, and are freed and allocated all the time. glibc returns
//! such memory to the system at once, which takes up to a third of the time. A program that reads
//! many batches should choose an allocator that keeps it, as `mimalloc`, or raise
//! `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD` (mallopt(3)), as the command does.

// Sources and logs are trait objects, which have no `Debug`.
#![allow(missing_debug_implementations)]

pub mod dataset;
pub mod error;
pub mod formats;
mod inspect;
mod jobs;
mod records;
mod source;
pub mod split;
mod text;
pub mod time;

pub use arrow_array;
pub use arrow_schema;

#[cfg(feature = "flight")]
pub use crate::inspect::flight;
#[cfg(feature = "plot")]
pub use crate::inspect::{plot, report};
#[cfg(feature = "align")]
pub use crate::jobs::align;
#[cfg(feature = "geotag")]
pub use crate::jobs::geotag;
#[cfg(feature = "record")]
pub use crate::jobs::record;
pub use crate::{
    error::{Error, ErrorKind, Remedy, Result},
    inspect::{info, log_messages, parameters, schema},
    jobs::{
        calibration, check, convert, filter, gps_dump, merge, output, repair,
        replay_log,
    },
    records::{
        labels,
        log::{self, Batches, Log, Message, Messages, Table, open},
        read, rows, series, translate,
    },
    source::{
        input, lidar,
        losses::{self, Strictness},
        remote, selection,
        session::{self, NoticeLevel, OpenFile, Progress, Session, Stop, Task},
    },
    split::{Plan, PlanRequest, Split, read},
    text::{px4_modes, suggest, text_style, units},
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
