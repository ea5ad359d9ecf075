//! Tests of the real program: exit statuses, streams and files, which only a process has.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

#[path = "process/bytes.rs"]
mod bytes;
#[path = "process/mavlink.rs"]
mod mavlink;
#[path = "process/program.rs"]
mod program;

#[path = "process/samples.rs"]
mod samples;

#[path = "process/align.rs"]
mod align;
#[path = "process/bags.rs"]
mod bags;
#[path = "process/batch.rs"]
mod batch;
#[path = "process/cat.rs"]
mod cat;
#[path = "process/catalogs.rs"]
mod catalogs;
#[path = "process/cells.rs"]
mod cells;
#[path = "process/check.rs"]
mod check;
#[path = "process/convert.rs"]
mod convert;
#[path = "process/datasets.rs"]
mod datasets;
#[path = "process/derived_topics.rs"]
mod derived_topics;
#[path = "process/encrypted_logs.rs"]
mod encrypted_logs;
#[path = "process/escape.rs"]
mod escape;
#[path = "process/expressions.rs"]
mod expressions;
#[path = "process/faults.rs"]
mod faults;
#[path = "process/file_size.rs"]
mod file_size;
#[path = "process/filter.rs"]
mod filter;
#[path = "process/flight.rs"]
mod flight;
#[cfg(unix)]
#[path = "process/follow.rs"]
mod follow;
#[path = "process/geotag.rs"]
mod geotag;
#[path = "process/gps_dump.rs"]
mod gps_dump;
#[path = "process/help.rs"]
mod help;
#[path = "process/hints.rs"]
mod hints;
#[path = "process/info.rs"]
mod info;
#[path = "process/input.rs"]
mod input;
#[path = "process/input_format.rs"]
mod input_format;
#[path = "process/interrupt.rs"]
mod interrupt;
#[path = "process/late_point_fields.rs"]
mod late_point_fields;
#[path = "process/lidar_clocks.rs"]
mod lidar_clocks;
#[path = "process/lidar_copies.rs"]
mod lidar_copies;
#[path = "process/lidar_frames.rs"]
mod lidar_frames;
#[path = "process/lidar_ros.rs"]
mod lidar_ros;
#[path = "process/lidars.rs"]
mod lidars;
#[path = "process/mcap.rs"]
mod mcap;
#[path = "process/merge.rs"]
mod merge;
#[path = "process/merge_clocks.rs"]
mod merge_clocks;
#[path = "process/messages.rs"]
mod messages;
#[path = "process/opened_files.rs"]
mod opened_files;
#[path = "process/output_format.rs"]
mod output_format;
#[path = "process/outputs.rs"]
mod outputs;
#[path = "process/params.rs"]
mod params;
#[path = "process/plot.rs"]
mod plot;
#[path = "process/points.rs"]
mod points;
#[path = "process/provenance.rs"]
mod provenance;
#[path = "process/record.rs"]
mod record;
#[path = "process/record_streams.rs"]
mod record_streams;
#[cfg(unix)]
#[path = "process/record_vehicle.rs"]
mod record_vehicle;
#[path = "process/remote.rs"]
mod remote;
#[path = "process/repair.rs"]
mod repair;
#[path = "process/replay_log.rs"]
mod replay_log;
#[path = "process/report.rs"]
mod report;
#[path = "process/report_flights.rs"]
mod report_flights;
#[path = "process/report_tracks.rs"]
mod report_tracks;
#[path = "process/ros2.rs"]
mod ros2;
#[path = "process/schema.rs"]
mod schema;
#[path = "process/selection.rs"]
mod selection;
#[path = "process/settings.rs"]
mod settings;
#[cfg(unix)]
#[path = "process/special_files.rs"]
mod special_files;
#[path = "process/splits.rs"]
mod splits;
#[path = "process/streams.rs"]
mod streams;
#[cfg(unix)]
#[path = "process/terminal.rs"]
mod terminal;
#[path = "process/testdata.rs"]
mod testdata;
#[path = "process/tracks.rs"]
mod tracks;
#[path = "process/ulog_bag.rs"]
mod ulog_bag;
#[path = "process/ulog_mcap.rs"]
mod ulog_mcap;
#[path = "process/ulog_output.rs"]
mod ulog_output;
#[path = "process/ulog_poses.rs"]
mod ulog_poses;
