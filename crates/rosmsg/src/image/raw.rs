//! Pixels as messages have them, and as they are shown.

use std::borrow::Cow;

use logtool_core::{Error, ErrorKind, Result};

use crate::image::{
    bayer::{self, Pattern},
    depth,
    packed::{self, Packed},
    rows::{PixelColor, Rows},
    yuv::{self, Order},
};

/// Pixels in rows of `step` bytes.
#[derive(Clone, Debug)]
pub struct RawImage<'m> {
    /// How many pixels a row has.
    pub width: u32,
    /// How many rows there are.
    pub height: u32,
    /// What they are, as the message says.
    pub encoding: Cow<'m, str>,
    /// Whether values of several bytes begin with the highest.
    pub is_big: bool,
    /// How many bytes a row is, with what may pad it.
    pub step: u32,
    /// The rows.
    pub data: &'m [u8],
}

/// Pixels to be shown or written: rows without gaps, from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// How many pixels a row has.
    pub width: u32,
    /// How many rows there are.
    pub height: u32,
    /// What samples a pixel is made of.
    pub color: PixelColor,
    /// How many bits a sample has: 8, or 16 with the higher byte first.
    pub bits: u8,
    /// The samples.
    pub samples: Vec<u8>,
    /// How many pixels are of distances of more than 65.535 m, which they cannot say.
    pub clipped: u64,
}

/// An encoding that can be shown.
enum Encoding {
    Packed(Packed),
    Bayer(Pattern, usize),
    Yuv(Order),
    /// Distances in metres, as floats of so many bytes.
    Depth(usize),
}

impl RawImage<'_> {
    /// The pixels.
    ///
    /// Colours become RGB or RGBA of as many bits as they have, grey and `16UC1` depth
    /// stays as it is. A Bayer pattern is filled in by averaging neighbours, `yuv422`
    /// is converted as ITU-R BT.601 says. Depth in floats, which are metres, becomes
    /// whole millimetres of 16 bits: 0 where there is none (NaN, infinite, negative), and
    /// 65535 from 65.535 m on.
    ///
    /// # Errors
    /// `Malformed` if pixels are missing; `Unsupported` if the encoding is another one.
    pub fn pixels(&self) -> Result<Pixels> {
        let Some(encoding) = Encoding::named(&self.encoding) else {
            let name: String = self.encoding.chars().take(80).collect();
            let what = format!("images encoded as {name:?} are not known");
            return Err(Error::new(ErrorKind::Unsupported, what));
        };
        let rows = self.rows(encoding.pixel_bytes()).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "the image is not all there")
        })?;
        let (width, height) = (self.width as usize, self.height as usize);
        let mut clipped = 0;
        let (color, bits, samples) = match encoding {
            Encoding::Packed(packed) => {
                let bits = if packed.is_wide { 16 } else { 8 };
                (packed.color(), bits, packed::samples(packed, rows, self.is_big))
            }
            Encoding::Bayer(pattern, size) => {
                let plane = packed::plane(rows, size, self.is_big);
                let rgb = bayer::fill(&plane, width, height, pattern);
                let bits = if size == 2 { 16 } else { 8 };
                (PixelColor::Rgb, bits, packed::bytes(&rgb, size))
            }
            Encoding::Yuv(order) => (PixelColor::Rgb, 8, yuv::samples(rows, order)),
            Encoding::Depth(size) => {
                let (samples, beyond) = depth::samples(rows, size, self.is_big);
                clipped = beyond;
                (PixelColor::Gray, 16, samples)
            }
        };
        let Self { width, height, .. } = *self;
        Ok(Pixels { width, height, color, bits, samples, clipped })
    }

    /// The rows, if all of them are there. A step of 0 means that nothing pads them.
    fn rows(&self, pixel_bytes: usize) -> Option<Rows<'_>> {
        let size = |number: u32| usize::try_from(number).ok();
        let (count, step) = (size(self.height)?, size(self.step)?);
        let len = size(self.width)?.checked_mul(pixel_bytes)?;
        let step = if step == 0 { len } else { step };
        let end = count.checked_sub(1)?.checked_mul(step)?.checked_add(len)?;
        let is_there = len > 0 && step >= len && end <= self.data.len();
        is_there.then_some(Rows { data: self.data, step, len, count })
    }
}

impl Encoding {
    /// Those of `sensor_msgs/image_encodings.h` that have an obvious picture. (What
    /// OpenCV knows as three or four bytes without a meaning, it shows as BGR.)
    fn named(name: &str) -> Option<Self> {
        let packed = |order, is_wide| Some(Self::Packed(Packed { order, is_wide }));
        match name {
            "mono8" | "8UC1" => packed(packed::GRAY, false),
            "mono16" | "16UC1" => packed(packed::GRAY, true),
            "rgb8" => packed(packed::RGB, false),
            "rgb16" => packed(packed::RGB, true),
            "bgr8" | "8UC3" => packed(packed::BGR, false),
            "bgr16" | "16UC3" => packed(packed::BGR, true),
            "rgba8" => packed(packed::RGBA, false),
            "rgba16" => packed(packed::RGBA, true),
            "bgra8" | "8UC4" => packed(packed::BGRA, false),
            "bgra16" | "16UC4" => packed(packed::BGRA, true),
            "yuv422" => Some(Self::Yuv(Order::Uyvy)),
            "yuv422_yuy2" => Some(Self::Yuv(Order::Yuyv)),
            "32FC1" => Some(Self::Depth(4)),
            "64FC1" => Some(Self::Depth(8)),
            _ => {
                let name = name.strip_prefix("bayer_")?;
                let (pattern, bits) = name.split_at_checked(4)?;
                let size = match bits {
                    "8" => 1,
                    "16" => 2,
                    _ => return None,
                };
                Some(Self::Bayer(Pattern::named(pattern)?, size))
            }
        }
    }

    fn pixel_bytes(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.pixel_bytes(),
            Self::Bayer(_, size) | Self::Depth(size) => *size,
            Self::Yuv(_) => 2,
        }
    }
}
