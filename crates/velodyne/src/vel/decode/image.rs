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
    /// The header of the image.
    pub header: ImageHeader,
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
        Some(Self { header, encoding: encoding(&header, data, data.len()), data })
    }
}

/// Returns whether the data of an `ImageM`, which starts with `first_bytes`, is a JPEG or
/// rows of pixels of the stated size.
pub(crate) fn is_valid_image(first_bytes: &[u8]) -> bool {
    let Some((header, len, image)) = ImageHeader::parse_prefix(first_bytes) else {
        return false;
    };
    encoding(&header, image, len as usize) != UNKNOWN
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
    let rows = ImageRows { is_selected: is_selected.clone(), ..ImageRows::default() };
    Ok(RowsDecoder::decoder(&schema, &is_selected, rows))
}

/// Detects the encoding of an image of `len` bytes that starts with `data`.
fn encoding(header: &ImageHeader, data: &[u8], len: usize) -> &'static str {
    if is_jpeg(data) {
        return "jpeg";
    }
    if header.is_compressed != 0 || header.width <= 0 || header.height <= 0 {
        return UNKNOWN;
    }
    let len = len as i64;
    let pixels = i64::from(header.width) * i64::from(header.height);
    if len == pixels {
        "mono8"
    } else if pixels.checked_mul(3) == Some(len) {
        "rgb8"
    } else {
        UNKNOWN
    }
}

/// Returns whether `data` starts like a JPEG (ITU-T T.81, B.1.1.3): the start of the
/// image, then another marker.
fn is_jpeg(data: &[u8]) -> bool {
    data.starts_with(&[0xff, 0xd8, 0xff])
}

#[derive(Default)]
struct ImageRows {
    /// Whether each column after the time is selected.
    is_selected: Vec<bool>,
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
        let message_header = wire::header(record.payload).ok_or(undecodable)?;
        let data = record.payload.get(PREFIX_LEN..).unwrap_or_default();
        let (header, image) = ImageHeader::from_data(data).ok_or(undecodable)?;
        self.validity.append_value(message_header.validity);
        self.version.append_value(message_header.version);
        self.camera.append_value(header.camera);
        self.is_compressed.append_value(header.is_compressed != 0);
        self.width.append_value(header.width);
        self.height.append_value(header.height);
        self.encoding.append_value(encoding(&header, image, image.len()));
        if self.is_selected.get(7) == Some(&true) {
            self.data.append_value(image);
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
        let columns = columns.into_iter().zip(&self.is_selected);
        columns.map(|(column, is_selected)| is_selected.then_some(column)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(is_compressed: i32) -> ImageHeader {
        ImageHeader { camera: 0, is_compressed, width: 2, height: 2 }
    }

    #[test]
    fn image_is_recognized_by_its_first_bytes() {
        let is_valid = |is_compressed: i32, len: u32, image: &[u8]| {
            let header = header(is_compressed).to_data(len);
            is_valid_image(&[header, image.to_vec()].concat())
        };
        assert!(is_valid(1, 9_999, &[0xff, 0xd8, 0xff, 0xe0]));
        assert!(!is_valid(1, 9_999, b"\x89PNG"));
        assert!(is_valid(0, 12, &[0; 3]));
        assert!(!is_valid(0, 13, &[0; 3]));
        assert!(!is_valid(1, 0, &[]));
    }

    #[test]
    fn encoding_is_detected_from_the_bytes() {
        let detected = |is_compressed: i32, data: &[u8]| {
            encoding(&header(is_compressed), data, data.len())
        };
        assert_eq!(detected(1, &[0xff, 0xd8, 0xff, 0xe0]), "jpeg");
        assert_eq!(detected(0, &[0xff, 0xd8, 0xff, 0xdb]), "jpeg");
        assert_eq!(detected(0, &[0; 4]), "mono8");
        assert_eq!(detected(0, &[0; 12]), "rgb8");
        assert_eq!(detected(0, &[0; 13]), "unknown");
        assert_eq!(detected(1, &[0; 12]), "unknown");
    }

    #[test]
    fn uncompressed_image_with_a_negative_size_has_an_unknown_encoding() {
        let header = ImageHeader { width: -2, height: -2, ..header(0) };
        assert_eq!(encoding(&header, &[0; 4], 4), "unknown");
    }
}
