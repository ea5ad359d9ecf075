//! Depth images that are compressed with RVL (A. D. Wilson, "Fast Lossless Depth Image
//! Compression", 2017), as `compressed_depth_image_transport` stores them.
//!
//! ```text
//! int32 format | float32 a | float32 b | int32 width | int32 height | words of 32 bits
//! ```
//!
//! A word has eight nibbles, the most significant first. A number has its lowest three bits in the
//! first nibble, and the fourth bit of a nibble means that another one follows. The pixels are runs:
//! the number of zeros, the number of other values, and the difference of each of these from the one
//! before it, with the sign in the lowest bit.

use std::borrow::Cow;

use logtool_core::{ByteReader, Error, ErrorKind, Result};

use crate::{
    image::{file::depth_parameters, raw_image::Pixels, rows::PixelColor},
    message_compression::MAX_DECOMPRESSED_BYTES,
};

/// A depth image that is compressed with RVL.
#[derive(Clone, Debug)]
pub struct RvlImage<'m> {
    data: Cow<'m, [u8]>,
    /// Whether the depth is in meters, which are quantized.
    is_quantized: bool,
}

impl<'m> RvlImage<'m> {
    /// Returns the image in `data`, or `data` itself if `format` is another one.
    pub(super) fn new(
        format: &str,
        data: Cow<'m, [u8]>,
    ) -> std::result::Result<Self, Cow<'m, [u8]>> {
        let is_rvl = format.contains("compressedDepth") && format.ends_with("rvl");
        let is_quantized = format.starts_with("32FC1");
        if is_rvl { Ok(Self { data, is_quantized }) } else { Err(data) }
    }

    /// Decompresses the pixels, in millimeters.
    ///
    /// # Errors
    /// `Malformed` if pixels are missing; `Limit` if there are too many.
    pub fn pixels(&self) -> Result<Pixels> {
        let malformed = || Error::new(ErrorKind::Malformed, "the image is incomplete");
        let (data, quantization) =
            depth_parameters(&self.data).ok_or_else(malformed)?;
        let mut reader = ByteReader::new(data);
        let (width, height) = reader.u32().zip(reader.u32()).ok_or_else(malformed)?;
        let count = u64::from(width) * u64::from(height);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > MAX_DECOMPRESSED_BYTES / 2 {
            let message =
                format!("the image has over {} MiB", MAX_DECOMPRESSED_BYTES >> 20);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let values = decode(reader.remaining(), count).ok_or_else(malformed)?;
        let (samples, too_far) = if self.is_quantized {
            quantization.millimeters(&values)
        } else {
            (values.into_iter().flat_map(u16::to_be_bytes).collect(), 0)
        };
        let (color, bits) = (PixelColor::Gray, 16);
        Ok(Pixels { width, height, color, bits, samples, too_far, negative: 0 })
    }
}

/// Returns the `count` values in `words`, or `None` if some are missing.
fn decode(words: &[u8], count: usize) -> Option<Vec<u16>> {
    let mut nibbles = Nibbles { words, position: 0 };
    let (mut values, mut last) = (Vec::new(), 0_i32);
    while values.len() < count {
        let zeros = nibbles.run(count - values.len())?;
        values.resize(values.len() + zeros, 0);
        for _ in 0..nibbles.run(count - values.len())? {
            let number = nibbles.number()?;
            let magnitude = (number >> 1).cast_signed();
            let difference = if number & 1 == 1 { !magnitude } else { magnitude };
            last = last.wrapping_add(difference);
            values.push(last as u16);
        }
    }
    Some(values)
}

/// The nibbles of little-endian words of 32 bits, the most significant of each first.
struct Nibbles<'w> {
    words: &'w [u8],
    position: usize,
}

impl Nibbles<'_> {
    fn next(&mut self) -> Option<u8> {
        let (word, nibble) = (self.position / 8, self.position % 8);
        let byte = *self.words.get(word * 4 + 3 - nibble / 2)?;
        self.position += 1;
        Some(if nibble % 2 == 0 { byte >> 4 } else { byte & 0xF })
    }

    /// Reads a number of at most 32 bits.
    fn number(&mut self) -> Option<u32> {
        let mut number = 0;
        for shift in (0..u32::BITS).step_by(3) {
            let nibble = self.next()?;
            number |= u32::from(nibble & 7) << shift;
            if nibble & 8 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads the length of a run of at most `max` values.
    fn run(&mut self, max: usize) -> Option<usize> {
        let len = usize::try_from(self.number()?).ok()?;
        (len <= max).then_some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of 500, 501, 0, 0 and 0, 490, 65535, 0, by hand: the runs 0, 2: +500 = 1000 =
    /// 1 7 5 0 in octal digits, from the lowest 0 5 7 1; +1 = 2; 3 zeros, 2: -11 = 21 = 5 2;
    /// +65045 = 130090 = 376052, from the lowest 2 5 0 6 7 3; 1 zero, 0. Nibbles:
    /// 0 2 8 D F 1 2 3 | 2 D 2 A D 8 E F | 3 1 0 and padding.
    const WORDS: [u32; 3] = [0x028D_F123, 0x2D2A_D8EF, 0x3100_0000];

    fn image<'m>(format: &str, words: &[u32], size: [u32; 2]) -> RvlImage<'m> {
        let data = [
            &0_u32.to_le_bytes()[..],
            &10_100_f32.to_le_bytes(),
            &(-1_009_f32).to_le_bytes(),
            &size.map(u32::to_le_bytes).concat(),
            &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>(),
        ];
        RvlImage::new(format, Cow::Owned(data.concat())).unwrap()
    }

    #[test]
    fn runs_of_differences_become_pixels() {
        let rvl = "16UC1; compressedDepth rvl";
        let pixels = image(rvl, &WORDS, [4, 2]).pixels().unwrap();
        let values = [500_u16, 501, 0, 0, 0, 490, 65_535, 0];
        assert_eq!(pixels.samples, values.map(u16::to_be_bytes).concat());
        assert_eq!((pixels.width, pixels.height, pixels.bits), (4, 2, 16));
        // 9091 means 1 m: the runs 0, 1: +9091 = 18182 = 43406, from the lowest 6 0 4 3 4.
        // Nibbles: 0 1 E 8 C B 4.
        let rvl = "32FC1; compressedDepth rvl";
        let pixels = image(rvl, &[0x01E8_CB40], [1, 1]).pixels().unwrap();
        assert_eq!(pixels.samples, 1_000_u16.to_be_bytes());
    }

    #[test]
    fn missing_pixels_are_an_error_and_sizes_are_bounded() {
        let error = |words: &[u32], size| {
            let image = image("16UC1; compressedDepth rvl", words, size);
            image.pixels().unwrap_err().kind()
        };
        assert_eq!(error(&WORDS[..2], [4, 2]), ErrorKind::Malformed);
        assert_eq!(error(&WORDS, [4, 1]), ErrorKind::Malformed);
        assert_eq!(error(&WORDS, [4, 3]), ErrorKind::Malformed);
        assert_eq!(error(&[u32::MAX; 3], [4, 2]), ErrorKind::Malformed);
        assert_eq!(error(&WORDS, [u32::MAX, u32::MAX]), ErrorKind::Limit);
    }

    #[test]
    fn other_formats_are_files() {
        for format in ["16UC1; compressedDepth png", "16UC1; compressedDepth", "rvl"] {
            assert!(RvlImage::new(format, Cow::Borrowed(b"x")).is_err(), "{format}");
        }
    }
}
