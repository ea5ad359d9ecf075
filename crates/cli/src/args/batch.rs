//! The arguments of `batch` and `index`.

use std::{path::PathBuf, str::FromStr};

use clap::{Arg, Args, Command, ValueEnum};
use logtool::dataset::CatalogFormat;

use crate::args::{ConvertArgs, LidarArgs};

const INPUTS: &str = "Logs, folders, patterns, or lists of these (@FILE, `-`)";
const FORMAT: &str = "Output format [default: parquet]";
const FORCE: &str = "Convert again what is converted already";
const FORMATS: &str = "Output format: csv, jsonl, parquet, arrow, npz, mat, images, pcd, ply, \
    las, laz, kitti, png, mcap, bag, pcap, vel, ulog, kml, gpx or geojson [default: parquet]";
const OUT: &str = "Folder of the dataset, or its URL in an object store";
const EXAMPLES: &str = "\
Examples:
  logtool batch logs -o dataset
  logtool batch 'disk/**/*.ulg' -o dataset --topic 'sensor_*'
  logtool batch @list.txt -o s3://bucket/logs --format mcap --shard 0/4";

/// Adapts the options of `convert` in the command `batch` to datasets.
///
/// Attributes of the arguments would do this at each start of the program.
pub(crate) fn adapt(batch: Command) -> Command {
    batch.mut_args(|arg: Arg| match arg.get_id().as_str() {
        "inputs" => arg.help(INPUTS).long_help(INPUTS),
        "out" => arg.required(true).help(OUT).long_help(OUT),
        "format" => arg.help(FORMAT).long_help(FORMATS),
        "force" => arg.help(FORCE).long_help(FORCE),
        // A dataset has neither merged nor derived tables.
        "merge" | "rate" | "max_age" => arg.hide(true),
        "model" | "formula" | "axes" | "cut" | "lidar_clock" | "encoding" | "reach"
        | "color_by" | "derive" => arg.hide(true),
        _ => arg,
    })
}

/// Convert many logs into one dataset
///
/// INPUT is a log, a folder (with its subfolders), a pattern (`'disk/**/*.bag'`), a list of
/// these in a file (`@list.txt`, one per line, `#` starts a comment), or `-` for a list on
/// standard input, separated by line ends or by zeros (`find -print0`). Logs in folders are
/// recognised by their bytes; hidden files and datasets are skipped. INPUT can be a URL of a
/// log, of a folder of an object store (`s3://bucket/2024/`), or a pattern.
///
/// Each topic becomes a table `OUT/TOPIC/log=NAME/part-0.parquet`, and of ULogs
/// `OUT/TOPIC/log=NAME/instance=N/part-0.parquet`. DuckDB, Polars, Spark and others read all
/// with `OUT/TOPIC/**/*.parquet`; missing columns are null. If a column is a number in one log
/// and text in another, the later log gets a separate table, which the report names.
/// OUT/_catalog.parquet has a row for each log and topic. With --format mcap, bag, pcap or
/// vel, each log becomes a log in OUT.
///
/// OUT/_logtool records the work: the next run converts what is new or has changed, and what a
/// killed run left unfinished. A log that cannot be read does not stop the others. The options
/// of points, images and lidars of `logtool convert` are accepted too.
#[derive(Clone, Debug, Args)]
// Both, because the options of `convert` have a longer text for `--help`.
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    pub(crate) convert: ConvertArgs,
    /// Memory to use, such as 8G or 500M
    ///
    /// Memory to use, such as 8G or 500M [default: a quarter of the machine's]. It limits how
    /// many logs are read at a time. It is raised to what the longest log needs
    #[arg(long, value_name = "SIZE", help_heading = "Batch")]
    pub(crate) memory: Option<Size>,
    /// Do part I (from 0) of N, or auto/N
    ///
    /// Do part I (from 0) of N, with the same INPUT for all parts. auto/N takes the part from
    /// the variables of the job [default: the array job of Slurm or AWS Batch]
    #[arg(long, value_name = "I/N", help_heading = "Batch")]
    pub(crate) shard: Option<ShardChoice>,
    /// Assign the topics of all logs to tables, and convert nothing
    ///
    /// Assign the topics of all logs to tables, and convert nothing. Logs with different types
    /// of a topic need several tables; after this, parts that run in any order give the same
    /// tables as one run
    #[arg(long, conflicts_with_all = ["shard", "json"], help_heading = "Batch")]
    #[arg(hide_short_help = true)]
    pub(crate) assign_tables: bool,
    /// Also write the catalog as JSON Lines
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Batch")]
    #[arg(hide_short_help = true)]
    pub(crate) catalog: Option<AdditionalCatalog>,
    /// Add the analysis of flights to the catalog
    ///
    /// Add the statistics and diagnoses of `logtool flight` to the catalog, for ULogs
    #[arg(long, help_heading = "Batch")]
    pub(crate) analysis: bool,
    /// Print events as JSON, one object per line
    #[arg(long, help_heading = "Batch")]
    pub(crate) json: bool,
}

/// Write a catalog of many logs, without converting them
///
/// INPUT is as for `logtool batch`. The catalog has a row for each log and topic. If
/// it exists and is a Parquet file, only logs that are new or have changed are opened. Logs
/// that no longer exist are removed from it, unless they cannot be read now or an input cannot
/// be found: then their rows stay, and the exit status is 1. CSV and JSON Lines are always
/// written completely.
///
/// Logs are opened as by `logtool info`. Values that this does not find are null: for bags and
/// MCAP files with an index, losses, and the bytes, times and rates of topics.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  logtool index logs -o _catalog.parquet
  logtool index flights -o flights.parquet --analysis
  logtool index 'disk/**/*.bag' -o bags.jsonl")]
pub(crate) struct IndexArgs {
    /// Logs, folders, patterns, or lists of these (@FILE, `-`)
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Catalog to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Format of OUT: parquet, csv or jsonl [default: by extension]
    #[arg(long = "format", value_enum, value_name = "FORMAT")]
    #[arg(hide_possible_values = true)]
    pub(crate) file_format: Option<CatalogFormat>,
    /// Add the statistics and diagnoses of the flights in ULogs
    ///
    /// Add the statistics and diagnoses of `logtool flight` for ULogs, whose topics are then read
    #[arg(long)]
    pub(crate) analysis: bool,
    /// Open all logs again, and replace a file that is not a catalog
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// An additional format of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdditionalCatalog {
    /// A JSON object on each line
    Jsonl,
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a size is like 500M or 8G, of 2^20 and 2^30 bytes";
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "M" | "MB" | "MIB" => 1 << 20,
            "G" | "GB" | "GIB" => 1 << 30,
            "T" | "TB" | "TIB" => 1 << 40,
            _ => return Err(WRONG),
        };
        let bytes = digits.parse::<f64>().map_err(|_| WRONG)? * unit as f64;
        if !(f64::from(1_u32 << 20)..1e18).contains(&bytes) {
            return Err(WRONG);
        }
        Ok(Self(bytes as u64))
    }
}

/// The part of the work to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardChoice {
    /// The part with this index, of this number of parts.
    One(u32, u32),
    /// The part that the variables of the job name, of this number of parts.
    Auto(u32),
}

impl FromStr for ShardChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a shard is like 0/4, 1/4, 2/4 or 3/4, or auto/4";
        let (index, count) = text.split_once('/').ok_or(WRONG)?;
        let count: u32 = count.parse().map_err(|_| WRONG)?;
        if index == "auto" && count > 0 {
            return Ok(Self::Auto(count));
        }
        let index: u32 = index.parse().map_err(|_| WRONG)?;
        if index < count { Ok(Self::One(index, count)) } else { Err(WRONG) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_units_and_shards_start_at_zero() {
        assert_eq!("8G".parse(), Ok(Size(8 << 30)));
        assert_eq!("1.5GiB".parse(), Ok(Size(3 << 29)));
        assert_eq!("500m".parse(), Ok(Size(500 << 20)));
        assert!("500".parse::<Size>().is_err() && "0M".parse::<Size>().is_err());
        assert_eq!("3/4".parse(), Ok(ShardChoice::One(3, 4)));
        assert_eq!("auto/4".parse(), Ok(ShardChoice::Auto(4)));
        assert!("4/4".parse::<ShardChoice>().is_err());
        assert!("auto/0".parse::<ShardChoice>().is_err());
    }
}
