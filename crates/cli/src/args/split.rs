//! The arguments of `plan` and `read`.

use std::path::PathBuf;

use clap::Args;
use logtool::convert::OutputFormat;

use crate::args::{
    ClockArgs, LidarArgs, LogFormat, RecordArgs, batch::Size, completion,
};

/// Plan splits of logs, which `logtool read` reads on any machine
///
/// INPUT is as for `logtool batch`. A split is a piece of the table of one topic of a log. It
/// takes a few kilobytes and contains what its reader needs to start in the middle of the log.
/// All splits of a topic, in their order, are its table. Each log is opened once.
///
/// A split is valid as long as its file is not changed. It contains the path or the URL of the
/// log, with its query, but no keys. A log that is compressed as a whole has one split for
/// each topic. A log that cannot be opened does not stop the others.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  logtool plan drives --topic /imu/data --json > splits.jsonl
  logtool plan s3://bucket/2024/ --topic gps --target-bytes 256M --json
  logtool plan drive.vel --messages bag --topic points --json
  head -n 1 splits.jsonl | logtool read --split - -o imu.arrow")]
pub(crate) struct PlanArgs {
    /// Logs, folders, patterns, or lists of these (@FILE, `-`)
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print the splits as JSON, one per line, for `logtool read`
    #[arg(long)]
    pub(crate) json: bool,
    /// Bytes of a log to read for a split, such as 256M [default: 64M]
    ///
    /// Bytes of a log to read for a split, such as 256M [default: 64M]. A split is larger if a
    /// chunk of its log is, and smaller if its text would be too long
    #[arg(long, value_name = "SIZE")]
    pub(crate) target_bytes: Option<Size>,
    /// Columns to select; `*` and `?` are wildcards
    ///
    /// Columns to select, of all topics or of one (`sensor_gps.lat`). `x` also selects `x[0]`
    /// and `x.y`; `*` and `?` are wildcards. May be repeated
    #[arg(long = "field", alias = "columns", value_name = "GLOB")]
    #[arg(help_heading = "Selection", add = completion::fields())]
    pub(crate) fields: Vec<String>,
    /// Make a column of each number, as in CSV
    #[arg(long)]
    pub(crate) flat: bool,
    /// Convert the columns to types that Apache Spark reads
    ///
    /// Convert the columns to types that Apache Spark reads, as `convert --layout spark`
    #[arg(long)]
    pub(crate) spark: bool,
    /// Plan the messages that `convert` writes to this format: mcap or bag
    ///
    /// Plan the messages that `convert` writes to this format, mcap or bag: their times, and
    /// their bytes in the column `payload`. ULogs become protobuf (mcap) or ROS 1 (bag), lidars
    /// ROS 1, and messages of ROS 2 those of ROS 1 (bag). Times are in UTC if the log has a UTC
    /// reference
    #[arg(long, value_name = "FORMAT", value_enum, ignore_case = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) messages: Option<LogFormat>,
    /// Messages of lidars for MCAP: Foxglove's types, in protobuf
    #[arg(long, requires = "messages", hide_short_help = true)]
    pub(crate) foxglove: bool,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Read splits that `logtool plan` printed
///
/// The file has one split per line. The rows of all splits follow each other in one table, so
/// the splits must have the same columns. Only the bytes of the splits are read. Damage there
/// is reported, and the exit status is 3.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  logtool read --split one.json -o - | python imu.py
  sed -n 7p splits.jsonl | logtool read --split - -o imu-7.parquet")]
pub(crate) struct ReadArgs {
    /// File with splits as JSON, one per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) split: PathBuf,
    /// File to write; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Output format: arrow, parquet, jsonl or csv [default: by extension, else arrow]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<OutputFormat>,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
}
