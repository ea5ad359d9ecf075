//! What can be typed after `convert`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use logtool::{
    convert::{Layout, OutputFormat},
    input::url,
    time::typed,
};

use crate::args::{
    ClockArgs, Compression, LabelArgs, LidarArgs, PictureArgs, PointArgs, RecordArgs,
};

/// Make tables: CSV, JSON Lines, Parquet or Arrow, one for each topic
///
/// The tables of one log are written into the folder OUT, those of several each into a
/// folder of its own in it. Without -o, a log's tables are written into a folder in the
/// current one, called as the log is without its extension. They appear all together at
/// the end, or not at all. A record that cannot be decoded is a row in which only its time and
/// the column `payload`, its bytes, have values; tables without such records have no such column.
///
/// With `--format npz`, each topic becomes a file for numpy.load, with --format mat, or where OUT
/// ends so, each log one for MATLAB's load, in which each topic is a struct. Nested fields
/// are arrays `a.b` or structs of arrays, arrays of fixed length one more dimension, times
/// 64-bit nanoseconds. Lists are the items of all rows, and `x.offsets`, where in them
/// those of each row begin; in MATLAB cells, and texts too, of which a character beyond
/// U+FFFF is `\U` and eight digits. `x.valid` or `x_valid` says which values of
/// x there are, if some are missing; of floats that is NaN, and of times NumPy's NaT, which
/// MATLAB has as -9223372036854775808.
///
/// With `--format images`, the images of a bag, an MCAP file or a .vel log become files, called by the
/// seconds of their stamps, in a folder for each topic, beside a table of them, index.csv. Compressed ones
/// are written as they are, others as PNG, with depth in metres (32FC1) as millimetres of
/// 16 bits: 0 where there is none (NaN, infinite, negative), 65535 where it is further than
/// 65.535 m, which is counted and told.
///
/// With `--format pcd`, `ply`, `las`, `laz` or `kitti`, topics of points become files of
/// points: a file for each scan, called by its number and the time of its first point, in a
/// folder for each topic beside a table of them, index.csv; or (las, laz, or `--per log`) a file for each topic.
/// Points are topics with columns x, y, z: the clouds of a bag or an MCAP file, and what packets of a
/// Velodyne lidar hold, in these, a capture or a .vel log.
///
/// PCD and PLY have all columns that are numbers. Times are nanoseconds in PCD, and in PLY
/// seconds since the origin in its header. LAS and LAZ: GPS time (adjusted standard GPS
/// time where the log tells Unix time, else seconds of the log's clock), return number,
/// intensity of 16 bits (8 bits times 257), point source = laser, user data = ring, in
/// steps of 0.1 mm; the number of the scan and the calibrated intensity are extra bytes. KITTI: x, y, z, intensity from 0 to 1, float32.
///
/// With `--format png`, each scan is a picture from above: x to the right and y upwards (of a
/// lidar, ahead and to the left), metres at the sides, `--color-by` range, height or
/// intensity.
///
/// With `--format kml`, `gpx` or `geojson`, or where OUT ends so, topics with a latitude and a
/// longitude become tracks, a file for each topic: of PX4's receivers and estimators, of
/// NavSatFix in bags, of `gps` in .vel logs and `position` in captures. Rows without a fix
/// are left out and counted; each flight mode of PX4 has a line and a colour of its own.
/// If OUT is a file, one topic is in it: of several that of PX4's receiver, if --topic
/// names none.
///
/// With `--format mcap`, or where OUT ends in .mcap, a bag becomes an MCAP file: its messages as
/// they are, each still of its own connection; with `--ros2`, as ROS 2 has them: in CDR,
/// with their types renamed and without the `seq` of headers, so that what reads only
/// files of ROS 2 reads them. A ULog becomes one with messages of protocol buffers, of types
/// made of its definitions: topics `/name` and `/name/1` for a second instance, what was said
/// as `foxglove.Log`, positions as `foxglove.LocationFix` (`/sensor_gps/fix`), parameters and
/// information as metadata; at UTC if the log knows it.
///
/// With `--format bag`, an MCAP file becomes a bag: messages of ROS 1 as they are, those in CDR as
/// ROS 1 has them, by the definitions in the file alone (`seq` of headers is 0). Topics of
/// other encodings are named and left out, as those with a `wstring`.
///
/// With `--ros2`, or with `--format bag`, a ULog becomes messages of ROS: each topic with a type
/// that is made of its format (`/vehicle_status` of `ulog/VehicleStatus`, `/sensor_gps_1` for a
/// second instance), in PX4's frames and units. Beside them, in ROS's frames (REP 103: east,
/// north, up; forward, left, up), are rates and accelerations, and attitudes, as
/// `sensor_msgs/Imu` (`/sensor_combined/imu`, `/vehicle_attitude/imu`), odometry and local
/// positions as `nav_msgs/Odometry` (`/vehicle_odometry/odometry`), positions as
/// `sensor_msgs/NavSatFix` (`/sensor_gps/fix`), and what was said on `/rosout`.
///
/// A .vel log or a capture becomes an MCAP file or a bag with messages of ROS 1 (in MCAP with
/// `--ros2` of ROS 2): `/points`, a `sensor_msgs/PointCloud2` for each scan (`t`: nanoseconds
/// after the stamp, the time of its first point; the message is of that of its last, so that
/// --start and --end, which cut by points, cut messages alike), `/image/compressed`, positions as
/// `sensor_msgs/NavSatFix` (`/gps/fix`), attitudes as transforms (`/tf`), and else types made
/// of the columns. With `--foxglove` they are protocol buffers instead: `foxglove.PointCloud` of
/// the same points, `foxglove.CompressedImage`, `foxglove.LocationFix`,
/// `foxglove.FrameTransform`, and types made of the columns. Packets of which there are points
/// are left out, unless --topic names them: of ROS they become `velodyne_msgs/VelodyneScan`, a
/// message each turn.
/// Times are UTC there, where GPS tells the log or the lidar when that is.
///
/// With `--format bag`, or where OUT ends in .bag, an MCAP file of
/// ROS 1 becomes a bag, as do logs of lidars.
///
/// With `--format pcap`, or where OUT ends in .pcap, the packets of a .vel log, of a bag
/// or an MCAP file (velodyne_msgs/VelodyneScan) or of another capture become a capture, each at its own time, in the frames that a Velodyne sends.
/// With `--format vel`, or where OUT ends in .vel, the data packets of one lidar in a capture,
/// a bag or an MCAP file become a .vel log, a message each. What the new log has no place for is told before
/// anything is written.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  logtool convert flight.ulg                       # CSV files in ./flight/
  logtool convert *.ulg -o tables --format parquet
  logtool convert flight.ulg -o one --topic 'vehicle_*' --merge asof --rate 10
  logtool convert flight.ulg -o landing --start 3m --end 3m20s --format jsonl
  logtool convert flight.ulg -o gps --topic 'sensor_gps*' --field 'lat*' --field 'lon*'
  logtool convert flight.ulg -o gps.csv --topic sensor_gps
  logtool convert flight.ulg -o flight.mat
  logtool convert drive.bag -o pictures --format images --topic '/camera/*'
  logtool convert drive.vel -o scans --format pcd --calibration db.xml
  logtool convert drive.pcap -o cloud --format laz --formula ros
  logtool convert drive.pcap -o pictures --format png --color-by intensity
  logtool convert drive.bag -o drive.mcap --ros2
  logtool convert flight.ulg -o flight.mcap
  logtool convert drive.vel -o drive.mcap --ros2
  logtool convert drive.vel -o drive.mcap --foxglove
  logtool convert drive.vel -o drive.pcap
  logtool convert flight.ulg -o flight.kml
  logtool convert drive.bag -o tracks --format gpx --topic '/gps/*'
  logtool convert drive.bag -o - --format arrow --topic /imu/data | python imu.py
  curl -s https://example.org/x.ulg | logtool convert - -o x --format arrow")]
pub(crate) struct ConvertArgs {
    /// The logs, or folders with logs in them; `-` is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The folder to write into; or the file, if it is an MCAP file, a bag, a
    /// capture, a .vel log, a track, a .mat, or the table or the points of one topic
    /// (x.csv, x.parquet, x.arrow, x.jsonl, x.npz, x.las, x.laz, x.pcd, x.ply); or `-`: one table as csv, jsonl or arrow to
    /// standard output. Folders that it needs are made
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// The format to write [default: by the extension of OUT, else csv]
    #[arg(long, value_enum, value_name = "FORMAT", ignore_case = true)]
    pub(crate) format: Option<OutputFormat>,
    /// Replace files that are there already
    #[arg(short, long)]
    pub(crate) force: bool,
    /// MCAP: messages as ROS 2 has them, in CDR
    #[arg(long, conflicts_with = "foxglove")]
    pub(crate) ros2: bool,
    /// MCAP of a .vel log or a capture: points as `foxglove.PointCloud`, images, positions and
    /// attitudes as Foxglove's types too, in protocol buffers
    #[arg(long)]
    pub(crate) foxglove: bool,
    /// How the chunks of a bag or an MCAP file are packed [default: zstd in MCAP; in bags
    /// as those of a bag that it is made of, else not at all]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) compression: Option<Compression>,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Only columns of this name, or only of one topic (`sensor_gps.lat`); `x` is also
    /// `x[0]` and `x.y`; `*` and `?` are wild. May be given several times
    #[arg(long = "field", value_name = "GLOB", help_heading = "Selection")]
    pub(crate) fields: Vec<String>,
    // The help shows brackets as they are; in the docs they would be links.
    #[allow(rustdoc::broken_intra_doc_links)]
    /// A column for each number, called as pyulog does (x[0], a.b); always so in CSV
    #[arg(long, conflicts_with = "layout")]
    pub(crate) flat: bool,
    /// For CSV that spreadsheets open: put an apostrophe before each text that they would
    /// run as a formula, because it starts with =, +, -, @, a tab or a line end
    #[arg(long)]
    pub(crate) csv_safe: bool,
    /// JSON Lines: write infinities as 1e999 and -1e999, not as null. Some readers take these
    /// for infinite, others refuse them
    #[arg(long)]
    pub(crate) keep_infinities: bool,
    /// How Parquet files are laid out [default: arrow]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub(crate) layout: Option<Layout>,
    /// One table of all topics, a row for each moment at a --rate
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Merging")]
    #[arg(requires = "rate", conflicts_with = "layout")]
    pub(crate) merge: Option<Merge>,
    /// How many rows a second the merged table has
    #[arg(long, value_name = "HZ", requires = "merge", help_heading = "Merging")]
    #[arg(value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// A value that is older than this is left out of the merged table, as 2 or 500ms
    #[arg(long, value_name = "TIME", requires = "merge", help_heading = "Merging")]
    #[arg(value_parser = max_age)]
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

    /// The only file that is made, if OUT is one: of a track, of arrays for MATLAB, or of the
    /// table or the points of one topic.
    pub(crate) fn one_file(&self) -> Option<&Path> {
        let format = self.output_format();
        let is_it = |out: &&Path| {
            OutputFormat::from_file_name(out) == Some(format) && !url::is_folder(out)
        };
        let is_one = format.is_file() && !format.is_log() && !self.is_stdout();
        self.out.as_deref().filter(|_| is_one).filter(is_it)
    }

    /// Whether the only table goes to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.out.as_deref().is_some_and(|out| out.as_os_str() == "-")
    }
}

/// How several topics become one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Merge {
    /// Each value as it was last told at that moment or before
    Asof,
}

/// Parses how old a value of a merged table may be.
fn max_age(text: &str) -> Result<Duration, String> {
    let nanos = typed::duration(text).map_err(|err| err.to_string())?;
    let nanos =
        u64::try_from(nanos).map_err(|_| "an age is not negative".to_owned())?;
    Ok(Duration::from_nanos(nanos))
}

/// How often something happens: so many nanoseconds lie between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// At least 1.
    pub(crate) period_nanos: u64,
}

/// Between once a day and a million times a second.
fn rate(text: &str) -> Result<Rate, String> {
    let hz: f64 = text.parse().map_err(|_| "a rate is a number of Hz".to_owned())?;
    if !(1.0 / 86_400.0..=1e6).contains(&hz) {
        return Err("a rate is between once a day and a million times a second".into());
    }
    Ok(Rate { period_nanos: (1e9 / hz).round() as u64 })
}
