//! One image, as a file will hold it.

use logtool_core::{Error, ErrorKind, Record, Result, Timestamp, Topic, TopicId};
use logtool_rosmsg::{ImageContent, ImageType, PixelColor};
use logtool_sinks::{PngColor, PngImage, encode_png};
use logtool_velodyne::vel;

/// What the records of a topic of images are.
#[derive(Clone, Copy, Debug)]
pub(in crate::commands) enum PictureType {
    /// Messages of ROS.
    Ros(ImageType),
    /// Messages of a `.vel` log.
    Vel,
}

impl PictureType {
    /// What the records of `topic` are, if they are images.
    pub(in crate::commands) fn of(topic: &Topic) -> Option<Self> {
        let is_vel =
            (topic.encoding.as_str(), topic.type_name.as_str()) == ("vel", "ImageM");
        if is_vel { Some(Self::Vel) } else { ImageType::of(topic).map(Self::Ros) }
    }
}

/// An image that is to be written.
pub(in crate::commands) struct Picture {
    pub(super) topic: TopicId,
    pub(super) time: Timestamp,
    pub(super) stamp: Timestamp,
    pub(in crate::commands) size: Option<(u32, u32)>,
    pub(in crate::commands) encoding: String,
    pub(super) frame_id: String,
    /// Of depth that was quantised, what it takes to undo that.
    pub(super) quantisation: Option<(f32, f32)>,
    /// How many pixels are further away than the file can say.
    pub(super) clipped: u64,
    /// How many bytes the message has more than its fields.
    pub(super) surplus: usize,
    extension: &'static str,
    /// The content of the file.
    pub(in crate::commands) bytes: Vec<u8>,
}

impl Picture {
    /// The picture of the image that `record` is; nothing if that has no pixels.
    pub(in crate::commands) fn of(
        of: PictureType,
        record: &Record<'_>,
    ) -> Result<Option<Self>> {
        match of {
            PictureType::Ros(of) => Self::of_ros(of, record),
            PictureType::Vel => Self::of_vel(record).map(Some),
        }
    }

    /// The picture of a message of a `.vel` log: a JPEG as it is, pixels as PNG.
    fn of_vel(record: &Record<'_>) -> Result<Self> {
        let odd = |what| Error::new(ErrorKind::Malformed, what);
        let picture = vel::Picture::of(record.payload)
            .ok_or_else(|| odd("the message is shorter than its image"))?;
        let side = |pixels: i32| u32::try_from(pixels).unwrap_or(0);
        let (width, height) = (side(picture.head.width), side(picture.head.height));
        let png = |color| {
            let samples = picture.data;
            encode_png(&PngImage { width, height, color, is_wide: false, samples })
        };
        let (extension, bytes) = match picture.encoding {
            "jpeg" => ("jpg", picture.data.to_vec()),
            "mono8" => ("png", png(PngColor::Gray)?),
            "rgb8" => ("png", png(PngColor::Rgb)?),
            _ => return Err(odd("the bytes are neither a JPEG nor as many pixels")),
        };
        Ok(Self {
            topic: record.topic,
            time: record.time,
            stamp: record.time,
            size: Some((width, height)),
            encoding: picture.encoding.to_owned(),
            frame_id: format!("camera {}", picture.head.camera),
            quantisation: None,
            clipped: 0,
            surplus: 0,
            extension,
            bytes,
        })
    }

    /// The picture of a message of ROS.
    fn of_ros(of: ImageType, record: &Record<'_>) -> Result<Option<Self>> {
        let message = of.unpacked(record.payload)?;
        let image = of.parse(&message)?;
        let mut clipped = 0;
        let (size, quantisation, extension, bytes) = match image.content {
            ImageContent::Nothing => return Ok(None),
            ImageContent::File(file) => {
                (file.size, file.quantisation, file.extension, file.bytes.into_owned())
            }
            ImageContent::Raw(raw) => {
                let pixels = raw.pixels()?;
                clipped = pixels.clipped;
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
        Ok(Some(Self {
            topic: record.topic,
            time: record.time,
            stamp: image.stamp,
            size,
            encoding: image.encoding.into_owned(),
            frame_id: image.frame_id.into_owned(),
            quantisation,
            clipped,
            surplus: image.surplus,
            extension,
            bytes,
        }))
    }

    /// The time that the file is called after: the stamp, if there is one.
    pub(super) fn named_after(&self) -> Timestamp {
        if self.stamp == Timestamp::default() { self.time } else { self.stamp }
    }

    /// The name of the file: seconds, with `_` and a number if `same` images before had
    /// the same.
    pub(super) fn file_name(&self, same: u32) -> String {
        let nanos = self.named_after().as_nanos();
        let sign = if nanos < 0 { "-" } else { "" };
        let nanos = nanos.unsigned_abs();
        let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let again = if same > 0 { format!("_{same}") } else { String::new() };
        format!("{sign}{seconds}.{nanos:09}{again}.{}", self.extension)
    }
}
