//! Files in messages: what they are is seen from their bytes.

use std::borrow::Cow;

use logtool_core::ByteReader;

/// A file that is an image.
#[derive(Clone, Debug)]
pub struct ImageFile<'m> {
    /// The file as it is.
    ///
    /// What `compressed_depth_image_transport` writes before a PNG, 12 bytes, is not of
    /// the file.
    pub bytes: Cow<'m, [u8]>,
    /// What such files are called at their ends: `jpg`, `png`, `tiff`, `bmp`, `webp`, `avif`, or
    /// `bin` if it is none of these.
    pub extension: &'static str,
    /// Width and height, if that is easily seen.
    pub size: Option<(u32, u32)>,
    /// For depth that was quantised, the numbers `a` and `b` with which a value `v`
    /// other than 0 means `a / (v - b)` metres.
    pub quantisation: Option<(f32, f32)>,
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

impl<'m> ImageFile<'m> {
    /// The file in `data`, which is said to be of `format`.
    pub(super) fn new(format: &str, data: Cow<'m, [u8]>) -> Self {
        let (mut bytes, mut quantisation) = (data, None);
        if format.contains("compressedDepth")
            && let Some((inner, numbers)) = compressed_depth(&bytes)
        {
            let start = bytes.len() - inner.len();
            bytes = match bytes {
                Cow::Borrowed(all) => {
                    Cow::Borrowed(all.get(start..).unwrap_or_default())
                }
                Cow::Owned(all) => {
                    Cow::Owned(all.get(start..).unwrap_or_default().to_vec())
                }
            };
            // Depth of 16 bits is stored as it is.
            quantisation = format.starts_with("32FC1").then_some(numbers);
        }
        let extension = extension(&bytes);
        let size = match extension {
            "png" => png_size(&bytes),
            "jpg" => jpeg_size(&bytes),
            "bmp" => bmp_size(&bytes),
            _ => None,
        };
        Self { bytes, extension, size, quantisation }
    }
}

fn extension(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xFF, 0xD8, 0xFF, ..] => "jpg",
        [b'B', b'M', ..] => "bmp",
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => "tiff",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "webp",
        // A box of a length, `ftyp`, and the brand of the file (AVIF, 6.2).
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f', ..] => "avif",
        _ if bytes.starts_with(PNG) => "png",
        _ => "bin",
    }
}

/// `int32 format | float32 a | float32 b`, then a PNG.
fn compressed_depth(data: &[u8]) -> Option<(&[u8], (f32, f32))> {
    let mut cut = ByteReader::new(data);
    cut.u32()?;
    let numbers = (cut.f32()?, cut.f32()?);
    cut.rest().starts_with(PNG).then_some((cut.rest(), numbers))
}

/// A PNG begins with its header: after 8 bytes of sign, 4 of length, and `IHDR`.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut cut = ByteReader::new(bytes.get(16..)?);
    Some((cut.u32()?.swap_bytes(), cut.u32()?.swap_bytes()))
}

/// A JPEG is segments, `FF kind length`, of which one that begins a frame has the size.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut cut = ByteReader::new(bytes.get(2..)?);
    loop {
        let (0xFF, mut kind) = (cut.u8()?, cut.u8()?) else { return None };
        while kind == 0xFF {
            kind = cut.u8()?;
        }
        let len = usize::from(cut.u16()?.swap_bytes());
        let mut segment = ByteReader::new(cut.bytes(len.checked_sub(2)?)?);
        if matches!(kind, 0xC0..=0xCF) && !matches!(kind, 0xC4 | 0xC8 | 0xCC) {
            segment.u8()?;
            let height = segment.u16()?.swap_bytes();
            return Some((segment.u16()?.swap_bytes().into(), height.into()));
        }
    }
}

/// A BMP of Windows has its size after 14 bytes of file header and 4 of length; rows
/// from the top down are a negative height.
fn bmp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut cut = ByteReader::new(bytes.get(18..)?);
    let (width, height) = (cut.i32()?, cut.i32()?);
    Some((u32::try_from(width).ok()?, height.unsigned_abs()))
}
