//! Raw pixels of messages, and their conversion for display.

use std::borrow::Cow;

use logtool_core::{Error, ErrorKind, Result};

use crate::image::{
    bayer::{self, BayerPattern},
    depth,
    interleaved_samples::{self, SampleLayout},
    rows::{ImageRows, PixelColor},
    yuv::{self, ColorPlane, Planes, YuvOrder},
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
    pub too_far: u64,
    /// The number of pixels of signed integers that are negative. They are stored as 0.
    pub negative: u64,
}

/// A supported encoding of pixels.
enum PixelEncoding {
    /// Interleaved samples.
    Interleaved(SampleLayout),
    /// One signed integer in each pixel, with this number of bytes.
    Signed(usize),
    /// One color in each pixel, in samples with this number of bytes.
    Bayer(BayerPattern, usize),
    /// Brightness and color of two pixels in four bytes.
    Yuv(YuvOrder),
    /// The brightness of all pixels, then the colors.
    YuvPlanes(ColorPlane),
    /// Distances in meters, as floats with this number of bytes.
    Depth(usize),
}

impl RawImage<'_> {
    /// Converts the pixels.
    ///
    /// Colors become RGB or RGBA with the same number of bits. Gray and depth of 16 bits (`16UC1`)
    /// are unchanged; negative values of signed integers (`16SC1`) become 0. The colors of a Bayer
    /// pattern are interpolated from neighbors, and brightness with color (`uyvy`, `nv12`) is
    /// converted according to ITU-R BT.601. Depth in meters, as floats, becomes millimeters of 16
    /// bits: 0 for invalid values (NaN, infinite, negative), and 65535 from 65.535 m on.
    ///
    /// # Errors
    /// `Malformed` if pixels are missing; `Unsupported` for other encodings.
    pub fn pixels(&self) -> Result<Pixels> {
        let Some(encoding) = PixelEncoding::from_name(&self.encoding) else {
            let name: String = self.encoding.chars().take(80).collect();
            let message = format!("the image encoding {name:?} is not supported");
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let incomplete = || Error::new(ErrorKind::Malformed, "the image is incomplete");
        let rows = self.rows(encoding.pixel_bytes()).ok_or_else(incomplete);
        let (width, height) = (self.width as usize, self.height as usize);
        let (mut too_far, mut negative) = (0, 0);
        let (color, bits, samples) = match encoding {
            PixelEncoding::Interleaved(layout) => {
                let bits = if layout.is_wide { 16 } else { 8 };
                let samples = interleaved_samples::samples(layout, rows?, self.is_big);
                (layout.color(), bits, samples)
            }
            PixelEncoding::Signed(size) => {
                let mut samples =
                    interleaved_samples::single_samples(rows?, size, self.is_big);
                negative = interleaved_samples::clear_negative(&mut samples, size);
                let bits = if size == 2 { 16 } else { 8 };
                (PixelColor::Gray, bits, interleaved_samples::encode(&samples, size))
            }
            PixelEncoding::Bayer(pattern, size) => {
                let plane =
                    interleaved_samples::single_samples(rows?, size, self.is_big);
                let rgb = bayer::interpolate(&plane, width, height, pattern);
                let bits = if size == 2 { 16 } else { 8 };
                (PixelColor::Rgb, bits, interleaved_samples::encode(&rgb, size))
            }
            PixelEncoding::Yuv(order) => {
                (PixelColor::Rgb, 8, yuv::samples(rows?, order))
            }
            PixelEncoding::YuvPlanes(layout) => {
                let step = if self.step == 0 { width } else { self.step as usize };
                let planes = Planes::new(self.data, (width, height), step, layout);
                (PixelColor::Rgb, 8, planes.ok_or_else(incomplete)?.samples())
            }
            PixelEncoding::Depth(size) => {
                let samples;
                (samples, too_far) = depth::samples(rows?, size, self.is_big);
                (PixelColor::Gray, 16, samples)
            }
        };
        let Self { width, height, .. } = *self;
        Ok(Pixels { width, height, color, bits, samples, too_far, negative })
    }

    /// Returns the rows, or `None` if pixels are missing.
    fn rows(&self, pixel_bytes: usize) -> Option<ImageRows<'_>> {
        let size = |number: u32| usize::try_from(number).ok();
        let len = size(self.width)?.checked_mul(pixel_bytes)?;
        ImageRows::new(self.data, size(self.step)?, len, size(self.height)?)
    }
}

impl PixelEncoding {
    /// Returns the encoding with this name in `sensor_msgs/image_encodings`, of ROS 1 or ROS 2, if
    /// it is supported. (`8UC3` and similar names do not state the colors; they are BGR or BGRA, as
    /// in OpenCV.)
    fn from_name(name: &str) -> Option<Self> {
        let interleaved =
            |order, is_wide| Some(Self::Interleaved(SampleLayout { order, is_wide }));
        let planes = |is_u_first, shared| {
            Some(Self::YuvPlanes(ColorPlane { is_u_first, shared }))
        };
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
            "8SC1" => Some(Self::Signed(1)),
            "16SC1" => Some(Self::Signed(2)),
            "uyvy" | "yuv422" => Some(Self::Yuv(YuvOrder::Uyvy)),
            "yuyv" | "yuv422_yuy2" => Some(Self::Yuv(YuvOrder::Yuyv)),
            "nv12" => planes(true, 2),
            "nv21" => planes(false, 2),
            "nv24" => planes(true, 1),
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
            Self::Bayer(_, size) | Self::Depth(size) | Self::Signed(size) => *size,
            Self::Yuv(_) => 2,
            Self::YuvPlanes(_) => 1,
        }
    }
}
