//! Pixels whose samples follow each other, e.g. red, green and blue.

use crate::image::rows::{ImageRows, PixelColor};

/// The order of the samples of a pixel in a message, and their size.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleLayout {
    /// The position in the pixel of each output sample, in the order of the output.
    pub(super) order: &'static [usize],
    /// Whether a sample has 16 bits instead of 8.
    pub(super) is_wide: bool,
}

pub(super) const GRAY: &[usize] = &[0];
pub(super) const RGB: &[usize] = &[0, 1, 2];
pub(super) const BGR: &[usize] = &[2, 1, 0];
pub(super) const RGBA: &[usize] = &[0, 1, 2, 3];
pub(super) const BGRA: &[usize] = &[2, 1, 0, 3];

impl SampleLayout {
    pub(super) fn pixel_bytes(self) -> usize {
        self.order.len() * if self.is_wide { 2 } else { 1 }
    }

    pub(super) fn color(self) -> PixelColor {
        match self.order.len() {
            1 => PixelColor::Gray,
            3 => PixelColor::Rgb,
            _ => PixelColor::Rgba,
        }
    }
}

/// Returns the samples of `rows` in the order of the output, big-endian. `is_big` is the byte order
/// of `rows`.
pub(super) fn samples(
    layout: SampleLayout,
    rows: ImageRows<'_>,
    is_big: bool,
) -> Vec<u8> {
    let mut samples = Vec::with_capacity(rows.bytes());
    for row in rows.iter() {
        match layout {
            SampleLayout { order: GRAY | RGB | RGBA, is_wide: false } => {
                samples.extend_from_slice(row);
            }
            SampleLayout { order, is_wide: false } => {
                for pixel in row.chunks_exact(order.len()) {
                    samples.extend(order.iter().filter_map(|index| pixel.get(*index)));
                }
            }
            SampleLayout { order, is_wide: true } => {
                for pixel in row.chunks_exact(order.len() * 2) {
                    for index in order {
                        let sample = pixel.get(index * 2..).unwrap_or_default();
                        samples.extend(read_u16(sample, is_big).to_be_bytes());
                    }
                }
            }
        }
    }
    samples
}

/// Returns the samples of `rows` with one sample of `size` bytes in each pixel.
pub(super) fn single_samples(
    rows: ImageRows<'_>,
    size: usize,
    is_big: bool,
) -> Vec<u16> {
    let rows = rows.iter();
    match size {
        1 => rows.flatten().map(|sample| u16::from(*sample)).collect(),
        _ => rows
            .flat_map(|row| row.chunks_exact(2))
            .map(|sample| read_u16(sample, is_big))
            .collect(),
    }
}

/// Replaces `samples` that are negative, as signed integers of `size` bytes, by 0. Returns their
/// number.
pub(super) fn clear_negative(samples: &mut [u16], size: usize) -> u64 {
    let sign_bit = if size == 1 { 1 << 7 } else { 1 << 15 };
    let mut count = 0;
    for sample in samples.iter_mut().filter(|sample| **sample & sign_bit != 0) {
        *sample = 0;
        count += 1;
    }
    count
}

/// Encodes `samples` with `size` bytes each, big-endian.
pub(super) fn encode(samples: &[u16], size: usize) -> Vec<u8> {
    match size {
        1 => samples.iter().map(|sample| *sample as u8).collect(),
        _ => samples.iter().flat_map(|sample| sample.to_be_bytes()).collect(),
    }
}

fn read_u16(bytes: &[u8], is_big: bool) -> u16 {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}
