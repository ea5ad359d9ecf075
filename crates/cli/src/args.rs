//! The command line: commands, arguments and options.

mod align;
mod batch;
mod commands;
mod completion;
mod convert;
mod defaults;
mod deferred_args;
mod help;
mod logs;
mod parse;
mod plot;
mod points;
mod px4;
mod record;
mod split;

use std::{path::PathBuf, sync::Arc};

use clap::{ArgAction, Parser, Subcommand};
use logtool::{
    Session, Strictness, labels,
    time::typed_time::{self, TypedTime},
};
use logtool_core::Labels;

use crate::{args::deferred_args::DeferredArgs, terminal::color::ColorMode};

pub(crate) use self::align::AlignArgs;
pub(crate) use self::batch::{BatchArgs, IndexArgs, ShardChoice};
pub(crate) use self::commands::{
    CatArgs, CatFormat, CompletionsArgs, DiffFormat, FormatsArgs, HelpArgs, InfoArgs,
    ManArgs, MessagesArgs, ParamsArgs, ParamsCommand, ParamsFormat, SchemaArgs,
};
pub(crate) use self::completion::{
    VARIABLE as COMPLETION_VARIABLE, answer as answer_completion,
};
pub(crate) use self::convert::ConvertArgs;
pub(crate) use self::help::{HELP_TOPICS, program, with_full_help};
pub(crate) use self::logs::{
    CheckArgs, Drift, FilterArgs, FindingLevel, MergeArgs, Offset, RepairArgs,
};
pub(crate) use self::parse::{parse, print_help};
pub(crate) use self::plot::{FlightArgs, ImageFormat, PlotArgs, ReportArgs};
pub(crate) use self::points::{
    AxesChoice, CalibrationArgs, ColorChoice, LidarArgs, LidarClockChoice, PerChoice,
    PictureArgs, PointArgs,
};
pub(crate) use self::px4::{GeotagArgs, GpsDumpArgs, ReplayLogArgs};
pub(crate) use self::record::{MavlinkArgs, RecordingArgs, RecordingCommand};
pub(crate) use self::split::{PlanArgs, ReadArgs};
pub(crate) use logtool::{
    formats::{Compression, LogFormat, TimeColumnChoice},
    log_messages::LevelChoice,
    read::RecordOrder,
    time::clock::TimeChoice,
};

/// Inspect, convert, cut, merge and repair robotics logs
///
/// A log is a file, a URL (s3://, gs://, az://, https://), or `-` for standard input. Its
/// format is recognised by its bytes, and gzip, bzip2, xz, zstd and LZ4 are decompressed. A
/// damaged log is read before and after the damage, and losses are reported.
#[derive(Debug, Parser)]
#[command(name = "logtool", version, max_term_width = 100)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
#[command(disable_version_flag = true)]
#[command(after_help = "\
More: `logtool help`. Exit status: 0 done, 1 failed, 2 wrong usage, 3 input lost")]
#[command(after_long_help = "\
Examples:
  logtool info flight.ulg
  logtool convert flight.ulg -o tables
  logtool cat flight.ulg --topic 'vehicle_*' --start 1m --end 1m10s

Exit status:
  0  done
  1  failed
  2  wrong usage
  3  done, but some of the input was lost (with --strict this is 1)

More:
  logtool help COMMAND   all options of a command
  logtool help outputs   the output formats, and what they keep
  logtool help clocks    how times are typed and shown
  logtool help lidars    calibrations, models and formulas of Velodyne lidars
  logtool help expressions   series computed from fields, for plot and --derive
  logtool help config    defaults from variables and from logtool.toml")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// Print version
    #[arg(short = 'V', long, action = ArgAction::Version)]
    #[arg(help_heading = "Global options (all: logtool --help)")]
    pub(crate) version: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options of all commands.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Global options (all: logtool --help)")]
pub(crate) struct GlobalArgs {
    /// Print errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Fail at the first damage, and leave no output
    ///
    /// Fail at the first damage, and leave no output. A missing or wrong index is not damage,
    /// because all records can be read without it (`check` reports it)
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    /// Read logs that require a newer reader
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) read_anyway: bool,
    /// Read inputs as this format, for example if their start is destroyed
    #[arg(long, global = true, value_name = "FORMAT", value_enum, ignore_case = true)]
    #[arg(hide_short_help = true)]
    pub(crate) input_format: Option<LogFormat>,
    /// Column with the times of tables (CSV, Parquet), with the unit s, ms, us or ns
    #[arg(long, global = true, value_name = "NAME[:UNIT]", hide_short_help = true)]
    pub(crate) time_column: Option<TimeColumnChoice>,
    /// Read files block by block, without mapping them into memory
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_mmap: bool,
    /// File with the key of encrypted logs
    ///
    /// File with the key of encrypted logs: for ULogs (.ulge), the private RSA key in PEM format;
    /// for bags, 16 bytes or 32 hexadecimal digits
    #[arg(long, visible_alias = "key", global = true, value_name = "FILE")]
    #[arg(hide_short_help = true)]
    pub(crate) key_file: Option<PathBuf>,
    /// File with PX4's events, for logs that do not define them
    ///
    /// File with the definitions of PX4's events, for logs that do not contain them: all_events.json
    /// or all_events.json.xz of the release of PX4
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub(crate) events: Option<PathBuf>,
    /// Longest message and decompressed chunk, in MiB; longer ones are damage
    /// [default: 256]
    #[arg(long, global = true, value_name = "MIB", hide_possible_values = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=2047))]
    #[arg(hide_short_help = true)]
    pub(crate) record_limit: Option<u16>,
    /// UTC start of the log, such as 2024-06-01T10:00:00Z; replaces its UTC reference
    #[arg(long, global = true, value_name = "UTC", value_parser = typed_time::utc)]
    #[arg(hide_short_help = true)]
    pub(crate) utc_start: Option<i64>,
    /// Seconds to wait for the answer of a server [default: 30]
    #[arg(long, global = true, value_name = "SECS", hide_possible_values = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3600))]
    #[arg(hide_short_help = true)]
    pub(crate) remote_timeout: Option<u16>,
    /// Fewest bytes per second that a server may send [default: 1000]
    ///
    /// Fewest bytes per second that a server may send, averaged over twice --remote-timeout
    /// [default: 1000]
    #[arg(long, global = true, value_name = "BYTES", hide_possible_values = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(hide_short_help = true)]
    pub(crate) remote_min_rate: Option<u32>,
    /// Number of threads [default: one per processor]
    #[arg(long, global = true, value_name = "N", hide_possible_values = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[arg(hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Use colours: auto, always or never [default: auto]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        hide_short_help = true
    )]
    #[arg(
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) color: ColorMode,
    /// Pager for long text on a terminal [default: $PAGER, else less]
    #[arg(long, global = true, value_name = "COMMAND", hide_short_help = true)]
    pub(crate) pager: Option<String>,
    /// Print long text without a pager
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_pager: bool,
    /// Print help, in full with --help
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    pub(crate) help: Option<bool>,
    /// The [command line](crate::command_line), which outputs state in their provenance.
    #[arg(skip)]
    pub(crate) command_line: String,
    /// The session for calls of the library.
    #[arg(skip)]
    pub(crate) session: Session,
}

impl GlobalArgs {
    /// Returns whether a loss in an input is an error.
    pub(crate) fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Tolerant }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(DeferredArgs<InfoArgs>),
    Cat(DeferredArgs<CatArgs>),
    Messages(DeferredArgs<MessagesArgs>),
    Params(DeferredArgs<ParamsArgs>),
    Schema(DeferredArgs<SchemaArgs>),
    Check(DeferredArgs<CheckArgs>),
    Convert(DeferredArgs<ConvertArgs>),
    Plot(DeferredArgs<PlotArgs>),
    Report(DeferredArgs<ReportArgs>),
    Flight(DeferredArgs<FlightArgs>),
    Geotag(DeferredArgs<GeotagArgs>),
    GpsDump(DeferredArgs<GpsDumpArgs>),
    ReplayLog(DeferredArgs<ReplayLogArgs>),
    Filter(DeferredArgs<FilterArgs>),
    Merge(DeferredArgs<MergeArgs>),
    Repair(DeferredArgs<RepairArgs>),
    Record(DeferredArgs<RecordingArgs>),
    Align(DeferredArgs<AlignArgs>),
    Batch(DeferredArgs<BatchArgs>),
    Index(DeferredArgs<IndexArgs>),
    Plan(DeferredArgs<PlanArgs>),
    Read(DeferredArgs<ReadArgs>),
    Calibration(DeferredArgs<CalibrationArgs>),
    Formats(DeferredArgs<FormatsArgs>),
    Completions(DeferredArgs<CompletionsArgs>),
    Man(DeferredArgs<ManArgs>),
    Help(DeferredArgs<HelpArgs>),
}

/// The clock on which times are shown.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClockArgs {
    /// Clock of shown times: boot, utc or relative
    ///
    /// Clock of shown times: boot, utc or relative [default: boot]
    #[arg(long, value_enum, value_name = "CLOCK", hide_possible_values = true)]
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
    /// Start of the selected time, such as 12.5 or 1m30s
    ///
    /// Start of the selected time: 12.5 or 1m30s after the start of the log, boot:105.2 on
    /// the log's own clock, or a date in UTC, such as 2024-05-01T12:00:00Z
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(help_heading = "Selection")]
    pub(crate) start: Option<TypedTime>,
    /// End of the selected time, not included
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(help_heading = "Selection")]
    pub(crate) end: Option<TypedTime>,
}

/// The selected records.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// Topics to select; `*` and `?` are wildcards
    ///
    /// Topics to select, by name (all instances) or by label (`sensor_gps.1`). `*` and `?` are
    /// wildcards. May be repeated, or a list: a,b
    #[arg(short, long = "topic", value_name = "GLOB", action = ArgAction::Append)]
    #[arg(add = completion::topics())]
    #[arg(help_heading = "Selection")]
    pub(crate) topics: Vec<String>,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
}

/// The names of values.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LabelArgs {
    /// Folder of PX4 .msg files, whose constants name the values of fields
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) msg_dir: Option<PathBuf>,
    /// Add columns with the names of values
    ///
    /// Add a column of names, such as `status_label`, to each field whose values the constants
    /// of the message's definition name. Text output always shows the names
    #[arg(long)]
    pub(crate) labels: bool,
}

impl LabelArgs {
    /// Returns the names of values in the folder of `--msg-dir`.
    ///
    /// # Errors
    /// If the folder has no message files.
    pub(crate) fn read(&self) -> logtool::Result<Option<Arc<Labels>>> {
        self.msg_dir.as_deref().map(labels::read_folder).transpose()
    }
}
