//! What can be typed after `plot` and `report`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{LidarArgs, TimeArgs, TimeChoice};

/// Draw fields over time, as SVG or PNG
///
/// Fields of different units have plots of their own, above each other; those of which
/// the unit is not known are in one. Of each column of pixels the lowest and the highest
/// value are drawn, so that nothing that is in the log is missing in the picture. Where
/// values are missing in the log, so they are in the lines; states hold until the next, and
/// to the end. Values of which the time is far from all of the log, or over an hour from nine of
/// ten, are left out, and counted, where --start and --end do not ask for them.
/// Of a ninth line on, lines are dashed; 32 look different from each other. Behind the lines
/// of a log of PX4 are its flight modes, in the colours of ulog2kml. Texts of a PNG are in DejaVu
/// Sans, and what that has no signs for in a font of the system, if one has.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool plot flight.ulg battery_status.voltage_v battery_status.1.voltage_v -o battery.svg
  logtool plot flight.ulg vehicle_attitude.q sensor_combined.gyro_rad -o one.png --start 1m --end 2m
  logtool plot drive.bag /imu/data.angular_velocity -o imu.svg --clock utc
  logtool plot drive.bag '/gps/*.altitude' /scan.ranges[0] -o gps.png --size 600x400")]
pub(crate) struct PlotArgs {
    /// The log; `-` is standard input
    pub(crate) file: PathBuf,
    // The help shows brackets as they are; in the docs they would be links.
    #[allow(rustdoc::broken_intra_doc_links)]
    /// What to draw: a topic and a field of it, as `logtool schema` names them; `x` is
    /// also `x[0]` and `x.y`, of a list each element; `*` and `?` are wild
    #[arg(required = true, value_name = "TOPIC.FIELD")]
    pub(crate) fields: Vec<String>,
    /// The picture, .svg or .png
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    /// The clock of the time axis
    #[arg(long, value_enum, default_value = "relative", value_name = "CLOCK")]
    pub(crate) clock: TimeChoice,
    /// Pixels to the right and downwards [default: 1000 wide, and as high as the plots
    /// need]
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub(crate) size: Option<(u32, u32)>,
    /// How many dots a pixel of a PNG is wide
    #[arg(long, value_name = "N", default_value = "2")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) scale: u8,
    /// No flight modes behind the lines
    #[arg(long)]
    pub(crate) no_modes: bool,
    /// Replace a file that is there already
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Show what a log holds on one page, as HTML
///
/// The page has all in it and loads nothing: a summary with what is damaged, the topics with
/// their rates and gaps, tracks, a scan of each lidar from above, the first image of each
/// topic of them, messages and events. Of a log of PX4 there are plots that can be zoomed
/// (drag; a double click shows all), flight modes behind them, and the parameters that are
/// not at their default. Of a bag, an MCAP file and a log of lidars there are plots of what
/// sensors, odometry, joints and batteries say, of at most 40. What can be seen in the plots
/// is all that is in the log: of each of 450 stretches of time the lowest and the highest
/// value. Of tracks, those of the first eight topics that have some, places are left out that
/// are so near to the line that nobody sees them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool report flight.ulg -o flight.html
  logtool report drive.bag -o drive.html --clock utc
  logtool report drive.bag -o start.html --end 1m30s
  logtool report drive.vel -o drive.html --calibration db.xml")]
pub(crate) struct ReportArgs {
    /// The log; `-` is standard input
    pub(crate) file: PathBuf,
    /// The page, .html
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    /// The clock of the plots
    #[arg(long, value_enum, default_value = "relative", value_name = "CLOCK")]
    pub(crate) clock: TimeChoice,
    /// Replace a file that is there already
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// A size in pixels.
fn size(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once(['x', 'X', '×']);
    let number = |text: &str| text.trim().parse().ok();
    let size = numbers.and_then(|(width, height)| number(width).zip(number(height)));
    let fits = |n: &u32| (100..=20_000).contains(n);
    let size = size.filter(|(width, height)| fits(width) && fits(height));
    size.ok_or_else(|| "a size is like 900x400, each from 100 to 20000".to_owned())
}
