//! The arguments of the commands for logs of PX4 alone.

use std::path::PathBuf;

use clap::Args;
use logtool::{geotag::MatchMethod, time::typed_time};

/// Write the positions of a flight into its photos
///
/// Matches JPEG files to the shots in a ULog (the topics camera_capture, else camera_trigger),
/// and writes copies with the position, the time and the direction of the image as GPS tags in
/// their Exif data. All other bytes stay as they are. OUT also gets photos.csv, with all
/// matches, and photos.kml, with a placemark of each photo.
///
/// Equal numbers of photos and shots are paired one by one, and the times of the photos must
/// agree. Otherwise the offset of the camera's clock is searched. If the numbers or the times
/// cannot be explained, it fails with the counts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool geotag photos/ -o tagged/ --log flight.ulg
  logtool geotag photos/ -o tagged/ --log flight.ulg --offset -7200.5 --partial
  logtool geotag *.JPG -o tagged/ --log flight.ulg --match sequence")]
pub(crate) struct GeotagArgs {
    /// JPEG files, and folders with such files
    #[arg(required = true, value_name = "PHOTO")]
    pub(crate) photos: Vec<PathBuf>,
    /// Folder for the tagged copies
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// ULog of the flight; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) log: PathBuf,
    /// How photos and shots are matched: auto, sequence or time
    #[arg(long = "match", value_enum, value_name = "HOW", default_value = "auto")]
    #[arg(hide_possible_values = true)]
    pub(crate) method: MatchMethod,
    /// Seconds to add to the camera's times to get UTC
    ///
    /// Seconds to add to the camera's times to get UTC, or the time since boot if the log has no
    /// UTC reference. Photos are then matched by time, unless --match sequence is given
    #[arg(long, value_name = "SECONDS", value_parser = typed_time::duration)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) offset: Option<i64>,
    /// Leave out photos without a shot or a position, and those that cannot be read
    #[arg(long)]
    pub(crate) partial: bool,
    /// Replace existing files
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Write the part of a ULog that PX4 needs to replay EKF2
///
/// Copies the topics that EKF2 reads, the parameters and their changes, and the dropouts. Warnings
/// name topics that are missing or were not logged at full rate, and settings with which a
/// replay differs from the flight (PX4 User Guide, "System-wide Replay").
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool replay-log flight.ulg -o replay.ulg
  logtool replay-log flight.ulg -o - | gzip > replay.ulg.gz")]
pub(crate) struct ReplayLogArgs {
    /// ULog; `-` is standard input
    pub(crate) file: PathBuf,
    /// Log to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Write the raw bytes to and from GNSS receivers
///
/// PX4 logs them in the topic gps_dump if GPS_DUMP_COMM is set. Each receiver has two files, with
/// the names of pyulog's ulog_extract_gps_dump: flight_0_from_device.dat and
/// flight_0_to_device.dat.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool gps-dump flight.ulg -o gps
  logtool gps-dump flight.ulg -o gps --instance 1")]
pub(crate) struct GpsDumpArgs {
    /// ULog; `-` is standard input
    pub(crate) file: PathBuf,
    /// Folder for the files
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Receiver: 0 is the first, 1 the second [default: all]
    #[arg(short, long, value_name = "N", hide_possible_values = true)]
    pub(crate) instance: Option<u8>,
    /// Replace existing files
    #[arg(short, long)]
    pub(crate) force: bool,
}
