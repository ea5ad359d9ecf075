//! A checked reader of little-endian values: the only way from bytes to numbers.

use byteorder::{ByteOrder as _, LittleEndian};

/// Cuts values off the front of some bytes.
///
/// Nothing is cut where too little is left, so no length in a file is ever believed.
///
/// ```
/// use logtool_core::ByteReader;
///
/// let mut cut = ByteReader::new(&[0x34, 0x12, 7]);
/// assert_eq!(cut.u16(), Some(0x1234));
/// assert_eq!(cut.u16(), None); // one byte is left, and stays
/// assert_eq!(cut.u8(), Some(7));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'b> {
    rest: &'b [u8],
}

impl<'b> ByteReader<'b> {
    /// Starts with all of `bytes`.
    #[inline]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What is left.
    #[inline]
    pub const fn rest(self) -> &'b [u8] {
        self.rest
    }

    /// The next `len` bytes.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Option<&'b [u8]> {
        let (cut, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(cut)
    }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    /// The next 2 bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.bytes(2).map(LittleEndian::read_u16)
    }

    /// The next 4 bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).map(LittleEndian::read_u32)
    }

    /// The next 8 bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.bytes(8).map(LittleEndian::read_u64)
    }

    /// The next 4 bytes, signed.
    #[inline]
    pub fn i32(&mut self) -> Option<i32> {
        self.bytes(4).map(LittleEndian::read_i32)
    }

    /// The next 4 bytes, as a float.
    #[inline]
    pub fn f32(&mut self) -> Option<f32> {
        self.bytes(4).map(LittleEndian::read_f32)
    }
}
