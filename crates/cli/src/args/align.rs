//! What can be typed after `align`.

use std::path::PathBuf;

use clap::Args;

/// Find how far the clocks of two logs are apart, from what both measured
///
/// Cross-correlates a signal of each: the first of log A, the second of log B. A signal is
/// a topic and a field; of a vector, an array or a list, as the rates of a gyro, its length is
/// taken, which is the same however the sensor is mounted. Nothing has to be known of the
/// clocks, but that they run apart by no more than 200 millionths. Both signals are cut into
/// windows, each of which is aligned by itself; where these do not agree, or another offset
/// fits as well, the result is refused. Of logs that share less than 100 seconds, more is asked:
/// they have to be more alike, and no other offset may fit nearly as well. Some 20 seconds of lively
/// motion are enough for the offset; how fast a clock runs off takes more, and is not told then.
///
/// The offset is what to add to the times of B to be on the clock of A; `logtool merge`
/// takes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  logtool align flight.ulg ros.bag --signal sensor_combined.gyro_rad /imu/data.angular_velocity
  logtool align a.bag b.bag --signal /imu/data.angular_velocity.z /odom.twist.twist.angular.z --json

Exit status:
  0  aligned
  1  failed, or refused: the signals do not fit
  2  misused
  3  aligned, and some of the input was lost")]
pub(crate) struct AlignArgs {
    /// The log whose clock is kept
    pub(crate) a: PathBuf,
    /// The log whose clock is to be found
    pub(crate) b: PathBuf,
    /// What both measured: a topic and a field of A, and of B
    #[arg(long, required = true, num_args = 2, value_names = ["A_SIGNAL", "B_SIGNAL"])]
    pub(crate) signal: Vec<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
