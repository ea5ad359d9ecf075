//! A bounds-checked reader of little-endian values.

use byteorder::{ByteOrder as _, LittleEndian};

/// A reader that takes values from the front of a byte slice.
///
/// If too few bytes remain, a method returns `None` and takes nothing. So the lengths in a
/// file need not be trusted.
///
/// ```
/// use logtool_core::ByteReader;
///
/// let mut reader = ByteReader::new(&[0x34, 0x12, 7]);
/// assert_eq!(reader.u16(), Some(0x1234));
/// assert_eq!(reader.u16(), None); // the last byte is still there
/// assert_eq!(reader.u8(), Some(7));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'b> {
    remaining: &'b [u8],
}

impl<'b> ByteReader<'b> {
    /// Creates a reader of `bytes`.
    #[inline]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { remaining: bytes }
    }

    /// Returns the remaining bytes.
    #[inline]
    pub const fn remaining(self) -> &'b [u8] {
        self.remaining
    }

    /// Takes the next `len` bytes.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, remaining) = self.remaining.split_at_checked(len)?;
        self.remaining = remaining;
        Some(taken)
    }

    /// Takes the next byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    /// Takes the next 2 bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.bytes(2).map(LittleEndian::read_u16)
    }

    /// Takes the next 4 bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).map(LittleEndian::read_u32)
    }

    /// Takes the next 8 bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.bytes(8).map(LittleEndian::read_u64)
    }

    /// Takes the next 4 bytes as a signed integer.
    #[inline]
    pub fn i32(&mut self) -> Option<i32> {
        self.bytes(4).map(LittleEndian::read_i32)
    }

    /// Takes the next 4 bytes as a float.
    #[inline]
    pub fn f32(&mut self) -> Option<f32> {
        self.bytes(4).map(LittleEndian::read_f32)
    }
}
