//! What can be typed.

mod align;
mod batch;
mod commands;
mod convert;
mod logs;
mod plot;
mod points;

use std::{path::PathBuf, sync::Arc};

use clap::{ArgAction, Parser, Subcommand};
use logtool::{
    Session, Strictness, labels,
    time::typed::{self, TypedTime},
};
use logtool_core::Labels;

pub(crate) use self::align::AlignArgs;
pub(crate) use self::batch::{BatchArgs, IndexArgs, ShardChoice};
pub(crate) use self::commands::{
    CatArgs, CatFormat, CompletionsArgs, FormatsArgs, InfoArgs, ManArgs, MessagesArgs,
    ParamsArgs, ParamsCommand, ParamsFormat, SchemaArgs,
};
pub(crate) use self::convert::ConvertArgs;
pub(crate) use self::logs::{
    CheckArgs, Drift, FilterArgs, FindingLevel, MergeArgs, Offset, RepairArgs,
};
pub(crate) use self::plot::{PlotArgs, ReportArgs};
pub(crate) use self::points::{
    AxesChoice, CalibrationArgs, ColorChoice, LidarArgs, LidarClockChoice, PerChoice,
    PictureArgs, PointArgs,
};
pub(crate) use logtool::{
    formats::{Compression, LogFormat},
    log_messages::LevelChoice,
    read::Order,
    time::clock::TimeChoice,
};

/// Inspects and converts the logs of robots.
///
/// A log is a file, a URL (s3://, gs://, az://, https://), or `-` for standard input; what
/// it is, is seen from its bytes, and gzip, xz and zstd are unpacked on the way. A damaged
/// log is read on both sides of the damage, and what is lost is told.
#[derive(Debug, Parser)]
#[command(name = "logtool", version, propagate_version = true)]
#[command(max_term_width = 100)]
#[command(after_help = "Exit status: 0 done, 1 failed, 2 misused, 3 done and some of \
                        the input was lost.")]
#[command(after_long_help = "\
Examples:
  logtool info flight.ulg
  logtool convert flight.ulg -o tables
  logtool cat flight.ulg --topic 'vehicle_*' --start 1m --end 1m10s

Exit status:
  0  done
  1  failed
  2  misused
  3  done, and some of the input was lost (with --strict this is 1)

A file is mapped into memory, unless it is a ULog or a capture, or somebody wrote to it in the \
last ten seconds. If it gets shorter while it is read, that is told, and no output is left.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What goes with every command.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Say nothing but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Fail at the first damage, and leave no output. An index that is missing, or wrong,
    /// is none, as all records are had without it: `check` tells of it. What the index of a
    /// bag says of its chunks is compared with the index data of each
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    /// Read logs that say that readers of this age cannot read them
    #[arg(long, global = true)]
    pub(crate) read_anyway: bool,
    /// Read each input as this format, whatever its first bytes are: for files whose start
    /// is destroyed [default: the format that the bytes show]
    #[arg(long, global = true, value_name = "FORMAT", value_enum, ignore_case = true)]
    pub(crate) input_format: Option<LogFormat>,
    /// Read files piece by piece instead of mapping them into memory
    #[arg(long, global = true)]
    pub(crate) no_mmap: bool,
    /// The key of encrypted bags: a file with its 16 bytes, or their 32 hexadecimal
    /// digits. Without it, the file that the variable LOGTOOL_KEY_FILE names
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The longest message, and the longest unpacked chunk, that is read, in MB of 2^20
    /// bytes: what says to be longer is taken for damage [default: 256]
    #[arg(long, global = true, value_name = "MB", hide_possible_values = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=2047))]
    pub(crate) record_limit: Option<u16>,
    /// The time at which the log starts, as 2024-06-01T10:00:00Z: it replaces the UTC
    /// reference of the log, and `--clock utc` uses it
    #[arg(long, global = true, value_name = "UTC", value_parser = typed::utc)]
    pub(crate) utc_start: Option<i64>,
    /// How long to wait for a server to answer, in seconds [default: 30]
    #[arg(long, global = true, value_name = "SECONDS", hide_possible_values = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub(crate) remote_timeout: Option<u16>,
    /// How many threads to use [default: one for each processor]
    #[arg(long, global = true, value_name = "N", hide_possible_values = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// The [command line](crate::command_line), which outputs state as their origin.
    #[arg(skip)]
    pub(crate) given: String,
    /// The session for calls of the library.
    #[arg(skip)]
    pub(crate) session: Session,
}

impl GlobalArgs {
    /// Returns what happens when something of an input is lost.
    pub(crate) fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Tolerant }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(InfoArgs),
    Cat(CatArgs),
    Convert(ConvertArgs),
    Batch(BatchArgs),
    Index(IndexArgs),
    Filter(FilterArgs),
    Plot(PlotArgs),
    Report(ReportArgs),
    Merge(MergeArgs),
    Align(AlignArgs),
    Repair(RepairArgs),
    Check(CheckArgs),
    Calibration(CalibrationArgs),
    Messages(MessagesArgs),
    Schema(SchemaArgs),
    Params(ParamsArgs),
    Formats(FormatsArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The clock on which times are shown.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClockArgs {
    /// The clock on which times are shown [default: boot]
    #[arg(long, value_enum, value_name = "CLOCK")]
    pub(crate) clock: Option<TimeChoice>,
}

impl ClockArgs {
    /// Returns the clock on which times are shown.
    pub(crate) fn choice(&self) -> TimeChoice {
        self.clock.unwrap_or_default()
    }
}

/// The selected time range.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct TimeArgs {
    /// Start at this time: 12.5 or 1m30s after the start of the log, boot:105.2 on the log's
    /// own clock, or a date in UTC, 2024-05-01T12:00:00Z
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(help_heading = "Selection")]
    pub(crate) start: Option<TypedTime>,
    /// End before this time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(help_heading = "Selection")]
    pub(crate) end: Option<TypedTime>,
}

/// Which records are wanted.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// Only topics of this name, all instances, or with this label (`sensor_gps.1`);
    /// `*` and `?` are wild. May be given several times, or as a list: a,b
    #[arg(short, long = "topic", value_name = "GLOB", action = ArgAction::Append)]
    #[arg(help_heading = "Selection")]
    pub(crate) topics: Vec<String>,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
}

/// What numbers are called.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LabelArgs {
    /// A folder of PX4 .msg files, of which the constants name the values of fields
    #[arg(long, value_name = "DIR")]
    pub(crate) msg_dir: Option<PathBuf>,
    /// For bags: beside each field of which constants in the message's definition name
    /// the values, a column of the names, as `status_label`. Text for people always has
    /// them; tables and JSON have only the fields of the messages without this
    #[arg(long)]
    pub(crate) labels: bool,
}

impl LabelArgs {
    /// Returns the names for the values of fields that were asked for, if some were.
    ///
    /// # Errors
    /// If the folder has none.
    pub(crate) fn read(&self) -> logtool::Result<Option<Arc<Labels>>> {
        self.msg_dir.as_deref().map(labels::read_folder).transpose()
    }
}
