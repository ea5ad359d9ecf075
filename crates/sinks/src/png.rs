//! Pixels as PNG files.

use ::png::{BitDepth, ColorType, Compression, Encoder};
use logtool_core::{Error, ErrorKind, Result};

/// An image that is to be written: rows without gaps, from the top left.
#[derive(Clone, Copy, Debug)]
pub struct PngImage<'p> {
    /// How many pixels a row has.
    pub width: u32,
    /// How many rows there are.
    pub height: u32,
    /// What samples a pixel is made of.
    pub color: PngColor,
    /// Whether samples have 16 bits, the higher byte first, and not 8.
    pub is_wide: bool,
    /// The samples.
    pub samples: &'p [u8],
}

/// What samples a pixel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PngColor {
    /// One, how bright it is.
    Gray,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, and how opaque.
    Rgba,
}

/// The file of `image`.
///
/// It is packed in haste: making it smaller takes far longer than making it.
///
/// # Errors
/// `Malformed` if there are not as many samples as there have to be, or none.
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
    let odd = |err| Error::new(ErrorKind::Malformed, "no PNG").from_source(err);
    let mut writer = encoder.write_header().map_err(odd)?;
    writer.write_image_data(image.samples).map_err(odd)?;
    writer.finish().map_err(odd)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The image again, as the decoder of the crate `png` reads it.
    fn decoded(file: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader =
            ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut samples).unwrap();
        samples.truncate(info.buffer_size());
        (info.width, info.height, samples)
    }

    #[test]
    fn every_kind_of_pixel_is_read_again() {
        for (color, count) in
            [(PngColor::Gray, 1), (PngColor::Rgb, 3), (PngColor::Rgba, 4)]
        {
            for is_wide in [false, true] {
                let len = 3 * 2 * count * if is_wide { 2 } else { 1 };
                let samples: Vec<u8> = (0..len).map(|n| (n * 37 % 251) as u8).collect();
                let image =
                    PngImage { width: 3, height: 2, color, is_wide, samples: &samples };
                let file = encode_png(&image).unwrap();
                assert_eq!(decoded(&file), (3, 2, samples), "{color:?} {is_wide}");
            }
        }
    }

    #[test]
    fn an_image_without_all_its_samples_is_an_error() {
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
