//! Encodes pixels as PNG files, and decodes the brightness of such files.

use std::io::Cursor;

use ::png::{
    BitDepth, ColorType, Compression, Decoder, DecodingError, Encoder, Limits,
};
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

/// The pixels of a PNG file with brightness of 16 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideGray {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// The brightness of each pixel, row by row.
    pub samples: Vec<u16>,
}

/// Decodes `file`, a PNG file with brightness of 16 bits, whose samples have at most `max_bytes`
/// bytes.
///
/// # Errors
/// `Malformed` if the file is damaged, or has other samples; `Limit` if it has more bytes.
pub fn decode_wide_gray(file: &[u8], max_bytes: usize) -> Result<WideGray> {
    let too_long = || {
        let max_mebibytes = max_bytes >> 20;
        Error::new(ErrorKind::Limit, format!("the PNG has over {max_mebibytes} MiB"))
    };
    let failed = |err| match err {
        DecodingError::LimitsExceeded => too_long(),
        err => {
            let message = "the PNG cannot be decoded";
            Error::new(ErrorKind::Malformed, message).with_source(err)
        }
    };
    let limits = Limits { bytes: max_bytes };
    let decoder = Decoder::new_with_limits(Cursor::new(file), limits);
    let mut reader = decoder.read_info().map_err(failed)?;
    if reader.output_color_type() != (ColorType::Grayscale, BitDepth::Sixteen) {
        let message = "the PNG has other samples than brightness of 16 bits";
        return Err(Error::new(ErrorKind::Malformed, message));
    }
    let len = reader.output_buffer_size().filter(|len| *len <= max_bytes);
    let mut bytes = vec![0; len.ok_or_else(too_long)?];
    let frame = reader.next_frame(&mut bytes).map_err(failed)?;
    let (pairs, _) = bytes.as_chunks::<2>();
    Ok(WideGray {
        width: frame.width,
        height: frame.height,
        samples: pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect(),
    })
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
    fn brightness_of_16_bits_is_decoded_and_other_files_are_errors() {
        let image = |color, is_wide, samples: &[u8]| {
            let image = PngImage { width: 2, height: 1, color, is_wide, samples };
            encode_png(&image).unwrap()
        };
        let file = image(PngColor::Gray, true, &[1, 2, 3, 4]);
        let expected = WideGray { width: 2, height: 1, samples: vec![0x0102, 0x0304] };
        assert_eq!(decode_wide_gray(&file, 1 << 20).unwrap(), expected);
        let kind = |file: &[u8], max| decode_wide_gray(file, max).unwrap_err().kind();
        assert_eq!(kind(&file, 3), ErrorKind::Limit);
        assert_eq!(kind(&file[..file.len() - 20], 1 << 20), ErrorKind::Malformed);
        let narrow = image(PngColor::Gray, false, &[1, 2]);
        assert_eq!(kind(&narrow, 1 << 20), ErrorKind::Malformed);
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
