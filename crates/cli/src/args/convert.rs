//! The arguments of `convert`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use logtool::{
    convert::{OutputFormat, TableLayout},
    input::url,
    series::Derivation,
    time::typed_time,
};

use crate::args::{
    ClockArgs, Compression, LabelArgs, LidarArgs, PictureArgs, PointArgs, RecordArgs,
    completion,
};

/// Convert logs to tables, points, images, tracks or other logs
///
/// By default, each topic becomes a CSV table in the folder OUT. Without -o, the folder is in
/// the current one and has the name of the log. The outputs of several logs are in a folder
/// each. Outputs appear together when all are complete, or not at all.
///
/// `logtool help outputs` describes the formats, and `logtool formats` the data that each
/// conversion keeps.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  logtool convert flight.ulg -o gps.csv --topic sensor_gps
  logtool convert drive.bag -o drive.mcap --ros2
  logtool convert drive.pcap -o cloud --format las
More: `logtool help outputs`")]
#[command(after_long_help = "\
Examples:
  logtool convert flight.ulg                       # CSV files in ./flight/
  logtool convert *.ulg -o tables --format parquet
  logtool convert flight.ulg -o one --topic 'vehicle_*' --merge asof --rate 10
  logtool convert flight.ulg -o landing --start 3m --end 3m20s --format jsonl
  logtool convert flight.ulg -o gps.csv --topic sensor_gps --field 'lat*' --field 'lon*'
  logtool convert flight.ulg -o flight.kml
  logtool convert drive.bag -o images --format images --topic '/camera/*'
  logtool convert drive.bag -o drive.mcap --ros2
  logtool convert drive.vel -o drive.mcap --foxglove
  logtool convert drive.vel -o scans --format pcd --calibration db.xml
  logtool convert drive.bag -o - --format arrow --topic /imu/data | python imu.py
More: `logtool help outputs`, `clocks`, `lidars`, `expressions`")]
pub(crate) struct ConvertArgs {
    /// Logs, or folders of logs; `-` is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Folder or file to write; `-` is standard output
    ///
    /// Folder to write, or file: a log, a track, a .mat, or the table or points of one topic
    /// (x.csv, x.parquet, x.las). `-` writes one table to standard output, as csv, jsonl or
    /// arrow. Missing folders are created
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Output format [default: by extension, else csv]
    ///
    /// Output format: csv, jsonl, parquet, arrow, npz, mat, images, pcd, ply, las, laz, kitti,
    /// png, mcap, bag, pcap, vel, ulog, kml, gpx or geojson [default: by the extension of OUT,
    /// else csv]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<OutputFormat>,
    /// Replace existing files
    #[arg(short, long)]
    pub(crate) force: bool,
    /// MCAP: write messages of ROS 2, in CDR
    #[arg(long, conflicts_with = "foxglove")]
    pub(crate) ros2: bool,
    /// MCAP from lidars: write Foxglove's types, in protobuf
    #[arg(long, hide_short_help = true)]
    pub(crate) foxglove: bool,
    /// Compression of the chunks of bags and MCAP files [default: zstd in MCAP; in bags that
    /// of the input bag, else none]
    #[arg(long, value_enum, value_name = "HOW", hide_short_help = true)]
    pub(crate) compression: Option<Compression>,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Columns to select; `*` and `?` are wildcards
    ///
    /// Columns to select, of all topics or of one (`sensor_gps.lat`). `x` also selects `x[0]`
    /// and `x.y`; `*` and `?` are wildcards. May be repeated
    #[arg(long = "field", value_name = "GLOB", help_heading = "Selection")]
    #[arg(add = completion::fields())]
    pub(crate) fields: Vec<String>,
    /// Add a table NAME of an expression; see `logtool help expressions`
    #[arg(long, value_name = "NAME=EXPRESSION", help_heading = "Selection")]
    #[arg(hide_short_help = true)]
    pub(crate) derive: Vec<Derivation>,
    // The help shows brackets; rustdoc would take them for links.
    #[allow(rustdoc::broken_intra_doc_links)]
    /// Make a column of each number, with the names of pyulog
    ///
    /// Make a column of each number, with the names of pyulog (x[0], a.b), as in CSV
    #[arg(long, conflicts_with = "layout")]
    pub(crate) flat: bool,
    /// CSV: put an apostrophe before text that spreadsheets would run as a formula
    #[arg(long, hide_short_help = true)]
    pub(crate) csv_safe: bool,
    /// JSON Lines: write infinities as 1e999 and -1e999, instead of null
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_infinities: bool,
    /// Layout of Parquet files; spark is for all tables [default: arrow]
    #[arg(long, value_enum, value_name = "LAYOUT", hide_short_help = true)]
    pub(crate) layout: Option<TableLayout>,
    /// Merge all topics into one table, at a --rate
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Merging")]
    #[arg(requires = "rate", conflicts_with = "layout", hide_possible_values = true)]
    pub(crate) merge: Option<Merge>,
    /// Rows per second of the merged table
    #[arg(long, value_name = "HZ", requires = "merge", help_heading = "Merging")]
    #[arg(value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// Leave values older than this out of the merged table, such as 2 or 500ms
    #[arg(long, value_name = "TIME", requires = "merge", help_heading = "Merging")]
    #[arg(value_parser = max_age, hide_short_help = true)]
    pub(crate) max_age: Option<Duration>,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    #[command(flatten)]
    pub(crate) points: PointArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

impl ConvertArgs {
    /// Returns the format of the output: that of `--format`, or else of the extension of `-o`.
    pub(crate) fn output_format(&self) -> OutputFormat {
        let named = self.out.as_deref().filter(|out| !url::is_folder(out));
        let by_name = || {
            named.and_then(OutputFormat::from_file_name).unwrap_or(OutputFormat::Csv)
        };
        self.format.unwrap_or_else(by_name)
    }

    /// Returns the output if it is a single file: a track, arrays for MATLAB, or the table or
    /// the points of one topic.
    pub(crate) fn one_file(&self) -> Option<&Path> {
        let format = self.output_format();
        let is_named_file = |out: &&Path| {
            OutputFormat::from_file_name(out) == Some(format) && !url::is_folder(out)
        };
        let has_files = format.is_file() && !format.is_log() && !self.is_stdout();
        self.out.as_deref().filter(|_| has_files).filter(is_named_file)
    }

    /// Returns whether the only table goes to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.out.as_deref().is_some_and(|out| out.as_os_str() == "-")
    }
}

/// The way to merge several topics into one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Merge {
    /// The last value of each column at or before the time of the row
    Asof,
}

/// Parses how old a value of a merged table may be.
fn max_age(text: &str) -> Result<Duration, String> {
    let nanos = typed_time::duration(text).map_err(|err| err.to_string())?;
    let nanos =
        u64::try_from(nanos).map_err(|_| "an age is not negative".to_owned())?;
    Ok(Duration::from_nanos(nanos))
}

/// The rate of the rows of a merged table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// The time between two rows in nanoseconds, at least 1.
    pub(crate) period_nanos: u64,
}

/// Parses a rate in Hz, from once a day to a million times a second.
fn rate(text: &str) -> Result<Rate, String> {
    let hz: f64 = text.parse().map_err(|_| "expected a number of Hz".to_owned())?;
    if !(1.0 / 86_400.0..=1e6).contains(&hz) {
        return Err("a rate is from once a day to a million times a second".into());
    }
    Ok(Rate { period_nanos: (1e9 / hz).round() as u64 })
}
