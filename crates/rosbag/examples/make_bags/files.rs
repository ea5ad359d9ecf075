//! The contents of `testdata/`; see the README there.

mod damage;
mod message;
mod rover;

use logtool_core::Result;

/// The position of a sector in the middle of the fourth chunk.
const SECTOR_IN_CHUNK: usize = 26_112;

/// Returns the name and the bytes of each file.
pub(crate) fn all_bags() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let rover = rover::bag()?;
    Ok(vec![
        ("damaged/killed.bag.active", rover::bag_of_a_killed_recorder()?),
        (
            "damaged/lost_sector.bag",
            damage::with_zeroed_sector(rover.clone(), SECTOR_IN_CHUNK),
        ),
        ("rover.bag", rover),
    ])
}
