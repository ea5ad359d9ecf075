//! Images of distances in meters, as floats, or as numbers for their inverses.

use crate::image::rows::ImageRows;

/// Returns the distances in millimeters, 16 bits each, big-endian: 0 for invalid ones (NaN,
/// infinite, negative), and 65535 for those that do not fit. Also returns the number of distances
/// that do not fit. `size` is the number of bytes of a float.
pub(super) fn samples(
    rows: ImageRows<'_>,
    size: usize,
    is_big: bool,
) -> (Vec<u8>, u64) {
    let mut samples = Vec::with_capacity(rows.bytes() / size.max(1) * 2);
    let mut clipped = 0;
    for row in rows.iter() {
        for value in row.chunks_exact(size.max(1)) {
            let meters = read_float(value, is_big);
            samples.extend(millimeters(meters).to_be_bytes());
            clipped += u64::from(meters.is_finite() && meters > MAX_METERS);
        }
    }
    (samples, clipped)
}

/// How `compressed_depth_image_transport` stores distances as integers of 16 bits: `v` means
/// `a / (v - b)` meters, and 0 means that there is no distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthQuantization {
    /// The parameter `a`.
    pub a: f32,
    /// The parameter `b`.
    pub b: f32,
}

impl DepthQuantization {
    /// Returns the distances for `values` in millimeters of 16 bits, like those of raw images in
    /// meters, big-endian, and the number of distances that do not fit.
    pub fn millimeters(self, values: &[u16]) -> (Vec<u8>, u64) {
        let mut samples = Vec::with_capacity(values.len() * 2);
        let mut too_far = 0;
        for value in values {
            let meters = match value {
                0 => 0.0,
                value => f64::from(self.a) / (f64::from(*value) - f64::from(self.b)),
            };
            samples.extend(millimeters(meters).to_be_bytes());
            too_far += u64::from(meters.is_finite() && meters > MAX_METERS);
        }
        (samples, too_far)
    }
}

/// Larger distances do not fit 16 bits, even when they are rounded to millimeters.
const MAX_METERS: f64 = 65.5355;

/// Reads a float of 4 or 8 bytes.
fn read_float(bytes: &[u8], is_big: bool) -> f64 {
    if let [a, b, c, d] = *bytes {
        let bytes = [a, b, c, d];
        let float = if is_big { f32::from_be_bytes } else { f32::from_le_bytes };
        return float(bytes).into();
    }
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    if is_big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
}

fn millimeters(meters: f64) -> u16 {
    // The cast saturates: negative distances become 0, and larger ones 65535.
    if meters.is_finite() { (meters * 1e3).round() as u16 } else { 0 }
}
