//! Every row of `cases/CASES.tsv` among the samples: an input that once gave a wrong
//! result, and the result that its source requires.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

#[path = "process/program.rs"]
mod program;
#[path = "process/samples.rs"]
mod samples;

#[path = "cases/mcap.rs"]
mod mcap;
#[path = "cases/rosbag.rs"]
mod rosbag;
#[path = "cases/ulog.rs"]
mod ulog;
#[path = "cases/velodyne.rs"]
mod velodyne;
