//! What can be typed of points, and of the lidars that they are from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use logtool::convert::PointEncoding;
use logtool_velodyne::{model::Model, points::Formula};

/// How points are written.
#[derive(Clone, Debug, Args)]
pub(crate) struct PointArgs {
    /// What a file of points holds [default: scan for pcd, ply and kitti, log for las
    /// and laz]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Points")]
    pub(crate) per: Option<PerChoice>,
    /// How points follow in PCD and PLY files [default: binary]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Points")]
    pub(crate) encoding: Option<PointEncoding>,
}

/// How scans are drawn.
#[derive(Clone, Debug, Args)]
pub(crate) struct PictureArgs {
    /// PNG: what the colours of points show [default: height]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Points")]
    pub(crate) color_by: Option<ColorChoice>,
    /// PNG: how far to the sides a picture reaches [default: as far as nearly all points]
    #[arg(long, value_name = "METRES", help_heading = "Points")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) reach: Option<u32>,
}

/// What the colours of points show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// How far away they are
    Range,
    /// How high they are
    Height,
    /// How bright they are
    Intensity,
}

/// What a file of points holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PerChoice {
    /// The points of one scan of a lidar, or of one message of a bag
    Scan,
    /// All points of a topic
    Log,
}

/// What is known of a lidar of Velodyne, and how points are made of its packets.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LidarArgs {
    /// The calibration of the lidar: a db.xml, or a YAML file of ROS or velodyne_decoder
    /// [default: what the lidar itself sends, else that of its model]. Of several lidars,
    /// --topic points.0 names the first
    #[arg(long, value_name = "FILE", help_heading = "Velodyne lidars")]
    pub(crate) calibration: Option<PathBuf>,
    /// The model of the lidar, as hdl-64e-s2 or vlp-16 [default: what the packets tell]
    #[arg(long, value_name = "NAME", help_heading = "Velodyne lidars")]
    pub(crate) model: Option<Model>,
    /// How points are computed: manual, manual+two-point, ros, velodyne_decoder or
    /// veloview [default: manual]
    #[arg(long, value_name = "NAME", help_heading = "Velodyne lidars")]
    pub(crate) formula: Option<Formula>,
    /// How the axes of the sensor lie [default: ros]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Velodyne lidars")]
    pub(crate) axes: Option<AxesChoice>,
    /// The azimuth at which scans begin, clockwise from ahead [default: 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Velodyne lidars")]
    #[arg(value_parser = azimuth, allow_hyphen_values = true)]
    pub(crate) cut: Option<u16>,
    /// With --clock utc, and in new logs: which clock points have their times from, where that of
    /// the lidar and that of the log contradict each other [default: the lidar's, unless GPS
    /// messages in the log say otherwise]
    #[arg(long, value_enum, value_name = "WHOSE", help_heading = "Velodyne lidars")]
    pub(crate) lidar_clock: Option<LidarClockChoice>,
}

/// Whose clock is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LidarClockChoice {
    /// That of who recorded the log
    Log,
    /// That of the lidar, of the hour that is nearest
    Lidar,
}

/// How the axes of a lidar lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AxesChoice {
    /// x ahead, y to the left, z up
    Ros,
    /// x to the right, y ahead, z up
    Manual,
}

/// Hundredths of a degree.
fn azimuth(text: &str) -> Result<u16, String> {
    let degrees: f64 = text.parse().map_err(|_| "a number of degrees".to_owned())?;
    if !(0.0..360.0).contains(&degrees) {
        return Err("an azimuth is from 0 up to, but not, 360 degrees".into());
    }
    Ok((degrees * 100.0).round() as u16 % 36_000)
}

/// Write how a lidar is calibrated, from what it sends or from another file
///
/// An HDL-64E S2 or S3 sends its calibration with its packets, over and over: FILE is a
/// .vel log, a capture or a bag of them. FILE may also be a calibration, db.xml or YAML,
/// that is to be written as the other. What the calibration is from is told, and which
/// lasers are not complete; of an HDL-64E of which some are not, nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool calibration drive.vel -o db.xml
  logtool calibration db.xml -o lidar.yaml")]
pub(crate) struct CalibrationArgs {
    /// The log, or the calibration
    pub(crate) file: PathBuf,
    /// The file to write: .xml, or .yaml
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The topic of points or packets, where there are several lidars
    #[arg(short, long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// The model of the lidar [default: what the packets tell]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<Model>,
    /// Replace a file that is there already
    #[arg(short, long)]
    pub(crate) force: bool,
}
