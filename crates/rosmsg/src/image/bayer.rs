//! Images of sensors that measure one color in each pixel (Bayer patterns).
//!
//! ```text
//! rggb   R G R G    bggr   B G B G    gbrg   G B G B    grbg   G R G R
//!        G B G B           G R G R           R G R G           B G B G
//! ```
//!
//! A color that a pixel lacks is the average of the neighbors that have it: four or two, and fewer
//! at the borders ("bilinear" interpolation).

/// The position of red in each square of four pixels. Blue is at the opposite corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct BayerPattern {
    red_x: usize,
    red_y: usize,
}

impl BayerPattern {
    /// Returns the pattern with this name: the colors of the first two pixels of the first two
    /// rows.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let (red_x, red_y) = match name {
            "rggb" => (0, 0),
            "bggr" => (1, 1),
            "gbrg" => (0, 1),
            "grbg" => (1, 0),
            _ => return None,
        };
        Some(Self { red_x, red_y })
    }

    /// Returns the color that a pixel measures: 0 for red, 1 for green, 2 for blue.
    fn color(self, x: usize, y: usize) -> usize {
        ((x % 2) ^ self.red_x) + ((y % 2) ^ self.red_y)
    }
}

/// Computes red, green and blue of each pixel of `plane`.
pub(super) fn interpolate(
    plane: &[u16],
    width: usize,
    height: usize,
    pattern: BayerPattern,
) -> Vec<u16> {
    let mut rgb = Vec::with_capacity(plane.len().saturating_mul(3));
    let row = |y: usize| plane.get(y * width..(y + 1) * width).unwrap_or_default();
    for y in 0..height {
        let rows: Vec<(usize, &[u16])> = (y.saturating_sub(1)..(y + 2).min(height))
            .map(|neighbor_y| (neighbor_y, row(neighbor_y)))
            .collect();
        for (x, sample) in row(y).iter().enumerate() {
            let (mut sums, mut counts) = ([0_u32; 3], [0_u32; 3]);
            for (neighbor_y, row) in &rows {
                let xs = x.saturating_sub(1)..(x + 2).min(width);
                let values = row.get(xs.clone()).unwrap_or_default();
                for (neighbor_x, value) in xs.zip(values) {
                    let color = pattern.color(neighbor_x, *neighbor_y);
                    if let (Some(sum), Some(count)) =
                        (sums.get_mut(color), counts.get_mut(color))
                    {
                        *sum += u32::from(*value);
                        *count += 1;
                    }
                }
            }
            let measured_color = pattern.color(x, y);
            for (color, (sum, count)) in sums.into_iter().zip(counts).enumerate() {
                rgb.push(match count {
                    // In an image with a single row, no neighbor may have the color.
                    0 => *sample,
                    _ if color == measured_color => *sample,
                    _ => ((sum + count / 2) / count) as u16,
                });
            }
        }
    }
    rgb
}
