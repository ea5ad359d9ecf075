//! Images of distances in meters, as floats.

use crate::image::rows::ImageRows;

/// Returns the distances in millimeters, 16 bits each, big-endian: 0 for invalid ones (NaN,
/// infinite, negative), 65535 from 65.535 m on. Also returns the number of larger distances.
pub(super) fn samples(
    rows: ImageRows<'_>,
    size: usize,
    is_big: bool,
) -> (Vec<u8>, u64) {
    let mut samples = Vec::with_capacity(rows.bytes() / size.max(1) * 2);
    let mut clipped = 0;
    for row in rows.iter() {
        for value in row.chunks_exact(size.max(1)) {
            let metres = metres(value, is_big);
            samples.extend(millimetres(metres).to_be_bytes());
            clipped += u64::from(metres.is_finite() && metres > FURTHEST);
        }
    }
    (samples, clipped)
}

/// Distances from here on, rounded to half a millimeter, do not fit 16 bits.
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
    // A cast saturates, and NaN becomes 0.
    if metres.is_finite() { (metres * 1e3).round() as u16 } else { 0 }
}
