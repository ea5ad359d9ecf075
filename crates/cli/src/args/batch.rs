//! What can be typed after `batch` and `index`.

use std::{path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};

use crate::args::{ConvertArgs, LidarArgs};

const FORMAT_HELP: &str = "The format to write [default: parquet]";

/// Make one data set of many logs, whatever their formats
///
/// INPUT is a log, a folder (with all folders in it), a pattern (`'disk/**/*.bag'`), a list
/// of these in a file (`@list.txt`, a line each; one that begins with `#` is a comment), or `-`
/// for such a list on standard input.
/// What a file in a folder is, is seen from its bytes; what is no log is left out, and so
/// are what begins with a dot and data sets of logtool. INPUT may be a URL too: of a log, of a folder of an object store
/// (`s3://bucket/2024/`: what is called as logs are), or a pattern (`'s3://bucket/**/*.bag'`).
/// OUT is a folder of this machine, or of an object store (`s3://bucket/dataset`).
///
/// Each topic becomes a table `OUT/<topic>/log=<name>/part-0.parquet`, a partition for each log;
/// topics of ULogs `OUT/<topic>/log=<name>/instance=<n>/part-0.parquet`. DuckDB, Polars, Spark
/// and others read all files by the pattern `OUT/<topic>/**/*.parquet`, with the log and the
/// instance as more columns. A column that a log does not have is null there, and numbers,
/// lists and structs of several types are widened by DuckDB and Polars. Where one log has
/// a number and another a text, the later one's topic gets a separate table, which the
/// report names. OUT/_catalog.parquet has a row for each log and topic. With
/// --format mcap, bag, pcap or vel each log becomes a log in OUT, with --format mat one file of arrays; with
/// --layout px4 its files are in a folder of its own, `OUT/log=<name>`.
///
/// What is done is noted in OUT/_logtool: another run converts what is new or has changed
/// since, or was under way when the last one was killed. A log that cannot be read does
/// not stop the others; the end tells of it.
///
/// With --shard 3/8, this run takes the fourth of eight parts of the work, about the same
/// number of bytes each, and writes its own catalog; all of them must be given the same INPUT.
/// Run it in an array of Slurm or AWS Batch, or with --shard auto/8 in an indexed job of
/// Kubernetes, and each takes its part by itself.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  logtool batch logs -o dataset
  logtool batch 'disk/**/*.ulg' 'disk/**/*.bag' -o dataset --topic 'sensor_*' --topic /imu/data
  find . -newer yesterday | logtool batch - -o dataset --memory 8G
  logtool batch logs -o s3://bucket/dataset
  logtool batch @list.txt -o mcaps --format mcap --shard 0/4")]
#[command(mut_arg("inputs", |arg| arg
    .help("Logs, folders of logs, patterns, @lists of these; `-` is a list on standard input")
    .long_help("Logs, folders of logs, patterns, @lists of these; `-` is a list on standard \
                input, a line each (or, as find -print0 has them, with zeros between)")))]
#[command(mut_arg("out", |arg| arg.required(true).help("The folder of the data set")
    .long_help("The folder of the data set: a new one, or one that batch has made; it may be \
                a URL of an object store")))]
#[command(mut_arg("format", |arg| arg.help(FORMAT_HELP).long_help(FORMAT_HELP)))]
#[command(mut_arg("force", |arg| arg
    .help("Convert again what is done already").long_help("Convert again what is done already")))]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    pub(crate) convert: ConvertArgs,
    /// About how much memory to use, as 8G or 500M [default: a quarter of what the machine
    /// has]. Fewer logs are read at once where it is short; one long log may take 248M, and
    /// what is less than the longest takes alone is raised to that
    #[arg(long, value_name = "SIZE", help_heading = "Batch")]
    pub(crate) memory: Option<Size>,
    /// Take part I (counted from 0) of N of the work; `auto/N`: of which the job's variables
    /// say which it is [default: what the variables of Slurm and AWS Batch say]
    #[arg(long, value_name = "I/N", help_heading = "Batch")]
    pub(crate) shard: Option<ShardChoice>,
    /// Write the catalog also as JSON Lines
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Batch")]
    pub(crate) catalog: Option<CatalogFormat>,
    /// Tell what happens as JSON, an object on each line of standard output
    #[arg(long, help_heading = "Batch")]
    pub(crate) json: bool,
}

/// Write a catalog of many logs: what each holds, without converting it
///
/// INPUT is as of `logtool batch`. The catalog is a Parquet file, or JSON
/// Lines if its name ends in .jsonl, with a row for each log and topic. If it is there
/// already, only logs that are new or have changed are looked into, and those that are no
/// longer there are left out, unless they cannot be read now, or the folder or file that was
/// named cannot be found: what is known of that stays, and the exit status is 1. JSON Lines
/// are always made anew, and stay as they are where an input cannot be found.
///
/// Logs are looked into as `logtool info` does it. What that does not tell is null: of bags and
/// MCAP files with an index, whether something is lost, and bytes, times and rates of topics.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  logtool index logs -o _catalog.parquet
  logtool index 'disk/**/*.bag' -o bags.jsonl")]
pub(crate) struct IndexArgs {
    /// Logs, folders of logs, patterns, @lists of these; `-` is a list on standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The catalog to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Look into all logs again; replace a file that is no catalog
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Tell what happens as JSON, an object on each line of standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// How a catalog is written beside Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatalogFormat {
    /// A JSON object on each line
    Jsonl,
}

/// So many bytes.
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

/// Which part of the work was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardChoice {
    /// This one, of so many.
    One(u32, u32),
    /// That of which the variables of the job say which it is, of so many.
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
    fn sizes_have_units_and_shards_are_counted_from_zero() {
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
