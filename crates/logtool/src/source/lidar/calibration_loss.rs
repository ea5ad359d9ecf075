//! Warns if a new log no longer contains the complete calibration that a lidar sends.

use std::path::Path;

use logtool_core::{Manifest, Topic};
use logtool_velodyne::lidar::{CalibrationOrigin, LidarInfo, LidarOptions};

use crate::source::{input::open, session::Session};

/// Longer logs contain all 4160 packets with the calibration of a lidar many times.
const LONG_LOG_BYTES: u64 = 64 << 20;

/// Returns a warning about the new log at `place` with `bytes` bytes, if the calibration of a
/// lidar is complete in the log `name` with `manifest`, but not in the new log.
pub fn warning(
    (name, manifest): (&str, &Manifest),
    (place, bytes): (&Path, u64),
    session: &Session,
) -> Option<String> {
    let lidars = |manifest: &Manifest, is_sent: bool| -> Vec<String> {
        let lidar = |topic: &Topic| {
            let lidar = LidarInfo::from_topic(topic)?;
            let is_whole = lidar.calibration == CalibrationOrigin::Sent;
            (is_whole == is_sent).then(|| lidar.name.to_owned())
        };
        manifest.topics.iter().filter_map(lidar).collect()
    };
    let transmitted = lidars(manifest, true);
    if transmitted.is_empty() || bytes > LONG_LOG_BYTES || !place.is_file() {
        return None;
    }
    let session = session.clone().without_input_format();
    let new = open::open_with(place, &session, &LidarOptions::default()).ok()?;
    let lost = lidars(new.log.manifest(), false);
    lost.iter().any(|lidar| transmitted.contains(lidar)).then(|| {
        format!(
            "too short for the calibration that the lidar sends: extract it from {name}, \
             and set it as the calibration file"
        )
    })
}
