//! One image as the content of a file.

use logtool_core::{Error, ErrorKind, Record, Result, Timestamp, Topic, TopicId};
use logtool_rosmsg::{
    DepthQuantization, ImageContent, ImageType, MAX_DECOMPRESSED_BYTES, PixelColor,
    Pixels,
};
use logtool_sinks::{PngColor, PngImage, WideGray, decode_wide_gray, encode_png};
use logtool_velodyne::vel;

/// The type of the records of a topic of images.
#[derive(Clone, Copy, Debug)]
pub enum ImageRecordType {
    /// Messages of ROS.
    Ros(ImageType),
    /// Messages of a `.vel` log.
    Vel,
}

impl ImageRecordType {
    /// Returns the type of the records of `topic`, if they are images.
    pub fn from_topic(topic: &Topic) -> Option<Self> {
        if vel::is_image_topic(topic) {
            Some(Self::Vel)
        } else {
            ImageType::from_topic(topic).map(Self::Ros)
        }
    }
}

/// How grey samples of 16 bits are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WideSamples {
    Unchanged,
    /// With 8 bits, from the lowest to the highest sample.
    Stretched,
}

/// The numbers of pixels whose values do not fit a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClippedPixels {
    /// Further than 65.535 m.
    pub(super) too_far: u64,
    /// Negative.
    pub(super) negative: u64,
}

/// An image as the content of a file.
pub struct ImageFile {
    pub(super) topic: TopicId,
    pub(super) time: Timestamp,
    pub(super) stamp: Timestamp,
    /// Width and height in pixels, if they are known.
    pub size: Option<(u32, u32)>,
    /// The encoding, as the message states it.
    pub encoding: String,
    pub(super) frame_id: String,
    /// The pixels whose values do not fit the file.
    pub(super) clipped: ClippedPixels,
    /// The number of trailing bytes after the fields of the message.
    pub(super) extra_bytes: usize,
    extension: &'static str,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

impl ImageFile {
    /// Encodes the image in `record` as a file. Returns `None` if it has no pixels.
    ///
    /// # Errors
    /// If the record is not an image of this type.
    pub fn new(
        record_type: ImageRecordType,
        record: &Record<'_>,
    ) -> Result<Option<Self>> {
        Self::with_samples(record_type, record, WideSamples::Unchanged)
    }

    /// Encodes the image in `record` for people: like [`new`](Self::new), but the range of grey
    /// images of 16 bits, e.g. of depth, is stretched. Programs show the upper 8 bits, which are
    /// nearly black for distances in millimetres.
    ///
    /// # Errors
    /// If the record is not an image of this type.
    pub fn for_display(
        record_type: ImageRecordType,
        record: &Record<'_>,
    ) -> Result<Option<Self>> {
        Self::with_samples(record_type, record, WideSamples::Stretched)
    }

    fn with_samples(
        record_type: ImageRecordType,
        record: &Record<'_>,
        wide_samples: WideSamples,
    ) -> Result<Option<Self>> {
        match record_type {
            ImageRecordType::Ros(record_type) => {
                Self::from_ros(record_type, record, wide_samples)
            }
            ImageRecordType::Vel => Self::from_vel(record).map(Some),
        }
    }

    /// Returns the image in a message of a `.vel` log: a JPEG unchanged, pixels as PNG.
    fn from_vel(record: &Record<'_>) -> Result<Self> {
        let malformed = |message| Error::new(ErrorKind::Malformed, message);
        let image = vel::CameraImage::from_payload(record.payload)
            .ok_or_else(|| malformed("the message is shorter than its image"))?;
        let side = |pixels: i32| u32::try_from(pixels).unwrap_or(0);
        let (width, height) = (side(image.header.width), side(image.header.height));
        let png = |color| {
            let samples = image.data;
            encode_png(&PngImage { width, height, color, is_wide: false, samples })
        };
        let (extension, bytes) = match image.encoding {
            "jpeg" => ("jpg", image.data.to_vec()),
            "mono8" => ("png", png(PngColor::Gray)?),
            "rgb8" => ("png", png(PngColor::Rgb)?),
            _ => {
                return Err(malformed(
                    "the bytes are neither a JPEG nor as many pixels",
                ));
            }
        };
        Ok(Self {
            topic: record.topic,
            time: record.time,
            stamp: record.time,
            size: Some((width, height)),
            encoding: image.encoding.to_owned(),
            frame_id: format!("camera {}", image.header.camera),
            clipped: ClippedPixels::default(),
            extra_bytes: 0,
            extension,
            bytes,
        })
    }

    /// Returns the image in a message of ROS.
    fn from_ros(
        image_type: ImageType,
        record: &Record<'_>,
        wide_samples: WideSamples,
    ) -> Result<Option<Self>> {
        let message = image_type.decompress(record.payload)?;
        let image = image_type.parse(&message)?;
        let (size, extension, bytes, clipped) = match image.content {
            ImageContent::Nothing => return Ok(None),
            ImageContent::File(file) => match file.quantization {
                Some(quantization) => {
                    png_file(depth_pixels(quantization, &file.bytes)?, wide_samples)?
                }
                None => {
                    let clipped = ClippedPixels::default();
                    (file.size, file.extension, file.bytes.into_owned(), clipped)
                }
            },
            ImageContent::Raw(raw) => png_file(raw.pixels()?, wide_samples)?,
            ImageContent::Rvl(rvl) => png_file(rvl.pixels()?, wide_samples)?,
        };
        Ok(Some(Self {
            topic: record.topic,
            time: record.time,
            stamp: image.stamp,
            size,
            encoding: image.encoding.into_owned(),
            frame_id: image.frame_id.into_owned(),
            clipped,
            extra_bytes: image.extra_bytes,
            extension,
            bytes,
        }))
    }

    /// Returns the time in the name of the file: the stamp, if there is one.
    pub(super) fn file_time(&self) -> Timestamp {
        if self.stamp == Timestamp::default() { self.time } else { self.stamp }
    }

    /// Returns the name of the file: seconds, followed by `_` and `earlier_images` if this many
    /// earlier images have the same time.
    pub(super) fn file_name(&self, earlier_images: u32) -> String {
        let nanos = self.file_time().as_nanos();
        let sign = if nanos < 0 { "-" } else { "" };
        let nanos = nanos.unsigned_abs();
        let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let suffix = if earlier_images > 0 {
            format!("_{earlier_images}")
        } else {
            String::new()
        };
        format!("{sign}{seconds}.{nanos:09}{suffix}.{}", self.extension)
    }
}

/// Returns the distances in `file`, a PNG of quantised depth, in millimetres as for raw images.
fn depth_pixels(quantization: DepthQuantization, file: &[u8]) -> Result<Pixels> {
    let WideGray { width, height, samples } =
        decode_wide_gray(file, MAX_DECOMPRESSED_BYTES)?;
    let (samples, too_far) = quantization.millimeters(&samples);
    let (color, bits) = (PixelColor::Gray, 16);
    Ok(Pixels { width, height, color, bits, samples, too_far, negative: 0 })
}

/// The size of an image, the extension and the bytes of its file, and what does not fit the file.
type EncodedFile = (Option<(u32, u32)>, &'static str, Vec<u8>, ClippedPixels);

/// Encodes `pixels` as a PNG file.
fn png_file(mut pixels: Pixels, wide_samples: WideSamples) -> Result<EncodedFile> {
    let is_grey = pixels.color == PixelColor::Gray;
    if pixels.bits == 16 && is_grey && wide_samples == WideSamples::Stretched {
        pixels.samples = stretch_contrast(&pixels.samples);
        pixels.bits = 8;
    }
    let png = PngImage {
        width: pixels.width,
        height: pixels.height,
        color: match pixels.color {
            PixelColor::Gray => PngColor::Gray,
            PixelColor::Rgb => PngColor::Rgb,
            PixelColor::Rgba => PngColor::Rgba,
        },
        is_wide: pixels.bits == 16,
        samples: &pixels.samples,
    };
    let Pixels { width, height, too_far, negative, .. } = pixels;
    let clipped = ClippedPixels { too_far, negative };
    Ok((Some((width, height)), "png", encode_png(&png)?, clipped))
}

/// Returns big-endian `samples` of 16 bits as samples of 8 bits. The lowest becomes 1 and the
/// highest 255. Samples of 0, for which a depth camera has no distance, stay 0.
fn stretch_contrast(samples: &[u8]) -> Vec<u8> {
    let (pairs, _) = samples.as_chunks::<2>();
    let values = || pairs.iter().map(|pair| u16::from_be_bytes(*pair));
    let known = || values().filter(|value| *value > 0);
    let lowest = known().min().unwrap_or_default();
    let range = u32::from(known().max().unwrap_or_default() - lowest).max(1);
    let stretch = |value: u16| match value.checked_sub(lowest) {
        Some(above) if value > 0 => {
            u8::try_from(1 + 254 * u32::from(above) / range).unwrap_or(u8::MAX)
        }
        _ => 0,
    };
    values().map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretched_samples_span_the_range_and_unknown_ones_stay_black() {
        let samples = [0_u16, 1000, 3000, 5000].map(u16::to_be_bytes).concat();
        assert_eq!(stretch_contrast(&samples), [0, 1, 128, 255]);
        assert_eq!(stretch_contrast(&[0, 7, 0, 7, 0, 0]), [1, 1, 0]);
        assert_eq!(stretch_contrast(&[0; 4]), [0, 0]);
        assert!(stretch_contrast(&[]).is_empty());
    }
}
