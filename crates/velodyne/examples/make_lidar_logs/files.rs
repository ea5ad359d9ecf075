//! The lidar logs in `testdata/`, which are described in the README there.

mod car;
mod packet;
mod puck;

use logtool_core::Result;

/// Returns all logs with their file names.
pub(crate) fn all_logs() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let car = car::log()?;
    let mut truncated = car.clone();
    truncated.truncate(truncated.len() - 700);
    Ok(vec![
        ("car.vel", car),
        ("damaged/cut.vel", truncated),
        ("puck.pcap", puck::capture()),
    ])
}
