//! Numbers as text.

use crate::short_text::ShortText;

/// A number of which the text may be remembered.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    /// Whether it has the same text as `other`: for floats, the same bits.
    fn is_same(self, other: Self) -> bool;

    /// Makes `text` the shortest decimal text that reads back as the same number.
    ///
    /// Floats always have a point or an exponent: `1.0`, `1e-7`; those that are no
    /// numbers are `nan`, `inf` and `-inf`.
    fn tell(self, text: &mut ShortText);

    /// Adds the number to `json`. What is not a number is `null`; infinities are
    /// numbers that no reader can hold: `1e999`, which reads as infinity.
    fn tell_json(self, json: &mut Vec<u8>);
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline]
            fn is_same(self, other: Self) -> bool {
                self == other
            }

            #[inline]
            fn tell(self, text: &mut ShortText) {
                text.set(itoa::Buffer::new().format(self).as_bytes());
            }

            fn tell_json(self, json: &mut Vec<u8>) {
                json.extend_from_slice(itoa::Buffer::new().format(self).as_bytes());
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline]
            fn is_same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }

            #[inline]
            fn tell(self, text: &mut ShortText) {
                if self.is_finite() {
                    text.set(zmij::Buffer::new().format_finite(self).as_bytes());
                } else if self.is_nan() {
                    text.set(b"nan");
                } else if self > 0.0 {
                    text.set(b"inf");
                } else {
                    text.set(b"-inf");
                }
            }

            fn tell_json(self, json: &mut Vec<u8>) {
                let mut buffer = zmij::Buffer::new();
                json.extend_from_slice(if self.is_finite() {
                    buffer.format_finite(self).as_bytes()
                } else if self.is_nan() {
                    b"null"
                } else if self > 0.0 {
                    b"1e999"
                } else {
                    b"-1e999"
                });
            }
        }
    )*};
}

floats!(f32 f64);
