//! What may happen to a bag on a disk.

/// The bag without one sector of 512 bytes, in its middle.
pub(crate) fn without_a_sector(mut bag: Vec<u8>) -> Vec<u8> {
    let at = bag.len() / 2 / 512 * 512;
    if let Some(sector) = bag.get_mut(at..at + 512) {
        sector.fill(0);
    }
    bag
}
