//! The options of points, and of the lidars that measure them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use logtool::{calibration::CalibrationFormat, convert::PointEncoding};
use logtool_velodyne::{model::Model, points::Formula};

use crate::args::completion;

/// The options of files of points.
#[derive(Clone, Debug, Args)]
pub(crate) struct PointArgs {
    /// One file per scan or log [default: by format]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Points")]
    #[arg(hide_short_help = true, hide_possible_values = true)]
    pub(crate) per: Option<PerChoice>,
    /// Encoding of PCD and PLY files: binary, ascii or compressed [default: binary]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Points")]
    #[arg(hide_short_help = true, hide_possible_values = true)]
    pub(crate) encoding: Option<PointEncoding>,
    /// Greatest intensity in LAS, LAZ and KITTI files
    #[arg(long, value_name = "NUMBER", help_heading = "Points")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(hide_short_help = true)]
    pub(crate) intensity_max: Option<u32>,
}

/// The options of images of scans.
#[derive(Clone, Debug, Args)]
pub(crate) struct PictureArgs {
    /// Colour of points in PNG images: range, height or intensity [default: height]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Points")]
    #[arg(hide_short_help = true, hide_possible_values = true)]
    pub(crate) color_by: Option<ColorChoice>,
    /// Distance from the centre to the sides of PNG images [default: nearly all points]
    #[arg(long, value_name = "METRES", help_heading = "Points")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    #[arg(hide_short_help = true)]
    pub(crate) reach: Option<u32>,
}

/// The meaning of the colours of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// The distance from the sensor
    Range,
    /// The height
    Height,
    /// The intensity
    Intensity,
}

/// The contents of a file of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PerChoice {
    /// The points of one scan of a lidar, or of one message of a bag
    Scan,
    /// All points of a topic
    Log,
}

/// The options of Velodyne lidars, and of the points that are computed from their packets.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LidarArgs {
    /// Calibration of a lidar, .xml or .yaml
    ///
    /// Calibration of a lidar: db.xml, or a YAML file of ROS or velodyne_decoder [default:
    /// sent by the lidar, else that of its model]. If there are several lidars, --topic
    /// points.0 selects the first
    #[arg(long, value_name = "FILE", help_heading = "Lidars")]
    pub(crate) calibration: Option<PathBuf>,
    /// Model of the lidar, such as hdl-64e-s2 or vlp-16 [default: detected]
    #[arg(long, value_name = "NAME", help_heading = "Lidars", hide_short_help = true)]
    #[arg(add = completion::models())]
    pub(crate) model: Option<Model>,
    /// Formula of the points: manual, manual+two-point, ros, velodyne_decoder or veloview
    /// [default: manual]
    #[arg(long, value_name = "NAME", help_heading = "Lidars", hide_short_help = true)]
    #[arg(add = completion::formulas())]
    pub(crate) formula: Option<Formula>,
    /// Axes of the sensor: ros (x ahead) or manual (y ahead) [default: ros]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Lidars")]
    #[arg(hide_short_help = true, hide_possible_values = true)]
    pub(crate) axes: Option<AxesChoice>,
    /// Azimuth at which scans start, clockwise from ahead [default: 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Lidars")]
    #[arg(value_parser = azimuth, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) cut: Option<u16>,
    /// Clock of points where the log and the lidar disagree: log or lidar
    /// [default: lidar, unless GPS messages contradict it]
    #[arg(long, value_enum, value_name = "CLOCK", help_heading = "Lidars")]
    #[arg(hide_short_help = true, hide_possible_values = true)]
    pub(crate) lidar_clock: Option<LidarClockChoice>,
}

/// The clock of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LidarClockChoice {
    /// The clock of the computer that recorded the log
    Log,
    /// The clock of the lidar, in the nearest hour
    Lidar,
}

/// The directions of the axes of a lidar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AxesChoice {
    /// x ahead, y to the left, z up
    Ros,
    /// x to the right, y ahead, z up
    Manual,
}

/// Parses an azimuth in degrees, as hundredths of a degree.
fn azimuth(text: &str) -> Result<u16, String> {
    let degrees: f64 =
        text.parse().map_err(|_| "expected a number of degrees".to_owned())?;
    if !(0.0..360.0).contains(&degrees) {
        return Err("an azimuth is at least 0 and less than 360 degrees".into());
    }
    Ok((degrees * 100.0).round() as u16 % 36_000)
}

/// Write the calibration of a lidar, from packets or another file
///
/// An HDL-64E S2 or S3 sends its calibration with its packets: FILE is a .vel log, a capture,
/// a bag or an MCAP file with them. FILE can also be a calibration, to be written in the
/// other format. The origin of the calibration and incomplete lasers are reported. If lasers
/// of an HDL-64E are incomplete, nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool calibration drive.vel -o db.xml
  logtool calibration db.xml -o lidar.yaml")]
pub(crate) struct CalibrationArgs {
    /// Log, or calibration
    pub(crate) file: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Format of OUT: xml or yaml [default: by its extension]
    #[arg(long = "format", value_enum, value_name = "FORMAT")]
    #[arg(hide_possible_values = true)]
    pub(crate) file_format: Option<CalibrationFormat>,
    /// Topic of points or packets, if there are several lidars
    #[arg(short, long, value_name = "TOPIC", add = completion::topics())]
    pub(crate) topic: Option<String>,
    /// Model of the lidar [default: detected]
    #[arg(long, value_name = "NAME", add = completion::models())]
    pub(crate) model: Option<Model>,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
}
