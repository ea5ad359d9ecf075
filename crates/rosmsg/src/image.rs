//! Images in messages of `sensor_msgs` and of Foxglove's protocol buffers: bytes to pixels,
//! without I/O.
//!
//! ```text
//! Image             Header | uint32 height | uint32 width | string encoding
//!                          | uint8 is_bigendian | uint32 step | uint8[] data
//! CompressedImage   Header | string format | uint8[] data
//! ```

mod bayer;
mod depth;
mod file;
mod interleaved_samples;
mod raw_image;
mod rows;
mod rvl;
mod yuv;

use std::borrow::Cow;

use logtool_core::{
    DamageKind, Error, ErrorKind, Result, Timestamp, Topic, decode_text,
};
use logtool_protobuf::{CompressedImage, PixelImage};

use crate::{
    field_reader::{Encoding, FieldReader, Header},
    message_compression::MAX_DECOMPRESSED_BYTES,
    sensor::json::JsonImage,
};

pub use self::{
    depth::DepthQuantization,
    file::ImageFile,
    raw_image::{Pixels, RawImage},
    rows::PixelColor,
    rvl::RvlImage,
};

/// The message types that contain images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageType {
    /// Pixels: `sensor_msgs/Image` or `foxglove.RawImage`.
    Raw(Encoding),
    /// A JPEG, PNG or other file: `sensor_msgs/CompressedImage` or `foxglove.CompressedImage`.
    Compressed(Encoding),
}

/// A message with an image.
#[derive(Clone, Debug)]
pub struct ImageMessage<'m> {
    /// The time in the header.
    pub stamp: Timestamp,
    /// The frame of the camera.
    pub frame_id: Cow<'m, str>,
    /// The encoding or the format in the message, e.g. `rgb8` or `bgr8; jpeg compressed bgr8`.
    pub encoding: Cow<'m, str>,
    /// The image itself.
    pub content: ImageContent<'m>,
    /// The number of bytes after the last field of the message.
    pub extra_bytes: usize,
}

/// The content of an image.
#[derive(Clone, Debug)]
pub enum ImageContent<'m> {
    /// Pixels.
    Raw(RawImage<'m>),
    /// A file.
    File(ImageFile<'m>),
    /// Depth that is compressed with RVL.
    Rvl(RvlImage<'m>),
    /// No pixels, or a file without bytes, e.g. because the camera is switched off.
    Nothing,
}

impl ImageType {
    /// Returns the image type of `topic`, or `None` if its records are not images.
    pub fn from_topic(topic: &Topic) -> Option<Self> {
        let encoding = Encoding::from_name(&topic.encoding)?;
        match (encoding, topic.type_name.as_str()) {
            (Encoding::Ros1, "sensor_msgs/Image")
            | (Encoding::Cdr, "sensor_msgs/msg/Image") => Some(Self::Raw(encoding)),
            (Encoding::Ros1, "sensor_msgs/CompressedImage")
            | (Encoding::Cdr, "sensor_msgs/msg/CompressedImage") => {
                Some(Self::Compressed(encoding))
            }
            (Encoding::Protobuf, PixelImage::TYPE) => Some(Self::Raw(encoding)),
            (Encoding::Protobuf | Encoding::Json, CompressedImage::TYPE) => {
                Some(Self::Compressed(encoding))
            }
            _ => None,
        }
    }

    /// Returns the message in `payload`, decompressed if it is compressed.
    ///
    /// # Errors
    /// `Limit` if it is too long; `Malformed` if it cannot be decompressed; `Unsupported` if its
    /// encapsulation is not supported.
    pub fn decompress(self, payload: &[u8]) -> Result<Cow<'_, [u8]>> {
        let (Self::Raw(encoding) | Self::Compressed(encoding)) = self;
        encoding.message(payload, MAX_DECOMPRESSED_BYTES).map_err(|unreadable| {
            match (unreadable.kind, unreadable.reason) {
                (DamageKind::OverLimit, _) => {
                    let max_mebibytes = MAX_DECOMPRESSED_BYTES >> 20;
                    let message = format!("the image has over {max_mebibytes} MiB");
                    Error::new(ErrorKind::Limit, message)
                }
                (DamageKind::Unsupported, Some(reason)) => {
                    Error::new(ErrorKind::Unsupported, reason)
                }
                _ => {
                    Error::new(ErrorKind::Malformed, "the image cannot be decompressed")
                }
            }
        })
    }

    /// Parses the image in `payload`, without the [per-record header](Topic::header_len) of its
    /// topic.
    ///
    /// # Errors
    /// `Malformed` if it is not an image.
    pub fn parse(self, payload: &[u8]) -> Result<ImageMessage<'_>> {
        let message = match self {
            Self::Raw(Encoding::Protobuf) => foxglove_raw(payload),
            Self::Compressed(Encoding::Protobuf) => foxglove_compressed(payload),
            Self::Compressed(Encoding::Json) => json_compressed(payload),
            Self::Raw(encoding) => raw_image(payload, encoding),
            Self::Compressed(encoding) => compressed_image(payload, encoding),
        };
        message.ok_or_else(|| Error::new(ErrorKind::Malformed, "this is not an image"))
    }
}

fn raw_image(payload: &[u8], encoding: Encoding) -> Option<ImageMessage<'_>> {
    let mut reader = FieldReader::new(payload, encoding)?;
    let header = reader.header()?;
    let (height, width) = (reader.u32()?, reader.u32()?);
    let name = decode_text(reader.text()?);
    let is_big = reader.u8()? != 0;
    let step = reader.u32()?;
    let data = reader.numbers(1)?;
    let image = RawImage { width, height, encoding: name.clone(), is_big, step, data };
    Some(message(header, name, pixels(image), reader.extra_bytes()))
}

fn compressed_image(payload: &[u8], encoding: Encoding) -> Option<ImageMessage<'_>> {
    let mut reader = FieldReader::new(payload, encoding)?;
    let header = reader.header()?;
    let format = decode_text(reader.text()?);
    let data = reader.numbers(1)?;
    let content = file(&format, Cow::Borrowed(data));
    Some(message(header, format, content, reader.extra_bytes()))
}

/// Parses an image of Foxglove's own type.
fn foxglove_raw(payload: &[u8]) -> Option<ImageMessage<'_>> {
    let image = PixelImage::parse(payload)?;
    let PixelImage { width, height, step, data, .. } = image;
    let header = Header { stamp: image.nanos, frame: image.frame_id };
    let name = decode_text(image.encoding);
    let encoding = name.clone();
    let image = RawImage { width, height, encoding, is_big: false, step, data };
    Some(message(header, name, pixels(image), 0))
}

/// Parses an image file of Foxglove's own type.
fn foxglove_compressed(payload: &[u8]) -> Option<ImageMessage<'_>> {
    let image = CompressedImage::parse(payload)?;
    let header = Header { stamp: image.nanos, frame: image.frame_id };
    let format = decode_text(image.format);
    let content = file(&format, Cow::Borrowed(image.data));
    Some(message(header, format, content, 0))
}

/// Parses an image file of Foxglove's own type in JSON.
fn json_compressed(payload: &[u8]) -> Option<ImageMessage<'_>> {
    let JsonImage { nanos, frame_id, format, data } = JsonImage::parse(payload)?;
    let content = file(&format, Cow::Owned(data));
    Some(ImageMessage {
        stamp: Timestamp::from_nanos(nanos),
        frame_id,
        encoding: format,
        content,
        extra_bytes: 0,
    })
}

fn pixels(image: RawImage<'_>) -> ImageContent<'_> {
    let has_no_pixels = image.width == 0 || image.height == 0;
    if has_no_pixels && image.data.is_empty() {
        ImageContent::Nothing
    } else {
        ImageContent::Raw(image)
    }
}

fn file<'m>(format: &str, data: Cow<'m, [u8]>) -> ImageContent<'m> {
    if data.is_empty() {
        return ImageContent::Nothing;
    }
    match RvlImage::new(format, data) {
        Ok(image) => ImageContent::Rvl(image),
        Err(data) => ImageContent::File(ImageFile::new(format, data)),
    }
}

fn message<'m>(
    header: Header<'m>,
    encoding: Cow<'m, str>,
    content: ImageContent<'m>,
    extra_bytes: usize,
) -> ImageMessage<'m> {
    ImageMessage {
        stamp: Timestamp::from_nanos(header.stamp),
        frame_id: decode_text(header.frame),
        encoding,
        content,
        extra_bytes,
    }
}

#[cfg(test)]
mod tests;
