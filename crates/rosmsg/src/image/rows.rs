//! Rows of pixels, and their samples.

/// The samples of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelColor {
    /// One: brightness or distance.
    Gray,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, and opacity.
    Rgba,
}

/// The rows of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageRows<'m> {
    pub(super) data: &'m [u8],
    /// The distance between the starts of two rows in bytes.
    pub(super) step: usize,
    /// The length of the pixels of a row in bytes, without padding.
    pub(super) len: usize,
    /// The number of rows.
    pub(super) count: usize,
}

impl<'m> ImageRows<'m> {
    /// Returns `count` rows of `len` bytes in `data`, or `None` if bytes are missing. A step of 0
    /// means that rows are not padded.
    pub(super) fn new(
        data: &'m [u8],
        step: usize,
        len: usize,
        count: usize,
    ) -> Option<Self> {
        let step = if step == 0 { len } else { step };
        let end = count.checked_sub(1)?.checked_mul(step)?.checked_add(len)?;
        let is_valid = len > 0 && step >= len && end <= data.len();
        is_valid.then_some(Self { data, step, len, count })
    }

    /// Returns the bytes of each row, without padding.
    pub(super) fn iter(self) -> impl Iterator<Item = &'m [u8]> {
        let rows = self.data.chunks(self.step.max(1)).take(self.count);
        rows.filter_map(move |row| row.get(..self.len))
    }

    /// Returns the total length of all rows, without padding.
    pub(super) fn bytes(self) -> usize {
        self.len * self.count
    }
}
