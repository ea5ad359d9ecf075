//! The lidar logs in `testdata/`, which are described in the README there.

mod car;
mod packet;
mod puck;

use logtool_core::Result;

/// Returns all logs with their file names.
pub(crate) fn all() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let car = car::log()?;
    let mut cut = car.clone();
    cut.truncate(cut.len() - 700);
    Ok(vec![("car.vel", car), ("damaged/cut.vel", cut), ("puck.pcap", puck::capture())])
}
