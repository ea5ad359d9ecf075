//! Images of brightness (Y) and color (U and V), in which two pixels share one color.
//!
//! The values have the meaning of ITU-R BT.601: brightness from 16 to 235, color from 16 to 240
//! around 128.

use crate::image::rows::ImageRows;

/// The order of the four bytes of two pixels.
#[derive(Clone, Copy, Debug)]
pub(super) enum YuvOrder {
    /// U, Y of the first, V, Y of the second: `yuv422`.
    Uyvy,
    /// Y of the first, U, Y of the second, V: `yuv422_yuy2`.
    Yuyv,
}

/// Computes red, green and blue of each pixel.
pub(super) fn samples(rows: ImageRows<'_>, order: YuvOrder) -> Vec<u8> {
    let mut samples = Vec::with_capacity(rows.bytes() / 2 * 3);
    for row in rows.iter() {
        for pair in row.chunks(4) {
            // In a row with an odd number of pixels, the last pixel has no V. A neutral V is used.
            let [a, b, c, d] = match *pair {
                [a, b, c, d] => [a, b, c, d],
                [a, b, ..] => [a, b, 128, 128],
                _ => continue,
            };
            let (u, first_y, v, second_y) = match order {
                YuvOrder::Uyvy => (a, b, c, d),
                YuvOrder::Yuyv => (b, a, d, c),
            };
            samples.extend(rgb(first_y, u, v));
            if pair.len() == 4 {
                samples.extend(rgb(second_y, u, v));
            }
        }
    }
    samples
}

/// Applies the inverse matrix of BT.601, in units of 1/65536.
fn rgb(y: u8, u: u8, v: u8) -> [u8; 3] {
    let y = (i32::from(y) - 16) * 76_309;
    let (u, v) = (i32::from(u) - 128, i32::from(v) - 128);
    let clamp = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
    [clamp(y + 104_597 * v), clamp(y - 25_675 * u - 53_279 * v), clamp(y + 132_201 * u)]
}
