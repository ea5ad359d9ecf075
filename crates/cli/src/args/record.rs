//! The arguments of `record`.

use std::{num::NonZeroU64, path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueHint};
use logtool::time::typed_time;

/// Record the log that a vehicle streams
///
/// The file is a valid ULog at each moment, and grows under its final name: it is kept if the
/// program is killed, and `logtool cat --follow` shows it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool record mavlink udp:14550 -o flight.ulg
  logtool record mavlink serial:/dev/ttyACM0:921600 -o flight.ulg --duration 10m
  logtool record mavlink flight.tlog -o flight.ulg")]
pub(crate) struct RecordingArgs {
    #[command(subcommand)]
    pub(crate) command: RecordingCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecordingCommand {
    Mavlink(MavlinkArgs),
}

/// Record the ULog that PX4 streams over MAVLink, or from a .tlog file
///
/// Starts the log stream of the vehicle, and stops it at Ctrl-C. Lost data is recorded as
/// dropouts, whose durations are the differences of the times around them in the log. The exit
/// status is 3 if data was lost. A vehicle streams its log to one program at a time.
///
/// A telemetry log (.tlog) has the stream if it was recorded while a ground station received it.
/// It may have several logs.
#[derive(Debug, Args)]
#[command(after_help = "\
Addresses: udp:14550 or udp:HOST:PORT receives there, udpout:HOST:PORT sends
  first, tcp:HOST:PORT connects, serial:/dev/ttyACM0:921600 opens a port
Examples:
  logtool record mavlink udp:14550 -o flight.ulg
  logtool record mavlink flight.tlog -o flight.ulg")]
pub(crate) struct MavlinkArgs {
    /// Address of the vehicle, or telemetry log (.tlog); `-` is standard input
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    pub(crate) source: String,
    /// ULog to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Stop after this time, such as 30s or 10m
    ///
    /// Stop after this time, such as 30s or 10m, from the first data on [default: at Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Time to wait for data [default: 30s]
    ///
    /// Time to wait for the vehicle and for its data. The recording ends if there is no data for
    /// this time [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// System id of the vehicle [default: the first heard]
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..))]
    #[arg(hide_possible_values = true)]
    pub(crate) system: Option<u8>,
    /// Log in a telemetry log, from 1 on [default: the first]
    #[arg(long, value_name = "N")]
    pub(crate) log: Option<NonZeroU64>,
    /// First stop a log stream that the vehicle sends already
    ///
    /// First stop a log stream that the vehicle sends already, for example because a recording
    /// was killed. Another program that receives it will miss the rest
    #[arg(long)]
    pub(crate) restart: bool,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Parses a duration that is not 0.
fn duration(text: &str) -> Result<Duration, String> {
    let nanos = typed_time::duration(text).map_err(|err| err.to_string())?;
    match u64::try_from(nanos) {
        Ok(nanos) if nanos > 0 => Ok(Duration::from_nanos(nanos)),
        _ => Err("the time must be positive".to_owned()),
    }
}
