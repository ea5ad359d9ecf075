//! Damage as it occurs on disks.

/// Returns the bag with zeros in the sector of 512 bytes at `position`.
pub(crate) fn with_zeroed_sector(mut bag: Vec<u8>, position: usize) -> Vec<u8> {
    if let Some(sector) = bag.get_mut(position..position + 512) {
        sector.fill(0);
    }
    bag
}
