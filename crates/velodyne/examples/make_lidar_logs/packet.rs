//! Generates packets of lidars with artificial distances.

/// A data packet.
pub(crate) type Packet = [u8; 1206];

/// Returns a packet of these blocks, each a flag and an azimuth in hundredths of a
/// degree, and of the last six bytes.
pub(crate) fn packet(blocks: [(u16, u32); 12], micros: u32, tail: [u8; 2]) -> Packet {
    let mut bytes = [0; 1206];
    for (block, (flag, azimuth)) in bytes.chunks_exact_mut(100).zip(blocks) {
        let azimuth = azimuth % 36_000;
        block[..2].copy_from_slice(&flag.to_le_bytes());
        block[2..4].copy_from_slice(&(azimuth as u16).to_le_bytes());
        for (laser, channel) in (0..).zip(block[4..].chunks_exact_mut(3)) {
            // Every ninth laser has no return.
            let steps = 2_000 + 40 * laser + azimuth / 20 % 500;
            let steps = if laser % 9 == 8 { 0 } else { steps };
            channel[..2].copy_from_slice(&(steps as u16).to_le_bytes());
            channel[2] = (7 * laser + azimuth / 100) as u8;
        }
    }
    bytes[1200..1204].copy_from_slice(&micros.to_le_bytes());
    bytes[1204..].copy_from_slice(&tail);
    bytes
}
