//! The options of lidars.

use std::sync::Arc;

use logtool::{
    Result,
    lidar::{self, calibration},
    time::clock::TimeChoice,
};
use logtool_core::{Manifest, TopicSet};
use logtool_velodyne::{
    lidar::{ClockChoice, LidarOptions},
    points::Axes,
};

use crate::args::{AxesChoice, LidarArgs, LidarClockChoice};

/// Returns the options that `args` state, for times on the clock `time`.
pub(crate) fn options(args: &LidarArgs, time: TimeChoice) -> Result<LidarOptions> {
    let mut options = LidarOptions::default();
    options.utc = time == TimeChoice::Utc;
    options.model = args.model;
    if let Some(path) = &args.calibration {
        options.calibration = Some(Arc::new(calibration(path)?));
    }
    options.points.formula = args.formula.unwrap_or_default();
    options.points.axes = match args.axes {
        Some(AxesChoice::Manual) => Axes::Manual,
        Some(AxesChoice::Ros) | None => Axes::Ros,
    };
    options.points.scan_start = args.cut.unwrap_or(0);
    options.keep_scan_start = args.cut.is_some();
    options.clock = match args.lidar_clock {
        None => ClockChoice::Auto,
        Some(LidarClockChoice::Log) => ClockChoice::Log,
        Some(LidarClockChoice::Lidar) => ClockChoice::Lidar,
    };
    Ok(options)
}

/// Refuses a calibration of the user that does not match one of the lidars whose points are among
/// `topics`, though it matches others.
pub(crate) fn check_each(
    args: &LidarArgs,
    manifest: &Manifest,
    topics: &TopicSet,
) -> Result<()> {
    match &args.calibration {
        Some(_) => lidar::check_selected(manifest, topics),
        None => Ok(()),
    }
}
