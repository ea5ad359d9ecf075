//! Damage as it happens on disks.

/// Returns the bag with the 512-byte sector at `at` zeroed.
pub(crate) fn without_a_sector(mut bag: Vec<u8>, at: usize) -> Vec<u8> {
    if let Some(sector) = bag.get_mut(at..at + 512) {
        sector.fill(0);
    }
    bag
}
