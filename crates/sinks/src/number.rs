//! Numbers as text.

/// A number of which the text may be remembered.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    /// Whether it has the same text as `other`: for floats, the same bits.
    fn is_same(self, other: Self) -> bool;

    /// The shortest decimal text that reads back as the same number, of at most 24
    /// bytes.
    ///
    /// Floats always have a point or an exponent: `1.0`, `1e-7`; those that are no
    /// numbers are `nan`, `inf` and `-inf`.
    fn tell(self, space: &mut NumberSpace) -> &[u8];

    /// The same as JSON. What is not a number is `null`; infinities are numbers that no
    /// reader can hold: `1e999`, which reads as infinity.
    fn tell_json(self, space: &mut NumberSpace) -> &[u8];
}

/// Where the text of a number is made.
#[derive(Default)]
pub(crate) struct NumberSpace {
    integer: itoa::Buffer,
    float: zmij::Buffer,
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline]
            fn is_same(self, other: Self) -> bool {
                self == other
            }

            #[inline]
            fn tell(self, space: &mut NumberSpace) -> &[u8] {
                space.integer.format(self).as_bytes()
            }

            #[inline]
            fn tell_json(self, space: &mut NumberSpace) -> &[u8] {
                self.tell(space)
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
            fn tell(self, space: &mut NumberSpace) -> &[u8] {
                if self.is_finite() {
                    space.float.format_finite(self).as_bytes()
                } else if self.is_nan() {
                    b"nan"
                } else if self > 0.0 {
                    b"inf"
                } else {
                    b"-inf"
                }
            }

            #[inline]
            fn tell_json(self, space: &mut NumberSpace) -> &[u8] {
                if self.is_finite() {
                    space.float.format_finite(self).as_bytes()
                } else if self.is_nan() {
                    b"null"
                } else if self > 0.0 {
                    b"1e999"
                } else {
                    b"-1e999"
                }
            }
        }
    )*};
}

floats!(f32 f64);
