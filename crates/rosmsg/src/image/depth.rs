//! Images of distances in metres, as floats.

use crate::image::rows::Rows;

/// The distances in millimetres, 16 bits each, the higher byte first: 0 where there is
/// none (NaN, infinite, negative), 65535 from 65.535 m on. And how many are further.
pub(super) fn samples(rows: Rows<'_>, size: usize, is_big: bool) -> (Vec<u8>, u64) {
    let mut samples = Vec::with_capacity(rows.bytes() / size.max(1) * 2);
    let mut clipped = 0;
    for row in rows.each() {
        for value in row.chunks_exact(size.max(1)) {
            let metres = metres(value, is_big);
            samples.extend(millimetres(metres).to_be_bytes());
            clipped += u64::from(metres.is_finite() && metres > FURTHEST);
        }
    }
    (samples, clipped)
}

/// What is further, to half a millimetre, does not fit 16 bits.
const FURTHEST: f64 = 65.5355;

fn metres(bytes: &[u8], is_big: bool) -> f64 {
    if let [a, b, c, d] = *bytes {
        let bytes = [a, b, c, d];
        let float = if is_big { f32::from_be_bytes } else { f32::from_le_bytes };
        return float(bytes).into();
    }
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    if is_big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
}

fn millimetres(metres: f64) -> u16 {
    // A cast holds on to the limits, and NaN becomes 0.
    if metres.is_finite() { (metres * 1e3).round() as u16 } else { 0 }
}
