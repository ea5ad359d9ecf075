//! What can be typed after the commands that make logs of logs, and look into them.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::{ArgAction, Args, ValueEnum};
use logtool::{output::LogOutput, time::typed};

use crate::args::{Compression, LidarArgs, RecordArgs, TimeArgs};

/// Copy a part of a log, byte for byte: some topics, some time
///
/// OUT is a log of the same format. Records are copied as they are, and so is what the
/// log says of itself; parts of a bag that are wanted as a whole are copied without
/// being unpacked, and what is broken in them stays so: --strict looks into them, and so
/// does `logtool repair`.
///
/// In a bag, connections stay apart, with all that they say. In a ULog, parameters that
/// were changed before the cut begins are told as they were then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool filter drive.bag -o gps.bag --topic /gps/fix --topic '/imu*'
  logtool filter drive.bag -o cut.bag --start 1m --end 1m30s --latch
  logtool filter drive.bag -o small.bag --exclude '/camera*' --compression lz4
  logtool filter drive.bag -o new.bag --rename /gps/fix=/fix --restamp
  logtool filter flight.ulg -o landing.ulg --start 3m --topic 'vehicle_*'")]
pub(crate) struct FilterArgs {
    /// The log; `-` is standard input
    pub(crate) file: PathBuf,
    /// The log to write; folders that it needs are made
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// No topics of this name or label; `*` and `?` are wild. May be given several times
    #[arg(short = 'x', long, value_name = "GLOB", action = ArgAction::Append)]
    #[arg(help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,
    /// Begin with the last record before --start of each connection that latches (as
    /// /tf_static or /map), written with the time --start
    #[arg(long, requires = "start", help_heading = "Selection")]
    pub(crate) latch: bool,
    /// Call topic A (a name or a label) B; in a ULog, the instance stays unless B ends
    /// with a dot and a number. May be given several times
    #[arg(long, value_name = "A=B", action = ArgAction::Append)]
    pub(crate) rename: Vec<Rename>,
    /// Give each record the time of this field instead of the time it was logged at
    /// [default: header.stamp]. Topics that have no such field keep their times, and so
    /// do records in which it is 0
    #[arg(long, value_name = "FIELD", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "header.stamp", hide_default_value = true)]
    pub(crate) restamp: Option<String>,
}

/// How a new log is written.
#[derive(Clone, Debug, Args)]
pub(crate) struct WritingArgs {
    /// How the chunks of a bag or an MCAP file are packed [default: as most of the first
    /// bag's are; zstd in MCAP, but for chunks that are copied as they are]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Writing")]
    pub(crate) compression: Option<Compression>,
    /// MCAP: messages of ROS 1 as ROS 2 has them, in CDR; others as they are
    #[arg(long, help_heading = "Writing")]
    pub(crate) ros2: bool,
    /// Replace a file that is there already
    #[arg(short, long, help_heading = "Writing")]
    pub(crate) force: bool,
}

impl WritingArgs {
    /// Returns how to write the log at `path`.
    pub(crate) fn output(&self, path: &Path) -> LogOutput {
        let mut output = LogOutput::new(path);
        if let Some(compression) = self.compression {
            output = output.with_compression(compression);
        }
        if self.ros2 {
            output = output.with_ros2_messages();
        }
        if self.force {
            output = output.with_replacement();
        }
        output
    }
}

/// A topic and what it is to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: String,
    pub(crate) to: String,
}

impl FromStr for Rename {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                Ok(Self { from: from.to_owned(), to: to.to_owned() })
            }
            _ => Err("a renaming is like /old/name=/new/name"),
        }
    }
}

/// A log, and what to add to its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) name: String,
    pub(crate) nanos: i64,
}

impl FromStr for Offset {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const LIKE: &str = "an offset is like ros.bag=-2.345";
        let split = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
        let (name, time) = split.ok_or(LIKE)?;
        let nanos = typed::duration(time).map_err(|_| LIKE)?;
        Ok(Self { name: name.to_owned(), nanos })
    }
}

/// A log, and how fast its clock runs off.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drift {
    pub(crate) name: String,
    /// How many millionths of the time since the reference to add.
    pub(crate) ppm: f64,
    /// When on its clock nothing is added.
    pub(crate) reference: Option<i64>,
}

impl FromStr for Drift {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const LIKE: &str = "a drift is like ros.bag=49.8 or ros.bag=49.8@120.5, and no \
                            clock is off by more than 100000";
        let (name, drift) = text.rsplit_once('=').ok_or(LIKE)?;
        let (ppm, reference) = match drift.split_once('@') {
            None => (drift, None),
            Some((ppm, seconds)) => {
                (ppm, Some(typed::duration(seconds).map_err(|_| LIKE)?))
            }
        };
        let ppm = ppm.parse::<f64>().ok().filter(|ppm| ppm.abs() <= 1e5);
        let ppm = ppm.filter(|_| !name.is_empty()).ok_or(LIKE)?;
        Ok(Self { name: name.to_owned(), ppm, reference })
    }
}

/// Make one log of several, in the order of time
///
/// Logs of one format that count their times from the same moment become one log of that
/// format; records are copied as they are.
///
/// Logs of several formats become one MCAP file, if OUT ends in .mcap, or one bag, if it ends
/// in .bag. The records of bags and MCAP files are as they are, but for messages in CDR, which
/// a bag has as ROS 1 has them; ULogs, .vel logs and captures
/// become messages as `logtool convert` makes them: ULogs protocol buffers in an MCAP file,
/// and messages of ROS in a bag or with --ros2; .vel logs and captures messages of ROS, and with
/// --foxglove protocol buffers. They are brought onto Unix
/// time where they know it, by GPS for one; others need --offset: what to add to their times
/// to be on the clock of the first log that is given none. `logtool align` finds it, and how fast a
/// clock runs off (--drift, or both by --align). Where
/// two logs have topics of one name and of different types or vehicles, those of the later log are
/// called /NAME/topic, after its file, and the frames of its lidars NAME/velodyne.
///
/// In a bag, the connections of all bags are kept apart, though they may share a topic.
/// In a ULog, topics of the same name, instance and type become one; informations and
/// parameters are those of the first log, and what the others have beside. ULogs count
/// from the vehicle's start, and can only be merged if they are of the same one: where
/// GPS tells when that was, that is checked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool merge front.bag back.bag -o both.bag
  logtool merge drive_*.bag -o drive.bag --compression lz4
  logtool merge full.ulg mission.ulg -o all.ulg
  logtool merge flight.ulg lidar.vel ros.bag -o all.mcap
  logtool merge flight.ulg ros.bag -o all.mcap --start 10s --end 1m
  logtool merge flight.ulg ros.bag -o all.mcap --offset ros.bag=-1714560000.25
  logtool align flight.ulg ros.bag --signal sensor_combined.gyro_rad \\
    /imu/data.angular_velocity --json > fit.json
  logtool merge flight.ulg ros.bag -o all.mcap --align fit.json")]
pub(crate) struct MergeArgs {
    /// The logs, two or more
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The log to write; folders that it needs are made
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Merge logs also if nothing shows that they count from the same moment
    #[arg(long)]
    pub(crate) same_clock: bool,
    /// How many seconds to add to the times of a log: NAME is its file, or its number as
    /// it is typed here, from 1. Publish times and attachments of MCAP files go with it; stamps
    /// in the payloads stay. May be given several times
    #[arg(long = "offset", value_name = "NAME=SECONDS", action = ArgAction::Append)]
    pub(crate) offsets: Vec<Offset>,
    /// How many millionths of the time since SECONDS on its own clock (its first record, if
    /// not said) to add to the times of a log, as `logtool align` tells. May be given several
    /// times
    #[arg(long = "drift", value_name = "NAME=PPM[@SECONDS]", action = ArgAction::Append)]
    pub(crate) drifts: Vec<Drift>,
    /// Take offset and drift of a log from what `logtool align A B --json` printed; A is then
    /// the first log. May be given several times
    #[arg(long = "align", value_name = "FILE", action = ArgAction::Append)]
    pub(crate) alignments: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    /// MCAP: .vel logs and captures as Foxglove's types, in protocol buffers, as `logtool
    /// convert --foxglove` makes them
    #[arg(long, conflicts_with = "ros2", help_heading = "Writing")]
    pub(crate) foxglove: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Write what can be read of a damaged log into a sound one
///
/// Works on files that are cut off, that have lost their index or never got one (as
/// .bag.active), and that are broken anywhere: what is broken is passed over, and all
/// that can be read before and after it is kept. What was lost is told by topic and
/// time. Parts that are sound are copied as the bytes that they are, others record by
/// record. Records that cannot be decoded are kept as they are, and counted (with
/// --strict, one is a failure). Records of a chunk with a wrong checksum are doubtful: they
/// are kept and listed, or left out. The new log is checked, and what is still wrong with
/// it is reported. The log itself is not changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool repair drive.bag.active -o drive.bag
  logtool repair crashed.ulg -o flight.ulg
  logtool repair broken.bag -o sound.bag --json | jq .lost.topics

Exit status:
  0  nothing was lost
  1  failed
  2  misused
  3  done, and something was lost")]
pub(crate) struct RepairArgs {
    /// The log; `-` is standard input
    pub(crate) file: PathBuf,
    /// The log to write; folders that it needs are made
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Print what was lost as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out the records of a chunk with a wrong checksum; otherwise they are kept, and
    /// metadata records of an MCAP file list them
    #[arg(long)]
    pub(crate) drop_doubtful: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

/// Look for everything that is wrong with logs, or odd
///
/// Reads all of each log and decodes every record. A finding has a code that scripts
/// may ask for, and a severity: an error is where something is lost, or would be by a
/// program that believes what the file says; a warning is where something is not as it
/// should be, and nothing is lost; a note is good to know. Findings of one code and
/// topic are told once, with their number. --codes lists all codes; docs/CHECK.md has
/// them too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool check drive.bag
  logtool check *.bag --json | jq -r '.file as $f | .findings[] | [$f, .code] | @tsv'
  logtool check flight.ulg --level warning

Exit status:
  0  no errors (with --strict: and no warnings)
  1  failed
  2  misused
  3  there are errors, or records are lost (with --strict: or there are warnings)")]
pub(crate) struct CheckArgs {
    /// The logs, or folders with logs in them; `-` is standard input
    #[arg(required_unless_present = "codes", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A JSON object for each log; of one that cannot be opened, its name and the error
    #[arg(long)]
    pub(crate) json: bool,
    /// Tell only what is as bad as this, or worse
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "note")]
    #[arg(hide_default_value = true)]
    pub(crate) level: FindingLevel,
    /// List all codes and what they mean
    #[arg(long, conflicts_with = "files")]
    pub(crate) codes: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)] // they say it themselves
pub(crate) enum FindingLevel {
    Note,
    Warning,
    Error,
}
