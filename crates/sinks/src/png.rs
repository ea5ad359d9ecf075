//! Encodes pixels as PNG files.

use ::png::{BitDepth, ColorType, Compression, Encoder};
use logtool_core::{Error, ErrorKind, Result};

/// An image to encode. Its rows are stored from top to bottom without padding.
#[derive(Clone, Copy, Debug)]
pub struct PngImage<'p> {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// The samples of each pixel.
    pub color: PngColor,
    /// Whether samples have 16 bits (big-endian) instead of 8.
    pub is_wide: bool,
    /// The samples, row by row.
    pub samples: &'p [u8],
}

/// The samples of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PngColor {
    /// Brightness.
    Gray,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, opacity.
    Rgba,
}

/// Encodes `image` as a PNG file.
///
/// The compression is the fastest one, because stronger compression takes far more time than
/// reading and converting the image.
///
/// # Errors
/// `Malformed` if the number of samples does not match the size, or is 0.
pub fn encode_png(image: &PngImage<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, image.width, image.height);
    encoder.set_color(match image.color {
        PngColor::Gray => ColorType::Grayscale,
        PngColor::Rgb => ColorType::Rgb,
        PngColor::Rgba => ColorType::Rgba,
    });
    encoder.set_depth(if image.is_wide { BitDepth::Sixteen } else { BitDepth::Eight });
    encoder.set_compression(Compression::Fast);
    let into_error =
        |err| Error::new(ErrorKind::Malformed, "invalid image").with_source(err);
    let mut writer = encoder.write_header().map_err(into_error)?;
    writer.write_image_data(image.samples).map_err(into_error)?;
    writer.finish().map_err(into_error)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a file with the decoder of the crate `png`.
    fn decode(file: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader =
            ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut samples).unwrap();
        samples.truncate(info.buffer_size());
        (info.width, info.height, samples)
    }

    #[test]
    fn every_pixel_type_reads_back() {
        for (color, samples_per_pixel) in
            [(PngColor::Gray, 1), (PngColor::Rgb, 3), (PngColor::Rgba, 4)]
        {
            for is_wide in [false, true] {
                let len = 3 * 2 * samples_per_pixel * if is_wide { 2 } else { 1 };
                let samples: Vec<u8> = (0..len).map(|n| (n * 37 % 251) as u8).collect();
                let image =
                    PngImage { width: 3, height: 2, color, is_wide, samples: &samples };
                let file = encode_png(&image).unwrap();
                assert_eq!(decode(&file), (3, 2, samples), "{color:?} {is_wide}");
            }
        }
    }

    #[test]
    fn image_with_missing_samples_is_an_error() {
        let image = PngImage {
            width: 2,
            height: 2,
            color: PngColor::Gray,
            is_wide: false,
            samples: &[1, 2, 3],
        };
        assert_eq!(encode_png(&image).unwrap_err().kind(), ErrorKind::Malformed);
        let empty = PngImage { width: 0, ..image };
        assert_eq!(encode_png(&empty).unwrap_err().kind(), ErrorKind::Malformed);
    }
}
