//! Formatting of numbers as text.

use crate::text::{
    infinities::Infinities,
    number_format::{NumberBuffer, write_float, write_integer, write_text},
};

/// The texts of floats that are not numbers.
#[derive(Debug)]
pub(crate) struct SpecialFloats {
    nan: &'static [u8],
    infinity: &'static [u8],
    negative_infinity: &'static [u8],
}

impl SpecialFloats {
    /// The texts of C, which readers of points expect.
    pub(crate) const C: Self =
        Self { nan: b"nan", infinity: b"inf", negative_infinity: b"-inf" };

    /// The texts that most readers of CSV take for floats. Polars takes a column with `nan` for
    /// text.
    pub(crate) const CSV: Self = Self { nan: b"NaN", ..Self::C };

    /// The texts that Apache Spark takes for floats.
    pub(crate) const SPARK: Self =
        Self { nan: b"NaN", infinity: b"Infinity", negative_infinity: b"-Infinity" };
}

/// A number whose text can be cached.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    /// Returns whether this number has the same text as `other`; floats must have the same bits.
    fn has_same_text(self, other: Self) -> bool;

    /// Writes the shortest decimal text that reads back as the same number to the start of
    /// `buffer`, and returns its length, which is at most 24 bytes.
    ///
    /// Floats always have a decimal point or an exponent: `1.0`, `1e-7`. NaN and infinities are
    /// those of `specials`.
    fn write_with(self, buffer: &mut NumberBuffer, specials: &SpecialFloats) -> usize;

    /// Like [`write_with`](Self::write_with), with `nan`, `inf` and `-inf`.
    #[inline]
    fn write_to(self, buffer: &mut NumberBuffer) -> usize {
        self.write_with(buffer, &SpecialFloats::C)
    }

    /// Like [`write_to`](Self::write_to), for JSON: NaN is `null`, and infinities are written as
    /// specified by `infinities`.
    fn write_json(self, buffer: &mut NumberBuffer, infinities: &Infinities) -> usize;
}

/// Implements [`Number`] for integer types. `$magnitude` is a function that returns the absolute
/// value of an integer and whether it is negative.
macro_rules! integers {
    ($($type:ty: $magnitude:expr),*) => {$(
        impl Number for $type {
            #[inline]
            fn has_same_text(self, other: Self) -> bool {
                self == other
            }

            #[inline]
            fn write_with(self, buffer: &mut NumberBuffer, _: &SpecialFloats) -> usize {
                let (magnitude, is_negative) = $magnitude(self);
                match write_integer(u64::from(magnitude), is_negative, buffer) {
                    Some(len) => len,
                    None => write_text(itoa::Buffer::new().format(self).as_bytes(), buffer),
                }
            }

            #[inline]
            fn write_json(self, buffer: &mut NumberBuffer, _: &Infinities) -> usize {
                self.write_to(buffer)
            }
        }
    )*};
}

integers! {
    i8: |n: i8| (n.unsigned_abs(), n < 0),
    i16: |n: i16| (n.unsigned_abs(), n < 0),
    i32: |n: i32| (n.unsigned_abs(), n < 0),
    i64: |n: i64| (n.unsigned_abs(), n < 0),
    u8: |n| (n, false),
    u16: |n| (n, false),
    u32: |n| (n, false),
    u64: |n| (n, false)
}

/// Implements [`Number`] for floating-point types. `$write_fast` is a function that writes the
/// number and returns the length of the text, or returns `None` for numbers that it does not
/// support.
macro_rules! floats {
    ($($type:ty: $write_fast:expr),*) => {$(
        impl Number for $type {
            #[inline]
            fn has_same_text(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }

            #[inline]
            fn write_with(self, buffer: &mut NumberBuffer, specials: &SpecialFloats) -> usize {
                if let Some(len) = $write_fast(self, &mut *buffer) {
                    len
                } else if self.is_finite() {
                    write_text(zmij::Buffer::new().format_finite(self).as_bytes(), buffer)
                } else if self.is_nan() {
                    write_text(specials.nan, buffer)
                } else if self > 0.0 {
                    write_text(specials.infinity, buffer)
                } else {
                    write_text(specials.negative_infinity, buffer)
                }
            }

            #[inline]
            fn write_json(self, buffer: &mut NumberBuffer, infinities: &Infinities) -> usize {
                if self.is_finite() {
                    self.write_to(buffer)
                } else if self.is_nan() {
                    write_text(b"null", buffer)
                } else {
                    infinities.write_to(self < 0.0, buffer)
                }
            }
        }
    )*};
}

floats!(f32: write_float, f64: |_, _: &mut NumberBuffer| None);
