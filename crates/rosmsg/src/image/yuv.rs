//! Images of brightness (Y) and color (U and V), in which neighboring pixels share one color.
//!
//! ```text
//! uyvy  yuyv     U Y V Y, Y U Y V                    two pixels in a row share a color
//! nv12  nv21     all Y, then U V or V U of each      2 x 2 pixels share a color
//! nv24           all Y, then U V of each             each pixel has its own color
//! ```
//! (Linux, "YUV Formats" of V4L2.) The values have the meaning of ITU-R BT.601: brightness from 16
//! to 235, color from 16 to 240 around 128.

use crate::image::rows::ImageRows;

/// The order of the four bytes of two pixels.
#[derive(Clone, Copy, Debug)]
pub(super) enum YuvOrder {
    /// U, Y of the first, V, Y of the second: `uyvy`.
    Uyvy,
    /// Y of the first, U, Y of the second, V: `yuyv`.
    Yuyv,
}

/// The layout of the colors that follow the brightness of all pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColorPlane {
    /// Whether U is before V.
    pub(super) is_u_first: bool,
    /// The number of columns, and of rows, that share a color.
    pub(super) shared: usize,
}

/// An image of a plane of brightness and a plane of colors.
pub(super) struct Planes<'m> {
    brightness: ImageRows<'m>,
    colors: ImageRows<'m>,
    layout: ColorPlane,
}

impl<'m> Planes<'m> {
    /// Returns the planes in `data` of an image of this size in pixels, or `None` if bytes are
    /// missing. `step` is the distance between the rows of brightness in bytes.
    ///
    /// Some drivers state the bytes of all planes of a row as the step. So a step that is too long
    /// for `data` is ignored if the rows fit without padding.
    pub(super) fn new(
        data: &'m [u8],
        (width, height): (usize, usize),
        step: usize,
        layout: ColorPlane,
    ) -> Option<Self> {
        let planes = |step: usize| {
            let brightness = ImageRows::new(data, step, width, height)?;
            let shared = layout.shared.max(1);
            // Each color has two bytes, for one or more columns.
            let len = width.div_ceil(shared).checked_mul(2)?;
            let color_step = step.checked_mul(2)?.div_ceil(shared).max(len);
            let colors = data.get(step.checked_mul(height)?..)?;
            let colors =
                ImageRows::new(colors, color_step, len, height.div_ceil(shared))?;
            Some(Self { brightness, colors, layout })
        };
        planes(step).or_else(|| planes(width))
    }

    /// Computes red, green and blue of each pixel.
    pub(super) fn samples(&self) -> Vec<u8> {
        let ColorPlane { is_u_first, shared } = self.layout;
        let shared = shared.max(1);
        let mut samples = Vec::with_capacity(self.brightness.bytes() * 3);
        let colors: Vec<&[u8]> = self.colors.iter().collect();
        for (row, brightness) in self.brightness.iter().enumerate() {
            let Some(colors) = colors.get(row / shared) else { break };
            let (pairs, _) = colors.as_chunks::<2>();
            let of_columns =
                pairs.iter().flat_map(|pair| std::iter::repeat_n(pair, shared));
            for (y, [first, second]) in brightness.iter().zip(of_columns) {
                let (u, v) =
                    if is_u_first { (*first, *second) } else { (*second, *first) };
                samples.extend(rgb(*y, u, v));
            }
        }
        samples
    }
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
