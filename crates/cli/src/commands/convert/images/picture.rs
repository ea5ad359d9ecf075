//! One image, as a file will hold it.

use logtool_core::{Record, Result, Timestamp, TopicId};
use logtool_rosbag::{ImageContent, ImageType, PixelColor};
use logtool_sinks::{PngColor, PngImage, encode_png};

/// An image that is to be written.
pub(super) struct Picture {
    pub(super) topic: TopicId,
    pub(super) time: Timestamp,
    pub(super) stamp: Timestamp,
    pub(super) size: Option<(u32, u32)>,
    pub(super) encoding: String,
    pub(super) frame_id: String,
    /// Of depth that was quantised, what it takes to undo that.
    pub(super) quantisation: Option<(f32, f32)>,
    extension: &'static str,
    /// The content of the file.
    pub(super) bytes: Vec<u8>,
}

impl Picture {
    /// The picture of the image that `record` is.
    pub(super) fn of(of: ImageType, record: &Record<'_>) -> Result<Self> {
        let image = of.parse(record.payload)?;
        let (size, quantisation, extension, bytes) = match image.content {
            ImageContent::File(file) => {
                (file.size, file.quantisation, file.extension, file.bytes.to_vec())
            }
            ImageContent::Raw(raw) => {
                let pixels = raw.pixels()?;
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
                (Some((raw.width, raw.height)), None, "png", encode_png(&png)?)
            }
        };
        Ok(Self {
            topic: record.topic,
            time: record.time,
            stamp: image.stamp,
            size,
            encoding: image.encoding.into_owned(),
            frame_id: image.frame_id.into_owned(),
            quantisation,
            extension,
            bytes,
        })
    }

    /// The time that the file is called after: the stamp, if there is one.
    pub(super) fn named_after(&self) -> Timestamp {
        if self.stamp == Timestamp::default() { self.time } else { self.stamp }
    }

    /// The name of the file: seconds, with `_` and a number if `same` images before had
    /// the same.
    pub(super) fn file_name(&self, same: u32) -> String {
        let nanos = self.named_after().as_nanos();
        let (seconds, nanos) =
            (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
        let again = if same > 0 { format!("_{same}") } else { String::new() };
        format!("{seconds}.{nanos:09}{again}.{}", self.extension)
    }
}
