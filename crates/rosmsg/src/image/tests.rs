use super::*;
use crate::sensor::testing::Message;

/// Returns the pixels of an image with the stamp 1.5 s and the frame `base`.
fn pixels(
    size: (u32, u32),
    encoding: &str,
    is_big: bool,
    step: u32,
    data: &[u8],
) -> Result<Pixels> {
    let (width, height) = size;
    let message =
        Message::with_header(1, 500_000_000).u32(height).u32(width).text(encoding);
    let message = message.u8(is_big.into()).u32(step).text(data).0;
    let image = ImageType::Raw(Encoding::Ros1).parse(&message)?;
    assert_eq!((image.stamp.as_nanos(), &*image.frame_id), (1_500_000_000, "base"));
    let ImageContent::Raw(raw) = image.content else { panic!("{:?}", image.content) };
    raw.pixels()
}

fn samples(size: (u32, u32), encoding: &str, step: u32, data: &[u8]) -> Vec<u8> {
    pixels(size, encoding, false, step, data).unwrap().samples
}

#[test]
fn colors_are_ordered_red_green_blue_alpha() {
    assert_eq!(samples((1, 1), "rgb8", 3, &[1, 2, 3]), [1, 2, 3]);
    assert_eq!(samples((1, 1), "bgr8", 3, &[1, 2, 3]), [3, 2, 1]);
    assert_eq!(samples((1, 1), "rgba8", 4, &[1, 2, 3, 4]), [1, 2, 3, 4]);
    assert_eq!(samples((1, 1), "bgra8", 4, &[1, 2, 3, 4]), [3, 2, 1, 4]);
    assert_eq!(samples((1, 1), "bgr16", 6, &[1, 2, 3, 4, 5, 6]), [6, 5, 4, 3, 2, 1]);
}

#[test]
fn row_padding_is_skipped() {
    assert_eq!(samples((2, 2), "mono8", 3, &[1, 2, 9, 3, 4]), [1, 2, 3, 4]);
    assert_eq!(samples((2, 2), "mono8", 0, &[1, 2, 3, 4]), [1, 2, 3, 4]);
}

#[test]
fn samples_of_two_bytes_are_read_in_both_byte_orders() {
    let wide = |is_big| pixels((1, 1), "mono16", is_big, 2, &[1, 2]).unwrap();
    assert_eq!((wide(false).samples, wide(false).bits), (vec![2, 1], 16));
    assert_eq!(wide(true).samples, [1, 2]);
}

#[test]
fn depths_in_meters_become_millimeters_and_invalid_depths_0() {
    let meters = [1.2344_f32, f32::NAN, f32::INFINITY, -1.0, 70.0, 65.535];
    let expected = [1234_u16, 0, 0, 0, 65535, 65535].map(u16::to_be_bytes).concat();
    let little: Vec<u8> = meters.iter().flat_map(|m| m.to_le_bytes()).collect();
    assert_eq!(samples((6, 1), "32FC1", 24, &little), expected);
    let too_far = pixels((6, 1), "32FC1", false, 24, &little).unwrap().too_far;
    assert_eq!(too_far, 1);
    let big: Vec<u8> = meters.iter().flat_map(|m| m.to_be_bytes()).collect();
    assert_eq!(pixels((6, 1), "32FC1", true, 24, &big).unwrap().samples, expected);
    let double: Vec<u8> = [2.5_f64].iter().flat_map(|m| m.to_le_bytes()).collect();
    assert_eq!(samples((1, 1), "64FC1", 8, &double), 2500_u16.to_be_bytes());
}

#[test]
fn yuv_is_converted_by_bt601() {
    // 75 % color bars of BT.601 in 8 bits: (Y, Cb, Cr) to R, G, B.
    let bars = [
        ([180, 128, 128], [191, 191, 191]), // white
        ([162, 44, 142], [191, 191, 0]),    // yellow
        ([65, 100, 212], [191, 0, 0]),      // red
        ([35, 212, 114], [0, 0, 191]),      // blue
    ];
    for ([y, u, v], expected) in bars {
        let uyvy = samples((2, 1), "yuv422", 4, &[u, y, v, y]);
        assert_eq!(uyvy, samples((2, 1), "uyvy", 4, &[u, y, v, y]));
        for name in ["yuv422_yuy2", "yuyv"] {
            assert_eq!(uyvy, samples((2, 1), name, 4, &[y, u, y, v]), "{name}");
        }
        // All brightness, then a color for 2 x 2 pixels or for each pixel.
        for (name, data) in [
            ("nv12", [y, y, u, v].as_slice()),
            ("nv21", &[y, y, v, u]),
            ("nv24", &[y, y, u, v, u, v]),
        ] {
            assert_eq!(uyvy, samples((2, 1), name, 2, data), "{name}");
        }
        for (value, expected) in uyvy.iter().zip(expected.iter().cycle()) {
            assert!(value.abs_diff(*expected) <= 1, "{uyvy:?} {expected:?}");
        }
    }
    assert_eq!(samples((1, 1), "yuv422", 2, &[128, 126]).len(), 3);
}

/// Brightness of 235 with neutral color is white, 255; color is read from its own plane.
#[test]
fn planes_of_color_have_their_own_rows() {
    let white = |image: Vec<u8>| image.iter().map(|v| *v == 255).collect::<Vec<_>>();
    let (light, dark) = ([true; 3], [false; 3]);
    // 3 x 3 pixels: colors of 2 columns and 2 rows are shared, also those at the edges.
    let brightness = [235, 235, 16, 16, 235, 16, 235, 16, 235];
    let expected = [light, light, dark, dark, light, dark, light, dark, light].concat();
    let nv12 = [&brightness[..], &[128; 8]].concat();
    assert_eq!(white(samples((3, 3), "nv12", 3, &nv12)), expected);
    let nv24 = [&brightness[..], &[128; 18]].concat();
    assert_eq!(white(samples((3, 3), "nv24", 3, &nv24)), expected);
    // Padded rows: a step of 4, also for the rows of colors.
    let padded = [235, 235, 9, 9, 235, 235, 9, 9, 128, 128, 9, 9];
    assert_eq!(white(samples((2, 2), "nv21", 4, &padded)), [light; 4].concat());
    // A step of all planes, which some drivers state, means rows without padding.
    let tight = [235, 235, 235, 235, 128, 128];
    assert_eq!(white(samples((2, 2), "nv21", 3, &tight)), [light; 4].concat());
    assert_eq!(white(samples((2, 2), "nv21", 0, &tight)), [light; 4].concat());
    let missing = pixels((2, 2), "nv21", false, 2, &tight[..5]);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::Malformed);
    // A red of the second color must be at its columns only: (81, 90, 240) is red.
    let colors = [81, 81, 81, 81, 128, 128, 90, 240];
    let rgb = samples((4, 1), "nv12", 4, &colors);
    assert!(rgb[..6].iter().all(|v| v.abs_diff(76) <= 1), "{rgb:?}");
    assert!(rgb[6..].chunks(3).all(|p| p[0] > 250 && p[1] < 5 && p[2] < 5), "{rgb:?}");
}

#[test]
fn signed_integers_are_kept_and_negative_ones_counted() {
    let values = [0_i16, 1, -1, i16::MAX, i16::MIN];
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let image = pixels((5, 1), "16SC1", false, 10, &data).unwrap();
    let expected = [0_u16, 1, 0, 32767, 0].map(u16::to_be_bytes).concat();
    assert_eq!((image.samples, image.bits, image.negative), (expected, 16, 2));
    let image = pixels((3, 1), "8SC1", false, 3, &[127, 128, 255]).unwrap();
    assert_eq!((image.samples, image.bits, image.negative), (vec![127, 0, 0], 8, 2));
}

#[test]
fn quantized_depth_becomes_millimeters() {
    let quantization = DepthQuantization { a: 10_100.0, b: -1_009.0 };
    // depth = A / (v - B): 10100 / (0.5 m) - 1009 = 19191; 0 means no distance.
    let (samples, too_far) = quantization.millimeters(&[19_191, 9_091, 0, 1]);
    let expected = [500_u16, 1000, 0, 10_000].map(u16::to_be_bytes).concat();
    assert_eq!((samples, too_far), (expected, 0));
    let far = DepthQuantization { a: 1_000.0, b: 2.0 };
    let (samples, too_far) = far.millimeters(&[3, 2, 1]);
    // 1000 m; infinite; negative.
    let expected = [65_535_u16, 0, 0].map(u16::to_be_bytes).concat();
    assert_eq!((samples, too_far), (expected, 1));
}

#[test]
fn bayer_pattern_is_interpolated_from_neighbors() {
    // Red is 10, green 20, blue 30 everywhere, for every pattern.
    for (name, data) in [
        ("rggb", [10, 20, 20, 30]),
        ("bggr", [30, 20, 20, 10]),
        ("gbrg", [20, 30, 10, 20]),
        ("grbg", [20, 10, 30, 20]),
    ] {
        let actual = samples((2, 2), &format!("bayer_{name}8"), 2, &data);
        assert_eq!(actual, [10, 20, 30].repeat(4), "{name}");
    }
    // In the middle of rggb, blue is 2 (its own), green of 4 neighbors, red of the corners.
    let data = [0, 1, 8, 3, 2, 5, 4, 7, 12];
    let actual = samples((3, 3), "bayer_rggb8", 3, &data);
    assert_eq!(actual[12..15], [6, 4, 2]);
    let wide: Vec<u8> =
        data.iter().flat_map(|v| (u16::from(*v) * 100).to_le_bytes()).collect();
    let actual = samples((3, 3), "bayer_rggb16", 6, &wide);
    assert_eq!(actual[24..30], [600_u16, 400, 200].map(u16::to_be_bytes).concat());
}

#[test]
fn incomplete_and_unsupported_images_are_rejected() {
    for (size, step, len) in
        [((2, 2), 2, 3), ((2, 2), 1, 9), ((u32::MAX, u32::MAX), u32::MAX, 9)]
    {
        let incomplete = pixels(size, "mono8", false, step, &vec![0; len]);
        assert_eq!(incomplete.unwrap_err().kind(), ErrorKind::Malformed);
    }
    let empty = pixels((0, 2), "mono8", false, 0, &[1]);
    assert_eq!(empty.unwrap_err().kind(), ErrorKind::Malformed);
    let unsupported = pixels((1, 1), "nv16", false, 1, &[0]);
    assert_eq!(unsupported.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn images_without_pixels_are_empty_and_trailing_bytes_are_counted() {
    let stamped = || Message::with_header(1, 0);
    let raw = |width: u32, data: &[u8], trailing: &[u8]| {
        let message = stamped().u32(width).u32(width).text("mono8").u8(0).u32(width);
        message.text(data).raw(trailing).0
    };
    let file = |data: &[u8], trailing: &[u8]| {
        stamped().text("jpeg").text(data).raw(trailing).0
    };
    let raw_type = ImageType::Raw(Encoding::Ros1);
    let file_type = ImageType::Compressed(Encoding::Ros1);
    for (image_type, message, is_empty, extra_bytes) in [
        (raw_type, raw(0, &[], &[]), true, 0),
        (raw_type, raw(1, &[7], &[]), false, 0),
        (raw_type, raw(1, &[7], &[1, 2]), false, 2),
        (file_type, file(&[], &[]), true, 0),
        (file_type, file(b"BM", &[]), false, 0),
        (file_type, file(b"BM", &[1, 2, 3]), false, 3),
    ] {
        let image = image_type.parse(&message).unwrap();
        assert_eq!(image.extra_bytes, extra_bytes);
        assert_eq!(matches!(image.content, ImageContent::Nothing), is_empty);
    }
}

/// Returns the extension, the size and the length of the file in a message.
fn file(format: &str, data: &[u8]) -> (&'static str, Option<(u32, u32)>, usize) {
    let message = Message::with_header(1, 500_000_000).text(format).text(data).0;
    let image = ImageType::Compressed(Encoding::Ros1).parse(&message).unwrap();
    let ImageContent::File(file) = image.content else { panic!("{:?}", image.content) };
    if format.contains("32FC1") {
        assert_eq!(file.quantization, Some(DepthQuantization { a: 2.0, b: 3.0 }));
    }
    (file.extension, file.size, file.bytes.len())
}

#[test]
fn formats_of_files_are_detected_by_their_bytes() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\0\0\x05";
    assert_eq!(file("jpeg", png), ("png", Some((258, 5)), 24));
    let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x08\x08\0\x05\x01\x02\x03";
    assert_eq!(file("bgr8; jpeg compressed bgr8", jpeg), ("jpg", Some((258, 5)), 18));
    assert_eq!(file("", b"\xFF\xD8\xFF\xE0\xFF\xFF"), ("jpg", None, 6));
    assert_eq!(file("", b"RIFF\0\0\0\0WEBPVP8 "), ("webp", None, 16));
    assert_eq!(file("", b"II*\0"), ("tiff", None, 4));
    let bmp = b"BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0\x07\0\0\0\xFE\xFF\xFF\xFF";
    assert_eq!(file("", bmp), ("bmp", Some((7, 2)), 26));
    assert_eq!(file("h264", b"\0\0\0\x01"), ("bin", None, 4));
    let depth = [&[0; 4][..], &2_f32.to_le_bytes(), &3_f32.to_le_bytes(), png].concat();
    assert_eq!(file("32FC1; compressedDepth", &depth), ("png", Some((258, 5)), 24));
}
