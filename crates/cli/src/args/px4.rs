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
/// cannot be explained, it fails and says what it counted.
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
    /// Seconds to add to the camera's times to get UTC, or the time since boot if the log does
    /// not know UTC. Photos are then matched by time, unless --match sequence is given
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
