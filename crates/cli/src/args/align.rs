//! The arguments of `align`.

use std::path::PathBuf;

use clap::Args;

use crate::args::completion;

/// Estimate the clock offset and drift between two logs
///
/// Cross-correlates a signal of log A with a signal of log B. A signal is a topic and a
/// field. The length of a vector, an array or a list is used, such as that of the rates of
/// a gyro, because it does not depend on how the sensor is mounted. The clocks may drift by
/// up to 200 ppm. Both signals are divided into windows, which are aligned one by one. The
/// result is refused if they disagree, or if another offset fits as well. Logs that share
/// less than 100 seconds must agree better. About 20 seconds of lively motion are enough
/// for the offset; the drift is printed only if the logs share more.
///
/// The offset is added to the times of B to get times on the clock of A, as in `logtool
/// merge --align`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool align flight.ulg ros.bag --signal sensor_combined.gyro_rad /imu/data.angular_velocity
  logtool align a.bag b.bag --signal /imu.angular_velocity.z /odom.twist.twist.angular.z --json

Exit status:
  0  aligned
  1  failed, or refused: the signals do not fit
  2  wrong usage
  3  aligned, but some of the input was lost")]
pub(crate) struct AlignArgs {
    /// Log with the reference clock
    pub(crate) a: PathBuf,
    /// Log whose clock is estimated
    pub(crate) b: PathBuf,
    /// Signals that both logs measured: a topic and a field of A, and of B
    #[arg(long, required = true, num_args = 2, value_names = ["OF_A", "OF_B"])]
    #[arg(add = completion::fields())]
    pub(crate) signal: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
