//! Raw pixels of messages, and their conversion for display.

use std::borrow::Cow;

use logtool_core::{Error, ErrorKind, Result};

use crate::image::{
    bayer::{self, BayerPattern},
    depth,
    interleaved_samples::{self, SampleLayout},
    rows::{ImageRows, PixelColor},
    yuv::{self, YuvOrder},
};

/// Pixels in rows of `step` bytes.
#[derive(Clone, Debug)]
pub struct RawImage<'m> {
    /// The number of pixels in a row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// The encoding in the message, e.g. `rgb8`.
    pub encoding: Cow<'m, str>,
    /// Whether values of several bytes are big-endian.
    pub is_big: bool,
    /// The length of a row in bytes, including padding.
    pub step: u32,
    /// The bytes of the rows.
    pub data: &'m [u8],
}

/// Pixels for display or output: rows without gaps, from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// The number of pixels in a row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// The samples of a pixel.
    pub color: PixelColor,
    /// The number of bits of a sample: 8, or 16 (big-endian).
    pub bits: u8,
    /// The samples.
    pub samples: Vec<u8>,
    /// The number of pixels with distances of more than 65.535 m, which do not fit.
    pub clipped: u64,
}

/// A supported encoding of pixels.
enum PixelEncoding {
    /// Interleaved samples.
    Interleaved(SampleLayout),
    /// One color in each pixel, in samples with this number of bytes.
    Bayer(BayerPattern, usize),
    /// Brightness and color of two pixels in four bytes.
    Yuv(YuvOrder),
    /// Distances in meters, as floats with this number of bytes.
    Depth(usize),
}

impl RawImage<'_> {
    /// Converts the pixels.
    ///
    /// Colors become RGB or RGBA with the same number of bits. Gray and depth of 16 bits (`16UC1`)
    /// are unchanged. The colors of a Bayer pattern are interpolated from neighbors, and `yuv422`
    /// is converted according to ITU-R BT.601. Depth in meters, as floats, becomes millimeters of
    /// 16 bits: 0 for invalid values (NaN, infinite, negative), and 65535 from 65.535 m on.
    ///
    /// # Errors
    /// `Malformed` if pixels are missing; `Unsupported` for other encodings.
    pub fn pixels(&self) -> Result<Pixels> {
        let Some(encoding) = PixelEncoding::from_name(&self.encoding) else {
            let name: String = self.encoding.chars().take(80).collect();
            let message = format!("the image encoding {name:?} is not supported");
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let rows = self.rows(encoding.pixel_bytes()).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "the image is incomplete")
        })?;
        let (width, height) = (self.width as usize, self.height as usize);
        let mut clipped = 0;
        let (color, bits, samples) = match encoding {
            PixelEncoding::Interleaved(layout) => {
                let bits = if layout.is_wide { 16 } else { 8 };
                let samples = interleaved_samples::samples(layout, rows, self.is_big);
                (layout.color(), bits, samples)
            }
            PixelEncoding::Bayer(pattern, size) => {
                let plane =
                    interleaved_samples::single_samples(rows, size, self.is_big);
                let rgb = bayer::interpolate(&plane, width, height, pattern);
                let bits = if size == 2 { 16 } else { 8 };
                (PixelColor::Rgb, bits, interleaved_samples::encode(&rgb, size))
            }
            PixelEncoding::Yuv(order) => {
                (PixelColor::Rgb, 8, yuv::samples(rows, order))
            }
            PixelEncoding::Depth(size) => {
                let samples;
                (samples, clipped) = depth::samples(rows, size, self.is_big);
                (PixelColor::Gray, 16, samples)
            }
        };
        let Self { width, height, .. } = *self;
        Ok(Pixels { width, height, color, bits, samples, clipped })
    }

    /// Returns the rows, or `None` if pixels are missing. A step of 0 means that rows are not
    /// padded.
    fn rows(&self, pixel_bytes: usize) -> Option<ImageRows<'_>> {
        let size = |number: u32| usize::try_from(number).ok();
        let (count, step) = (size(self.height)?, size(self.step)?);
        let len = size(self.width)?.checked_mul(pixel_bytes)?;
        let step = if step == 0 { len } else { step };
        let end = count.checked_sub(1)?.checked_mul(step)?.checked_add(len)?;
        let is_valid = len > 0 && step >= len && end <= self.data.len();
        is_valid.then_some(ImageRows { data: self.data, step, len, count })
    }
}

impl PixelEncoding {
    /// Returns the encoding with this name in `sensor_msgs/image_encodings.h`, if it is supported.
    /// (`8UC3` and similar names do not state the colors; they are BGR or BGRA, as in OpenCV.)
    fn from_name(name: &str) -> Option<Self> {
        let interleaved =
            |order, is_wide| Some(Self::Interleaved(SampleLayout { order, is_wide }));
        match name {
            "mono8" | "8UC1" => interleaved(interleaved_samples::GRAY, false),
            "mono16" | "16UC1" => interleaved(interleaved_samples::GRAY, true),
            "rgb8" => interleaved(interleaved_samples::RGB, false),
            "rgb16" => interleaved(interleaved_samples::RGB, true),
            "bgr8" | "8UC3" => interleaved(interleaved_samples::BGR, false),
            "bgr16" | "16UC3" => interleaved(interleaved_samples::BGR, true),
            "rgba8" => interleaved(interleaved_samples::RGBA, false),
            "rgba16" => interleaved(interleaved_samples::RGBA, true),
            "bgra8" | "8UC4" => interleaved(interleaved_samples::BGRA, false),
            "bgra16" | "16UC4" => interleaved(interleaved_samples::BGRA, true),
            "yuv422" => Some(Self::Yuv(YuvOrder::Uyvy)),
            "yuv422_yuy2" => Some(Self::Yuv(YuvOrder::Yuyv)),
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
                Some(Self::Bayer(BayerPattern::from_name(pattern)?, size))
            }
        }
    }

    /// Returns the number of bytes of a pixel.
    fn pixel_bytes(&self) -> usize {
        match self {
            Self::Interleaved(layout) => layout.pixel_bytes(),
            Self::Bayer(_, size) | Self::Depth(size) => *size,
            Self::Yuv(_) => 2,
        }
    }
}
