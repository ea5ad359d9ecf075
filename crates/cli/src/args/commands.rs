//! What can be typed after each command.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::args::{
    ClockArgs, LabelArgs, LevelChoice, LidarArgs, Order, RecordArgs, TimeArgs,
};

/// Say what logs hold: times, system, topics, losses
///
/// For each file: its format, duration, start in the world's time, system and software,
/// the topics with their rates, messages, dropouts, parameters, and what is damaged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool info flight.ulg
  logtool info --json *.ulg | jq -r '[.file, .duration_s] | @tsv'
  logtool info --freq --health drive.bag")]
pub(crate) struct InfoArgs {
    /// The logs, or folders with logs in them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Everything that is known, as one JSON object for each file; of one that cannot be
    /// opened, its name and the error
    #[arg(long)]
    pub(crate) json: bool,
    /// How regularly the records of each topic come: rate, periods, largest gap. Taken
    /// from the index where there is one; else all is read
    #[arg(long)]
    pub(crate) freq: bool,
    /// How well the file is laid out: its parts, their sizes, order and overlaps, how
    /// its chunks are packed. A look at each chunk of a bag
    #[arg(long)]
    pub(crate) health: bool,
    /// The BLAKE3 hash of each file, as `b3sum` prints it: all of it is read
    #[arg(long)]
    pub(crate) digest: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Print records, in the order of the file or of time
///
/// In a pipe, each record is a line of JSON: {"timestamp":…,"topic":"sensor_gps.1",
/// "data":{…}}; on a terminal, a line of text. In JSON, the time has the name, the unit
/// and the type that it has in JSON Lines: in a ULog "timestamp", in whole microseconds,
/// elsewhere "time", in whole nanoseconds; with `--clock utc` a date. Topics that are made of others, as `messages`, are printed where
/// they are asked for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool cat flight.ulg --topic sensor_gps -n 5
  logtool cat flight.ulg --topic 'battery*' --clock utc | jq .data.voltage_v
  logtool cat flight.ulg --topic messages --format text
  logtool cat drive.bag --topic /tf --order time")]
pub(crate) struct CatArgs {
    /// The log; `-` is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// No more than so many records
    #[arg(short = 'n', long = "count", value_name = "N")]
    pub(crate) count: Option<u64>,
    /// In which order
    #[arg(long, value_enum, value_name = "ORDER", default_value = "file")]
    pub(crate) order: Order,
    /// How to print [default: text on a terminal, else json]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<CatFormat>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// JSON: write infinities as 1e999 and -1e999, not as null
    #[arg(long)]
    pub(crate) keep_infinities: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// A JSON object on each line
    Json,
    /// Text for people
    Text,
}

/// Print what the vehicle, or the nodes of ROS, said: logged strings and events, in words
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool messages flight.ulg
  logtool messages flight.ulg --level warning --clock utc
  logtool messages flight.ulg --start 3m --end 3m20s")]
pub(crate) struct MessagesArgs {
    /// The log; `-` is standard input
    pub(crate) file: PathBuf,
    /// Only what is as urgent as this, or more
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) level: Option<LevelChoice>,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    /// A JSON object on each line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
}

/// Print what topics look like: as the format defines them, and as columns
///
/// For each topic: its type and how messages are written, the definition as the file has
/// it, and the columns of its tables with their Arrow types.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool schema drive.bag /imu/data
  logtool schema flight.ulg 'vehicle_*'
  logtool schema drive.mcap --json | jq .columns")]
pub(crate) struct SchemaArgs {
    /// The log; `-` is standard input
    pub(crate) file: PathBuf,
    /// Only topics of this name; `*` and `?` are wild [default: all]
    #[arg(value_name = "TOPIC")]
    pub(crate) topics: Vec<String>,
    /// A JSON object for each topic
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Print parameters, or how those of two logs differ
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  logtool params flight.ulg --non-default
  logtool params flight.ulg 'MPC_*' EKF2_AID_MASK
  logtool params flight.ulg --format qgc > flight.params
  logtool params flight.ulg --history
  logtool params diff before.ulg after.ulg")]
pub(crate) struct ParamsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ParamsCommand>,
    /// The log; `-` is standard input
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Only parameters of this name, in capitals or not; `*` and `?` are wild
    /// [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// How to print [default: text on a terminal, else csv]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ParamsFormat>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Only those that are not at their default, as far as the log says
    #[arg(long)]
    pub(crate) non_default: bool,
    /// The values with which the log began, not those with which it ended
    #[arg(long)]
    pub(crate) initial: bool,
    /// The changes, with their times
    #[arg(long, conflicts_with = "initial")]
    pub(crate) history: bool,
    /// For CSV that spreadsheets open: put an apostrophe before each name that they would run
    /// as a formula
    #[arg(long)]
    pub(crate) csv_safe: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ParamsCommand {
    /// Print the parameters that two logs do not have in common
    Diff {
        /// The one log
        a: PathBuf,
        /// The other log
        b: PathBuf,
        /// Only parameters of this name, in capitals or not; `*` and `?` are wild
        /// [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// The values with which the logs began, not those with which they ended
        #[arg(long)]
        initial: bool,
        /// Comma-separated values: name,a,b
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// For CSV that spreadsheets open: put an apostrophe before each name that they would
        /// run as a formula
        #[arg(long)]
        csv_safe: bool,
        /// One JSON object: {"NAME": {"a": …, "b": …}}
        #[arg(long)]
        json: bool,
    },
}

/// How parameters are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ParamsFormat {
    /// Text for people
    Text,
    /// Comma-separated values, with a header
    Csv,
    /// One JSON object
    Json,
    /// A parameter file of QGroundControl
    Qgc,
}

/// Print what a shell needs to complete the commands of logtool
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  logtool completions bash > ~/.local/share/bash-completion/completions/logtool")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print a manual page, or write all of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool man | man -l -
  logtool man convert | man -l -
  logtool man -o ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The command whose page is printed [default: logtool itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands into this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Tell what can be read and written, and what is kept on the way
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool formats
  logtool formats --json | jq '.writes[].formats'")]
pub(crate) struct FormatsArgs {
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
