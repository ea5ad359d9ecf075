//! What is in `testdata/`: see the README there.

mod broken;
mod message;
mod rover;

use logtool_core::Result;

/// All bags, by the names of their files.
pub(crate) fn all() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let rover = rover::bag()?;
    Ok(vec![
        ("damaged/killed.bag.active", rover::killed()?),
        ("damaged/lost_sector.bag", broken::without_a_sector(rover.clone())),
        ("rover.bag", rover),
    ])
}
