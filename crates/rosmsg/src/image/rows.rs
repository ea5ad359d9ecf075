//! Rows of pixels, and what they are made of.

/// What samples a pixel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelColor {
    /// One: how bright it is, or how far away.
    Gray,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, and how opaque.
    Rgba,
}

/// The rows of an image, each of so many bytes as its pixels take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'m> {
    pub(super) data: &'m [u8],
    /// How many bytes a row is, and how many of them are pixels.
    pub(super) step: usize,
    pub(super) len: usize,
    pub(super) count: usize,
}

impl<'m> Rows<'m> {
    /// The bytes of each row, without what pads it.
    pub(super) fn each(self) -> impl Iterator<Item = &'m [u8]> {
        let rows = self.data.chunks(self.step.max(1)).take(self.count);
        rows.filter_map(move |row| row.get(..self.len))
    }

    /// How many bytes all rows are.
    pub(super) fn bytes(self) -> usize {
        self.len * self.count
    }
}
