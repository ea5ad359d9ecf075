//! The images of the cameras.

use std::sync::Arc;

use arrow_array::{
    ArrayRef,
    builder::{
        BinaryBuilder, BooleanBuilder, Int32Builder, StringBuilder, UInt8Builder,
    },
};
use arrow_schema::{DataType, Field};
use logtool_core::{Columns, DamageKind, Decoder, Record, Result};

use crate::{
    rows::{self, RowBuilders, RowsDecoder},
    vel::{
        decode::layouts,
        message::ImageHeader,
        wire::{self, PREFIX_LEN},
    },
};

/// An image of a camera.
#[derive(Clone, Copy, Debug)]
pub struct CameraImage<'b> {
    /// The header of the message.
    pub head: ImageHeader,
    /// The encoding of `data`: `jpeg`; `mono8` or `rgb8` for uncompressed rows of pixels;
    /// `unknown`.
    pub encoding: &'static str,
    /// The bytes of the image.
    pub data: &'b [u8],
}

impl<'b> CameraImage<'b> {
    /// Returns the image in `payload`, a record of the topic `image`, or `None` if the
    /// payload is too short.
    pub fn from_payload(payload: &'b [u8]) -> Option<Self> {
        let (header, data) = ImageHeader::from_data(payload.get(PREFIX_LEN..)?)?;
        Some(Self { head: header, encoding: encoding(&header, data, data.len()), data })
    }
}

/// Returns whether the data of an `ImageM`, which starts with `start`, is a JPEG or rows
/// of pixels of the stated size.
pub(crate) fn is_valid_image(start: &[u8]) -> bool {
    let Some((header, len, picture)) = ImageHeader::parse_prefix(start) else {
        return false;
    };
    encoding(&header, picture, len as usize) != UNKNOWN
}

/// The name of an encoding that was not recognized.
const UNKNOWN: &str = "unknown";

/// Returns the columns. `encoding` is detected from the bytes of `data`: `jpeg`; `mono8`
/// or `rgb8` for uncompressed rows of pixels; `unknown`.
pub(crate) fn fields() -> Vec<Field> {
    let pixels =
        |name| layouts::with_unit(Field::new(name, DataType::Int32, false), "pixel");
    vec![
        Field::new("validity", DataType::UInt8, false),
        Field::new("version", DataType::Int32, false),
        Field::new("camera", DataType::Int32, false),
        Field::new("is_compressed", DataType::Boolean, false),
        pixels("width"),
        pixels("height"),
        Field::new("encoding", DataType::Utf8, false),
        Field::new("data", DataType::Binary, false),
    ]
}

/// Returns a decoder of these `columns`.
pub(crate) fn decoder(columns: &Columns) -> Result<Box<dyn Decoder>> {
    let schema = rows::schema(fields());
    let is_selected = rows::selected_columns(&schema, columns)?;
    let rows = ImageRows { wanted: is_selected.clone(), ..ImageRows::default() };
    Ok(RowsDecoder::decoder(&schema, &is_selected, rows))
}

/// Detects the encoding of an image of `len` bytes that starts with `data`.
fn encoding(header: &ImageHeader, data: &[u8], len: usize) -> &'static str {
    let len = len as i64;
    let pixels = i64::from(header.width) * i64::from(header.height);
    match (is_jpeg(data), header.is_compressed != 0) {
        (true, _) => "jpeg",
        (false, false) if pixels > 0 && len == pixels => "mono8",
        (false, false) if pixels > 0 && pixels.checked_mul(3) == Some(len) => "rgb8",
        _ => UNKNOWN,
    }
}

/// Returns whether `data` starts like a JPEG (ITU-T T.81, B.1.1.3): the start of the
/// image, then another marker.
fn is_jpeg(data: &[u8]) -> bool {
    data.starts_with(&[0xff, 0xd8, 0xff])
}

#[derive(Default)]
struct ImageRows {
    wanted: Vec<bool>,
    validity: UInt8Builder,
    version: Int32Builder,
    camera: Int32Builder,
    is_compressed: BooleanBuilder,
    width: Int32Builder,
    height: Int32Builder,
    encoding: StringBuilder,
    data: BinaryBuilder,
}

impl RowBuilders for ImageRows {
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind> {
        let undecodable = DamageKind::Undecodable;
        let header = wire::header(record.payload).ok_or(undecodable)?;
        let data = record.payload.get(PREFIX_LEN..).unwrap_or_default();
        let (head, picture) = ImageHeader::from_data(data).ok_or(undecodable)?;
        self.validity.append_value(header.validity);
        self.version.append_value(header.version);
        self.camera.append_value(head.camera);
        self.is_compressed.append_value(head.is_compressed != 0);
        self.width.append_value(head.width);
        self.height.append_value(head.height);
        self.encoding.append_value(encoding(&head, picture, picture.len()));
        if self.wanted.get(7) == Some(&true) {
            self.data.append_value(picture);
        }
        Ok(1)
    }

    fn finish(&mut self) -> Vec<Option<ArrayRef>> {
        let columns: [ArrayRef; 8] = [
            Arc::new(self.validity.finish()),
            Arc::new(self.version.finish()),
            Arc::new(self.camera.finish()),
            Arc::new(self.is_compressed.finish()),
            Arc::new(self.width.finish()),
            Arc::new(self.height.finish()),
            Arc::new(self.encoding.finish()),
            Arc::new(self.data.finish()),
        ];
        let is_selected = self.wanted.iter();
        columns
            .into_iter()
            .zip(is_selected)
            .map(|(c, is_selected)| is_selected.then_some(c))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(is_compressed: i32) -> ImageHeader {
        ImageHeader { camera: 0, is_compressed, width: 2, height: 2 }
    }

    fn kind(is_compressed: i32, data: &[u8]) -> &'static str {
        encoding(&head(is_compressed), data, data.len())
    }

    #[test]
    fn image_is_recognized_by_its_first_bytes() {
        let begins = |is_compressed: i32, len: u32, picture: &[u8]| {
            is_valid_image(
                &[head(is_compressed).to_data(len), picture.to_vec()].concat(),
            )
        };
        assert!(begins(1, 9_999, &[0xff, 0xd8, 0xff, 0xe0]));
        assert!(!begins(1, 9_999, b"\x89PNG"));
        assert!(begins(0, 12, &[0; 3]));
        assert!(!begins(0, 13, &[0; 3]));
        assert!(!begins(1, 0, &[]));
    }

    #[test]
    fn encoding_is_detected_from_the_bytes() {
        assert_eq!(kind(1, &[0xff, 0xd8, 0xff, 0xe0]), "jpeg");
        assert_eq!(kind(0, &[0xff, 0xd8, 0xff, 0xdb]), "jpeg");
        assert_eq!(kind(0, &[0; 4]), "mono8");
        assert_eq!(kind(0, &[0; 12]), "rgb8");
        assert_eq!(kind(0, &[0; 13]), "unknown");
        assert_eq!(kind(1, &[0; 12]), "unknown");
    }
}
