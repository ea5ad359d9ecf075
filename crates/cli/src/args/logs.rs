//! The arguments of the commands that copy and check logs.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::{ArgAction, Args, ValueEnum};
use logtool::{Result, output::LogOutput, time::typed_time};

use crate::{
    args::{
        ClockArgs, Compression, LidarArgs, LogFormat, RecordArgs, TimeArgs, completion,
    },
    requested_format,
};

/// Copy topics and a time range of a log
///
/// OUT is a log of the same format. Records are copied byte for byte, with the information
/// about the log. Parts of a bag that are selected completely are copied without
/// decompression, and keep damage in them, unless --strict is given. `logtool repair` removes
/// damage.
///
/// In a bag, connections stay separate. In a ULog, parameters that were changed before the
/// start have their values at the start.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool filter drive.bag -o gps.bag --topic /gps/fix --topic '/imu*'
  logtool filter drive.bag -o cut.bag --start 1m --end 1m30s --latch
  logtool filter drive.bag -o small.bag --exclude '/camera*' --compression lz4
  logtool filter drive.bag -o new.bag --rename /gps/fix=/fix --restamp")]
pub(crate) struct FilterArgs {
    /// Log; `-` is standard input
    pub(crate) file: PathBuf,
    /// Log to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Topics to leave out; `*` and `?` are wildcards. May be repeated
    #[arg(short = 'x', long, value_name = "GLOB", action = ArgAction::Append)]
    #[arg(help_heading = "Selection", add = completion::topics())]
    pub(crate) exclude: Vec<String>,
    /// Start with the last earlier record of latched topics
    ///
    /// Start with the last earlier record of each latched connection (such as /tf_static or
    /// /map), at the time of --start
    #[arg(long, requires = "start", help_heading = "Selection")]
    pub(crate) latch: bool,
    /// Give topic A (a name or a label) the name B
    ///
    /// Give topic A (a name or a label) the name B. In a ULog, the instance stays, unless B
    /// ends with a dot and a number. May be repeated
    #[arg(long, value_name = "A=B", action = ArgAction::Append)]
    pub(crate) rename: Vec<Rename>,
    /// Set the times of records to a field [default: header.stamp]
    ///
    /// Set the times of records to a field [default: header.stamp]. Topics without the field,
    /// and records in which it is 0, keep their times
    #[arg(long, value_name = "FIELD", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "header.stamp", hide_default_value = true)]
    pub(crate) restamp: Option<String>,
}

/// The options of new logs.
#[derive(Clone, Debug, Args)]
pub(crate) struct WritingArgs {
    /// Format of OUT [default: by its extension]
    ///
    /// Format of OUT: ulog, bag, mcap, vel or pcap, if it can hold the records of the inputs
    /// [default: by the extension of OUT, else that of the input]
    #[arg(
        long = "format",
        value_enum,
        value_name = "FORMAT",
        help_heading = "Writing"
    )]
    #[arg(hide_possible_values = true)]
    pub(crate) file_format: Option<LogFormat>,
    /// Compression of chunks
    ///
    /// Compression of the chunks of bags and MCAP files [default: that of most chunks of the
    /// first bag, and zstd in MCAP]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Writing")]
    pub(crate) compression: Option<Compression>,
    /// MCAP: write messages of ROS 1 as ROS 2 messages, in CDR
    #[arg(long, help_heading = "Writing")]
    pub(crate) ros2: bool,
    /// Replace an existing file
    #[arg(short, long, help_heading = "Writing")]
    pub(crate) force: bool,
}

impl WritingArgs {
    /// Returns how to write the log at `path`.
    ///
    /// # Errors
    /// If the extension of `path` is not that of the requested format.
    pub(crate) fn output(&self, path: &Path) -> Result<LogOutput> {
        let mut output = LogOutput::new(path);
        if let Some(format) = self.file_format {
            requested_format::check_log_name(path, format)?;
            output = output.with_format(format);
        }
        if let Some(compression) = self.compression {
            output = output.with_compression(compression);
        }
        if self.ros2 {
            output = output.with_ros2_messages();
        }
        if self.force {
            output = output.with_replacement();
        }
        Ok(output)
    }
}

/// A topic and its new name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) old: String,
    pub(crate) new: String,
}

impl FromStr for Rename {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((old, new)) if !old.is_empty() && !new.is_empty() => {
                Ok(Self { old: old.to_owned(), new: new.to_owned() })
            }
            _ => Err("a renaming is like /old/name=/new/name"),
        }
    }
}

/// A log and the offset of its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) name: String,
    pub(crate) nanos: i64,
}

impl FromStr for Offset {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        const LIKE: &str = "an offset is like ros.bag=-2.345";
        let split = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
        let (name, time) = split.ok_or(LIKE)?;
        let nanos = typed_time::duration(time).map_err(|_| LIKE)?;
        Ok(Self { name: name.to_owned(), nanos })
    }
}

/// A log and the drift of its clock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drift {
    pub(crate) name: String,
    /// The correction, in millionths of the time since the reference.
    pub(crate) ppm: f64,
    /// The time on its clock at which the correction is zero, in nanoseconds.
    pub(crate) reference: Option<i64>,
}

impl FromStr for Drift {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        const LIKE: &str = "a drift is like ros.bag=49.8 or ros.bag=49.8@120.5, and no \
                            clock is off by more than 100000";
        let (name, drift) = text.rsplit_once('=').ok_or(LIKE)?;
        let (ppm, reference) = match drift.split_once('@') {
            None => (drift, None),
            Some((ppm, seconds)) => {
                (ppm, Some(typed_time::duration(seconds).map_err(|_| LIKE)?))
            }
        };
        let ppm = ppm.parse::<f64>().ok().filter(|ppm| ppm.abs() <= 1e5);
        let ppm = ppm.filter(|_| !name.is_empty()).ok_or(LIKE)?;
        Ok(Self { name: name.to_owned(), ppm, reference })
    }
}

/// Merge several logs into one, in the order of time
///
/// Logs of one format with the same clock become a log of that format, and records are copied
/// byte for byte. In a bag, the connections of all bags stay separate. In a ULog, topics of the
/// same name, instance and type are joined; information and parameters are those of the first
/// log, completed by the others. ULogs can only be merged if they are of the same flight, which
/// is checked where GPS gives the time of boot.
///
/// Logs of several formats become one MCAP file or one bag, by --format or the extension of OUT. Messages
/// of bags and MCAP files stay as they are, but a bag has those in CDR as ROS 1 messages. ULogs,
/// .vel logs and captures become messages as with `logtool convert`. Logs are merged on Unix
/// time if they have it. Others need --offset, or --align. If two logs have topics of one name
/// and of different types or vehicles, those of the later log become /NAME/topic, with the name
/// of its file, and the frames in its messages NAME/base_link, NAME/velodyne and so on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool merge front.bag back.bag -o both.bag
  logtool merge flight.ulg lidar.vel ros.bag -o all.mcap --start 10s --end 1m
  logtool merge flight.ulg ros.bag -o all.mcap --offset ros.bag=-1714560000.25
  logtool merge flight.ulg ros.bag -o all.mcap --align fit.json")]
pub(crate) struct MergeArgs {
    /// Logs, two or more
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Log to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Merge logs even if their clocks may differ
    #[arg(long)]
    pub(crate) same_clock: bool,
    /// Seconds to add to the times of a log
    ///
    /// Seconds to add to the times of a log. NAME is its file, or its number in the command
    /// line, from 1. Publish times and attachments of MCAP files are moved too; stamps in
    /// messages are not. May be repeated
    #[arg(long = "offset", value_name = "NAME=SECONDS", action = ArgAction::Append)]
    pub(crate) offsets: Vec<Offset>,
    /// Drift of the clock of a log, from `logtool align`
    ///
    /// Drift of the clock of a log, as `logtool align` prints it: millionths of the time since
    /// S seconds on its own clock [default: its first record] to add. May be repeated
    #[arg(long = "drift", value_name = "NAME=PPM[@S]", action = ArgAction::Append)]
    pub(crate) drifts: Vec<Drift>,
    /// Offset and drift, from `logtool align --json`
    ///
    /// Offset and drift from the output of `logtool align A B --json`, where A is the first
    /// log. May be repeated
    #[arg(long = "align", value_name = "FILE", action = ArgAction::Append)]
    pub(crate) alignments: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    /// MCAP from lidars: write Foxglove's types, in protobuf
    #[arg(long, conflicts_with = "ros2", help_heading = "Writing")]
    pub(crate) foxglove: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Write the readable records of a damaged log into a sound one
///
/// Repairs files that are cut off, that have no index (such as .bag.active), and that are
/// damaged anywhere: the records before and after the damage are kept, and losses are reported
/// by topic and time. Sound parts are copied byte for byte. Records that cannot be decoded are
/// kept and counted (with --strict, one is a failure). Records of a chunk with a wrong checksum
/// are doubtful: they are kept and listed, or left out. The new log is checked, and its
/// remaining findings are reported. The input is not changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool repair drive.bag.active -o drive.bag
  logtool repair broken.bag -o sound.bag --json | jq .lost.topics

Exit status:
  0  nothing was lost
  1  failed
  2  wrong usage
  3  done, but some of the input was lost")]
pub(crate) struct RepairArgs {
    /// Log; `-` is standard input
    pub(crate) file: PathBuf,
    /// Log to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Print the losses as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out the records of chunks with a wrong checksum
    ///
    /// Leave out the records of chunks with a wrong checksum. Otherwise they are kept, and
    /// metadata records of an MCAP file list them
    #[arg(long)]
    pub(crate) drop_doubtful: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

/// Check logs for errors and anomalies
///
/// Reads each log completely and decodes every record. A finding has a code for scripts, and a
/// severity: an error is a loss, for logtool or for programs that trust the file; a warning is
/// an anomaly without a loss; a note is information. Findings of one code and topic are
/// reported once, with their number. docs/CHECK.md lists the codes too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool check drive.bag
  logtool check *.bag --json | jq -r '.file as $f | .findings[] | [$f, .code] | @tsv'
  logtool check flight.ulg --level warning

Exit status:
  0  no errors (with --strict: and no warnings)
  1  failed
  2  wrong usage
  3  errors, or lost records (with --strict: or warnings)")]
pub(crate) struct CheckArgs {
    /// Logs, or folders of logs; `-` is standard input
    #[arg(required_unless_present = "codes", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print a JSON object per log
    ///
    /// Print a JSON object per log. For a log that cannot be opened, it has the name and the
    /// error
    #[arg(long)]
    pub(crate) json: bool,
    /// Report findings of this severity and above
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "note")]
    #[arg(hide_default_value = true)]
    pub(crate) level: FindingLevel,
    /// List all codes and their meaning
    #[arg(long, conflicts_with = "files")]
    pub(crate) codes: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingLevel {
    Note,
    Warning,
    Error,
}
