//! Image files in messages, whose format is detected from their bytes.

use std::borrow::Cow;

use logtool_core::ByteReader;

use crate::image::depth::DepthQuantization;

/// An image file.
#[derive(Clone, Debug)]
pub struct ImageFile<'m> {
    /// The bytes of the file, without the 12 bytes that `compressed_depth_image_transport` writes
    /// before a PNG.
    pub bytes: Cow<'m, [u8]>,
    /// The usual extension of such files: `jpg`, `png`, `tiff`, `bmp`, `webp`, `avif`, or `bin` if
    /// the format is unknown.
    pub extension: &'static str,
    /// The width and height in pixels, for PNG, JPEG and BMP.
    pub size: Option<(u32, u32)>,
    /// For depth in meters, which is quantized, the meaning of the values of the PNG.
    pub quantization: Option<DepthQuantization>,
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

impl<'m> ImageFile<'m> {
    /// Inspects the file in `data` with the declared `format`.
    pub(super) fn new(format: &str, data: Cow<'m, [u8]>) -> Self {
        let (mut bytes, mut quantization) = (data, None);
        if format.contains("compressedDepth")
            && let Some((png, parameters)) = depth_parameters(&bytes)
            && png.starts_with(PNG)
        {
            let start = bytes.len() - png.len();
            bytes = match bytes {
                Cow::Borrowed(message) => {
                    Cow::Borrowed(message.get(start..).unwrap_or_default())
                }
                Cow::Owned(message) => {
                    Cow::Owned(message.get(start..).unwrap_or_default().to_vec())
                }
            };
            // Only floats are quantized; depth of 16 bits is stored unchanged.
            quantization = format.starts_with("32FC1").then_some(parameters);
        }
        let extension = extension(&bytes);
        let size = match extension {
            "png" => png_size(&bytes),
            "jpg" => jpeg_size(&bytes),
            "bmp" => bmp_size(&bytes),
            _ => None,
        };
        Self { bytes, extension, size, quantization }
    }
}

/// Returns the extension for the format of the file, by its first bytes.
fn extension(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xFF, 0xD8, 0xFF, ..] => "jpg",
        [b'B', b'M', ..] => "bmp",
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => "tiff",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "webp",
        // A box: its length, `ftyp`, and the brand of the file (AVIF, 6.2).
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f', ..] => "avif",
        _ if bytes.starts_with(PNG) => "png",
        _ => "bin",
    }
}

/// Parses `int32 format | float32 a | float32 b`. Returns the bytes after it, and the parameters.
pub(super) fn depth_parameters(data: &[u8]) -> Option<(&[u8], DepthQuantization)> {
    let mut reader = ByteReader::new(data);
    reader.u32()?;
    let parameters = DepthQuantization { a: reader.f32()?, b: reader.f32()? };
    Some((reader.remaining(), parameters))
}

/// Reads the size of a PNG, whose header follows 8 bytes of signature, 4 of length, and `IHDR`.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut reader = ByteReader::new(bytes.get(16..)?);
    Some((reader.u32()?.swap_bytes(), reader.u32()?.swap_bytes()))
}

/// Reads the size of a JPEG. It consists of segments, which begin with `FF kind length`; the
/// segment that starts a frame contains the size.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut reader = ByteReader::new(bytes.get(2..)?);
    loop {
        let (0xFF, mut kind) = (reader.u8()?, reader.u8()?) else { return None };
        // A marker may begin with several FF.
        while kind == 0xFF {
            kind = reader.u8()?;
        }
        let len = usize::from(reader.u16()?.swap_bytes());
        let mut segment = ByteReader::new(reader.bytes(len.checked_sub(2)?)?);
        if matches!(kind, 0xC0..=0xCF) && !matches!(kind, 0xC4 | 0xC8 | 0xCC) {
            segment.u8()?;
            let height = segment.u16()?.swap_bytes();
            return Some((segment.u16()?.swap_bytes().into(), height.into()));
        }
    }
}

/// Reads the size of a Windows BMP, which follows 14 bytes of file header and 4 of length. A
/// negative height means that the rows go from top to bottom.
fn bmp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut reader = ByteReader::new(bytes.get(18..)?);
    let (width, height) = (reader.i32()?, reader.i32()?);
    Some((u32::try_from(width).ok()?, height.unsigned_abs()))
}
