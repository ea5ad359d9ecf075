//! The contents of `testdata/`; see the README there.

mod broken;
mod message;
mod rover;

use logtool_core::Result;

/// The position of a sector in the middle of the fourth chunk.
const IN_A_CHUNK: usize = 26_112;

/// Returns all bags with their file names.
pub(crate) fn all() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let rover = rover::bag()?;
    Ok(vec![
        ("damaged/killed.bag.active", rover::killed()?),
        (
            "damaged/lost_sector.bag",
            broken::without_a_sector(rover.clone(), IN_A_CHUNK),
        ),
        ("rover.bag", rover),
    ])
}
