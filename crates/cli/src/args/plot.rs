//! The arguments of `plot` and `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use logtool::plot::AxisLimits;

use crate::args::{LidarArgs, TimeArgs, TimeChoice, completion};

/// Draw fields and expressions over time, as SVG, PNG or PDF
///
/// An expression computes a line from fields, as 'deg(yaw(vehicle_attitude.q))'; `logtool help
/// expressions` lists the functions. A text that names fields, also with `*` and `?`, is not
/// an expression.
///
/// Different units have separate plots, and unknown units share one; --panel chooses the lines of
/// a plot, and --xy draws values against others, as tracks. Each
/// column of pixels shows the lowest and the highest value, so that no outlier is hidden.
/// Lines have gaps where values are missing; states last until the next one, and until the
/// end. Values at times far from all others, or over an hour from nine of ten, are left out
/// and counted, unless --start or --end selects them. From the ninth line on, lines are
/// dashed; 32 lines look different. Logs of PX4 have their flight modes in the background. Damage,
/// dropouts and changes of parameters are marked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool plot flight.ulg battery_status.voltage_v -o battery.svg
  logtool plot flight.ulg 'deg(yaw(vehicle_attitude.q))' -o yaw.png --start 1m
  logtool plot drive.bag --xy '/gps.longitude; /gps.latitude' -o track.pdf
More: `logtool help expressions`")]
pub(crate) struct PlotArgs {
    /// Log; `-` is standard input
    pub(crate) file: PathBuf,
    // The help shows brackets; rustdoc would take them for links.
    #[allow(rustdoc::broken_intra_doc_links)]
    /// Fields to draw, as `logtool schema` names them, or expressions
    ///
    /// Fields to draw, as `logtool schema` names them, or expressions. A field `x` also selects
    /// `x[0]`, `x.y` and each element of a list; `*` and `?` are wildcards
    #[arg(required_unless_present_any = ["panels", "xy"])]
    #[arg(value_name = "TOPIC.FIELD|EXPRESSION", add = completion::fields())]
    pub(crate) fields: Vec<String>,
    /// Image to write [default: named like FILE]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Format of OUT: svg, png or pdf
    ///
    /// Format of OUT: svg, png or pdf [default: by its extension, or svg]
    #[arg(long = "format", value_enum, value_name = "FORMAT")]
    #[arg(hide_possible_values = true)]
    pub(crate) file_format: Option<ImageFormat>,
    /// Plot of its own: fields separated by `;`
    ///
    /// Plot of its own: fields or expressions, separated by `;`. A second unit has an axis on the
    /// right
    #[arg(long = "panel", value_name = "FIELDS", allow_hyphen_values = true)]
    pub(crate) panels: Vec<String>,
    /// Plot of values against others: `X; Y`
    ///
    /// Plot of values against others: `X; Y` or `X; Y1; Y2`, fields or expressions. Axes with the
    /// same unit have the same scale
    #[arg(long, value_name = "X;Y", allow_hyphen_values = true)]
    pub(crate) xy: Vec<String>,
    /// Title above the plots
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Limits of a value axis: 0:20, :5 or -1:
    ///
    /// Limits of a value axis: 0:20, :5 or -1:, in the order of the axes: of each plot from the
    /// top, left and then right, or x and then y. `:` leaves an axis as it is
    #[arg(long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    pub(crate) limits: Vec<AxisLimits>,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    /// Clock of the axis: boot, utc or relative
    ///
    /// Clock of the time axis: boot, utc or relative
    #[arg(long, value_enum, default_value = "relative", value_name = "CLOCK")]
    #[arg(hide_possible_values = true)]
    pub(crate) clock: TimeChoice,
    /// Width and height in pixels
    ///
    /// Width and height in pixels [default: 1000, and the height of the plots]
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub(crate) size: Option<(u32, u32)>,
    /// Resolution of PNG: dots per pixel
    #[arg(long, value_name = "N", default_value = "2", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) scale: u8,
    /// Do not draw flight modes in the background
    ///
    /// Do not draw flight modes and the states of VTOL vehicles in the background
    #[arg(long)]
    pub(crate) no_modes: bool,
    /// Do not mark damage, dropouts and parameter changes
    #[arg(long)]
    pub(crate) no_marks: bool,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Show a log on one HTML page
///
/// The page loads nothing from the network. It has a summary with the damage, the topics with
/// their rates and gaps, tracks, a scan of each lidar from above, the first image of each
/// topic, messages and events. For PX4 it starts with diagnoses and statistics of the flight. It
/// has the plots of Flight Review, which can be zoomed (drag; a double click resets), with flight
/// modes, changes of parameters, dropouts and damage; spectra and step responses; and the
/// parameters that differ from their default. For bags, MCAP files and lidars it has at most 40
/// plots of sensors, odometry, joints and batteries. Plots show the lowest and the highest value
/// of each of 450 intervals. Tracks of the first eight topics are simplified where the difference
/// is invisible.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool report flight.ulg -o flight.html
  logtool report drive.bag -o start.html --end 1m30s --clock utc
  logtool report drive.vel -o drive.html --calibration db.xml")]
pub(crate) struct ReportArgs {
    /// Log; `-` is standard input
    pub(crate) file: PathBuf,
    /// Page to write [default: named like FILE]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Format of OUT: html
    #[arg(long = "format", value_enum, value_name = "FORMAT")]
    #[arg(hide_possible_values = true)]
    pub(crate) file_format: Option<PageFormat>,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    /// Clock of the plots: boot, utc or relative
    #[arg(long, value_enum, default_value = "relative", value_name = "CLOCK")]
    #[arg(hide_possible_values = true)]
    pub(crate) clock: TimeChoice,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) lidar: LidarArgs,
}

/// Analyse the flight in a ULog: statistics and diagnoses
///
/// Prints what may have gone wrong, with the values and limits that show it: GPS interference
/// and loss, failures of motors and ESCs, batteries and the power rail, EKF failures and resets,
/// RC and data link loss, vibration, clipping, compass interference, CPU and RAM load, logging
/// dropouts, failsafes and hard faults. Then come times, distance, speeds, current, energy and
/// vibration, by the definitions of Flight Review. Values that are not in the log are omitted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool flight flight.ulg
  logtool flight flight.ulg --json | jq '.diagnoses[].kind'
  logtool flight flight.ulg --signals --json > signals.json")]
pub(crate) struct FlightArgs {
    /// ULog; `-` is standard input
    pub(crate) file: PathBuf,
    /// Add spectra and step responses
    ///
    /// Add spectra, spectrograms (only with --json), the filters of the gyroscope, and the step
    /// responses of the rate and attitude controllers, by Wiener deconvolution
    #[arg(long)]
    pub(crate) signals: bool,
    /// Clock of shown times: boot, utc or relative
    #[arg(long, value_enum, default_value = "relative", value_name = "CLOCK")]
    #[arg(hide_possible_values = true)]
    pub(crate) clock: TimeChoice,
    /// Print one JSON object; its times are in nanoseconds on the clock of the log
    #[arg(long)]
    pub(crate) json: bool,
}

/// The format of an image of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageFormat {
    /// Scalable vector graphics
    Svg,
    /// Pixels
    Png,
    /// A page for print
    Pdf,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// A page for browsers
    #[value(alias = "htm")]
    Html,
}

/// Parses a size in pixels.
fn size(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once(['x', 'X', '×']);
    let number = |text: &str| text.trim().parse().ok();
    let size = numbers.and_then(|(width, height)| number(width).zip(number(height)));
    let fits = |n: &u32| (100..=20_000).contains(n);
    let size = size.filter(|(width, height)| fits(width) && fits(height));
    size.ok_or_else(|| "a size is like 900x400, each from 100 to 20000".to_owned())
}
