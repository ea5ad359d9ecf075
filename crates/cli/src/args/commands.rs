//! The arguments of the commands that print.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use logtool::series::Derivation;

use crate::args::{
    ClockArgs, LabelArgs, LevelChoice, LidarArgs, RecordArgs, RecordOrder, TimeArgs,
    completion,
};

/// Show the contents of logs: times, system, topics, losses
///
/// Prints for each log its format, duration, start in UTC, system and software, its topics
/// with their rates, messages, dropouts, parameters, and damage.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool info flight.ulg
  logtool info --json *.ulg | jq -r '[.file, .duration_s] | @tsv'
  logtool info --show hardfault_plain flight.ulg
  logtool info --freq --health drive.bag")]
pub(crate) struct InfoArgs {
    /// Logs, or folders of logs; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print everything as one JSON object per log
    ///
    /// Print everything as one JSON object per log. For a log that cannot be opened, it has
    /// the name and the error
    #[arg(long)]
    pub(crate) json: bool,
    /// Show rates, periods and the largest gap of each topic
    ///
    /// Show rates, periods and the largest gap of each topic. They come from the index, or
    /// from the whole log if it has none
    #[arg(long)]
    pub(crate) freq: bool,
    /// Show the parts of the file, their sizes, order and compression
    ///
    /// Show the parts of the file, their sizes, order, overlaps and compression. Each chunk of
    /// a bag is inspected
    #[arg(long)]
    pub(crate) health: bool,
    /// Print one entry of the information in full, such as hardfault_plain
    ///
    /// Print one entry of the information in full, and nothing else: hardfault_plain,
    /// boot_console_output, perf_counter_preflight or perf_top_preflight of a ULog, or a metadata
    /// record of an MCAP file. A wrong KEY lists all
    #[arg(long, value_name = "KEY", conflicts_with_all = ["json", "freq", "health", "digest"])]
    #[arg(add = completion::information())]
    pub(crate) show: Option<String>,
    /// Show the BLAKE3 hash of each file, as `b3sum` does
    #[arg(long)]
    pub(crate) digest: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Print records, in the order of the file or of time
///
/// In a pipe, each record is a line of JSON: {"timestamp":…,"topic":"sensor_gps.1",
/// "data":{…}}. On a terminal, it is a line of text. In JSON, the time is "timestamp" in
/// microseconds for a ULog, else "time" in nanoseconds, and a date with --clock utc. Derived
/// topics, such as `messages`, are printed only if --topic names them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool cat flight.ulg --topic sensor_gps -n 5
  logtool cat flight.ulg --topic yaw --derive yaw='deg(yaw(vehicle_attitude.q))'
  logtool cat drive.bag --topic /tf --order time --start 1m --end 1m10s")]
pub(crate) struct CatArgs {
    /// Log; `-` is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Also print the values of an expression, as records of a topic NAME
    ///
    /// Also print the values of an expression, as records of a topic NAME:
    /// yaw='deg(yaw(vehicle_attitude.q))'. In the order of the file, they follow the others. May
    /// be repeated. `--topic NAME` alone selects no other topic; `logtool help expressions` lists
    /// the functions
    #[arg(long, value_name = "NAME=EXPRESSION")]
    pub(crate) derive: Vec<Derivation>,
    /// Print at most N records
    #[arg(short = 'n', long = "count", value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Wait for more records of a ULog that is being written, until Ctrl-C
    #[arg(long, conflicts_with = "derive")]
    pub(crate) follow: bool,
    /// Order of the records
    #[arg(long, value_enum, value_name = "ORDER", default_value = "file")]
    pub(crate) order: RecordOrder,
    /// Output format: text or json [default: text on a terminal, else json]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<CatFormat>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format", hide_short_help = true)]
    pub(crate) json: bool,
    /// Write infinities as 1e999 and -1e999 in JSON, instead of null
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_infinities: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// The format of printed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatFormat {
    /// A JSON object on each line
    Json,
    /// Text for people
    Text,
}

/// Print the messages and events of a vehicle, or of ROS nodes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool messages flight.ulg
  logtool messages flight.ulg --level warning --clock utc
  logtool messages flight.ulg --start 3m --end 3m20s
  logtool messages flight.ulg --source commander --regex '(?i)arm(ed|ing)'
  logtool messages flight.ulg --follow")]
pub(crate) struct MessagesArgs {
    /// Log; `-` is standard input
    pub(crate) file: PathBuf,
    /// Print messages of this level and above
    ///
    /// Print messages of this level and above. emerg, crit, err and warn are short forms
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) level: Option<LevelChoice>,
    /// Print messages that contain a text, ignoring case. May be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Vec<String>,
    /// Print messages that match a regular expression
    ///
    /// Print messages that match a regular expression somewhere. `(?i)` at its start ignores the
    /// case
    #[arg(long, value_name = "PATTERN")]
    pub(crate) regex: Option<String>,
    /// Print messages of a module of PX4, or of a ROS node
    ///
    /// Print messages of a module of PX4, such as commander, or of a ROS node; `*` and `?` match
    /// anything. `event` and `string` select PX4's events and logged strings. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Vec<String>,
    /// Print a JSON object per message
    #[arg(long)]
    pub(crate) json: bool,
    /// Wait for more messages of a ULog that is being written, until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
}

/// Print the definitions of topics, and the columns of their tables
///
/// Prints for each topic its type, the encoding of its messages, the definition in the file,
/// and the columns of its tables with their Arrow types.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool schema drive.bag /imu/data
  logtool schema flight.ulg 'vehicle_*'
  logtool schema drive.mcap --json | jq .columns")]
pub(crate) struct SchemaArgs {
    /// Log; `-` is standard input
    pub(crate) file: PathBuf,
    /// Topics to print; `*` and `?` are wildcards [default: all]
    #[arg(value_name = "TOPIC", add = completion::topics())]
    pub(crate) topics: Vec<String>,
    /// Print a JSON object per topic
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
    /// Log; `-` is standard input
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Parameters to print, ignoring case; `*` and `?` are wildcards [default: all]
    #[arg(value_name = "NAME", add = completion::parameters())]
    pub(crate) names: Vec<String>,
    /// Output format [default: text on a terminal, else csv]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ParamsFormat>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Print only parameters that differ from their default
    #[arg(long)]
    pub(crate) non_default: bool,
    /// Print the values at the start of the log, not those at its end
    #[arg(long)]
    pub(crate) initial: bool,
    /// Print the changes, with their times
    #[arg(long, conflicts_with = "initial")]
    pub(crate) history: bool,
    /// Put an apostrophe before names that spreadsheets would run as formulas
    #[arg(long, hide_short_help = true)]
    pub(crate) csv_safe: bool,
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ParamsCommand {
    /// Print the parameters that differ between two logs
    #[command(after_help = "\
Examples:
  logtool params diff before.ulg after.ulg
  logtool params diff before.ulg after.ulg 'MPC_*' --format csv")]
    Diff {
        /// First log
        a: PathBuf,
        /// Second log
        b: PathBuf,
        /// Parameters to compare, ignoring case; `*` and `?` are wildcards [default: all]
        #[arg(value_name = "NAME", add = completion::parameters())]
        names: Vec<String>,
        /// Compare the values at the start of the logs, not those at their end
        #[arg(long)]
        initial: bool,
        /// Output format: text, csv (name,a,b) or json [default: text]
        #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
        format: Option<DiffFormat>,
        /// Put an apostrophe before names that spreadsheets would run as formulas
        #[arg(long, hide_short_help = true)]
        csv_safe: bool,
        /// Same as --format json: one object {"NAME": {"a": …, "b": …}}
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
}

/// The format of printed parameters.
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

/// The format of printed differences between parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Text for people
    Text,
    /// Comma-separated values, with a header
    Csv,
    /// One JSON object
    Json,
}

/// Print the completion script of a shell
///
/// The script asks logtool for the completions, so that it also completes the topics of the
/// log in the command line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(logtool completions bash)     # in ~/.bashrc
  source <(logtool completions zsh)      # in ~/.zshrc, after compinit
  logtool completions fish | source      # in ~/.config/fish/config.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print a manual page, or write all of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool man convert | man -l -
  logtool man -o ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Command whose page is printed [default: logtool itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    #[arg(add = completion::commands())]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands into this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace existing pages
    #[arg(short, long, requires = "out")]
    pub(crate) force: bool,
}

/// List supported formats and conversions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool formats
  logtool formats --json | jq '.writes[].formats'")]
pub(crate) struct FormatsArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explain a command, or a topic such as outputs or clocks
///
/// The topics are outputs, clocks, lidars, expressions and config.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool help convert
  logtool help outputs")]
pub(crate) struct HelpArgs {
    /// Commands, or one of: outputs, clocks, lidars, expressions, config [default: all of
    /// logtool]
    #[arg(value_name = "COMMAND|TOPIC", add = completion::help_topics())]
    pub(crate) words: Vec<String>,
}
