//! Colour palettes that are suitable for colour-blind readers.

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// The colours of lines, from the palette of Okabe and Ito: blue, vermilion, green, purple, orange,
/// sky blue, black, and a darker yellow. The first ones have the best contrast on white.
pub const LINES: [Rgb; 8] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
    [0x00, 0x00, 0x00],
    [0xb3, 0xa4, 0x00],
];

/// Returns the colour of the line with this `index`. The colours repeat after the last
/// one.
pub fn line(index: usize) -> Rgb {
    LINES.get(index % LINES.len()).copied().unwrap_or_default()
}

/// The number of dash styles of each colour, including solid lines.
pub(crate) const DASH_STYLES: u32 = 4;

/// The number of lines that differ in their colour or dash style.
pub const DISTINCT_LINES: usize = LINES.len() * DASH_STYLES as usize;

/// Returns the dash style of the line with this `index`. The first lines have style 0, which is
/// solid.
pub(crate) fn dash(index: usize) -> u32 {
    (index / LINES.len()) as u32 % DASH_STYLES
}

/// Every tenth of viridis, the perceptually uniform colour map of matplotlib, which also
/// works in grey and for colour-blind readers.
const VIRIDIS: [Rgb; 11] = [
    [68, 1, 84],
    [72, 36, 117],
    [65, 68, 135],
    [53, 95, 141],
    [42, 120, 142],
    [33, 145, 140],
    [34, 168, 132],
    [68, 191, 112],
    [122, 209, 81],
    [189, 223, 38],
    [253, 231, 37],
];

/// Returns the colour of `share` from 0 to 1. Values outside are clamped.
pub fn viridis(share: f64) -> Rgb {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let position = share * (VIRIDIS.len() - 1) as f64;
    let (low, fraction) = (position.floor() as usize, position.fract());
    let color = |index: usize| VIRIDIS.get(index).or(VIRIDIS.last()).copied();
    let (a, b) = (color(low).unwrap_or_default(), color(low + 1).unwrap_or_default());
    let mix = |(a, b): (u8, u8)| {
        (f64::from(a) + (f64::from(b) - f64::from(a)) * fraction).round() as u8
    };
    [mix((a[0], b[0])), mix((a[1], b[1])), mix((a[2], b[2]))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_goes_from_dark_to_bright() {
        // The values of matplotlib.colormaps["viridis"] at 0, 0.5 and 1.
        assert_eq!(viridis(0.0), [68, 1, 84]);
        assert_eq!(viridis(0.5), [33, 145, 140]);
        assert_eq!(viridis(7.0), [253, 231, 37]);
        assert_eq!(viridis(f64::NAN), [68, 1, 84]);
        let grey = |share: f64| {
            let [r, g, b] = viridis(share).map(f64::from);
            0.299 * r + 0.587 * g + 0.114 * b
        };
        assert!(
            (0..100)
                .all(|n| grey(f64::from(n) / 100.0) <= grey(f64::from(n + 1) / 100.0))
        );
    }
}
