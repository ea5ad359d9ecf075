//! What may happen to a bag on a disk.

/// The bag without the sector of 512 bytes at `at`.
pub(crate) fn without_a_sector(mut bag: Vec<u8>, at: usize) -> Vec<u8> {
    if let Some(sector) = bag.get_mut(at..at + 512) {
        sector.fill(0);
    }
    bag
}
