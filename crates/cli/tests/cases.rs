//! Tests of every row of `cases/CASES.tsv` in the samples: an input that gave a wrong result in
//! an earlier version, and the result that its source requires.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

// Shared with the test program `process`, which uses the rest of them.
#[allow(dead_code)]
#[path = "process/bytes.rs"]
mod bytes;
#[allow(dead_code)]
#[path = "process/program.rs"]
mod program;
#[allow(dead_code)]
#[path = "process/samples.rs"]
mod samples;

#[path = "cases/definitions.rs"]
mod definitions;
#[path = "cases/mavlink.rs"]
mod mavlink;
#[path = "cases/mcap.rs"]
mod mcap;
#[path = "cases/mcap_attachments.rs"]
mod mcap_attachments;
#[path = "cases/mcap_json.rs"]
mod mcap_json;
#[path = "cases/mcap_payloads.rs"]
mod mcap_payloads;
#[path = "cases/points.rs"]
mod points;
#[path = "cases/rosbag.rs"]
mod rosbag;
#[path = "cases/ulog.rs"]
mod ulog;
#[path = "cases/ulog_bytes.rs"]
mod ulog_bytes;
#[path = "cases/ulog_facts.rs"]
mod ulog_facts;
#[path = "cases/ulog_flights.rs"]
mod ulog_flights;
#[path = "cases/ulog_starts.rs"]
mod ulog_starts;
#[path = "cases/ulog_text.rs"]
mod ulog_text;
#[path = "cases/ulog_time.rs"]
mod ulog_time;
#[path = "cases/values.rs"]
mod values;
#[path = "cases/vel_times.rs"]
mod vel_times;
#[path = "cases/velodyne.rs"]
mod velodyne;
#[path = "cases/velodyne_calibration.rs"]
mod velodyne_calibration;
#[path = "cases/velodyne_containers.rs"]
mod velodyne_containers;
#[path = "cases/velodyne_fov.rs"]
mod velodyne_fov;
#[path = "cases/velodyne_layers.rs"]
mod velodyne_layers;
#[path = "cases/velodyne_packets.rs"]
mod velodyne_packets;
#[path = "cases/velodyne_senders.rs"]
mod velodyne_senders;
#[path = "cases/velodyne_snapshots.rs"]
mod velodyne_snapshots;
#[path = "cases/velodyne_time.rs"]
mod velodyne_time;
