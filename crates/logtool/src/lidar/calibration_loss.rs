//! Whether the calibration that a lidar sends is still in a part of its log.

use std::path::Path;

use logtool_core::{Manifest, Topic};
use logtool_velodyne::lidar::{CalibrationOrigin, LidarInfo, LidarOptions};

use crate::{input::open, session::Session};

/// A longer log has all 4160 packets over which a lidar sends its calibration, many times.
const LONG: u64 = 64 << 20;

/// What people should know of the new log at `place`, of so many `bytes`, if a lidar whose
/// calibration was whole in the log `name`, which `manifest` is of, does not send it whole there.
pub fn lost(
    (name, manifest): (&str, &Manifest),
    (place, bytes): (&Path, u64),
    session: &Session,
) -> Option<String> {
    let lidars = |manifest: &Manifest, is_sent: bool| -> Vec<String> {
        let lidar = |topic: &Topic| {
            let lidar = LidarInfo::of(topic)?;
            let is_whole = lidar.calibration == CalibrationOrigin::Sent;
            (is_whole == is_sent).then(|| lidar.name.to_owned())
        };
        manifest.topics.iter().filter_map(lidar).collect()
    };
    let sent = lidars(manifest, true);
    if sent.is_empty() || bytes > LONG || !place.is_file() {
        return None;
    }
    let session = session.clone().without_input_format();
    let new = open::open_with(place, &session, &LidarOptions::default()).ok()?;
    let lost = lidars(new.log.manifest(), false);
    lost.iter().any(|lidar| sent.contains(lidar)).then(|| {
        format!(
            "too short for the calibration that the lidar sends: `logtool calibration {name} \
             -o db.xml` writes it, and --calibration takes it"
        )
    })
}
