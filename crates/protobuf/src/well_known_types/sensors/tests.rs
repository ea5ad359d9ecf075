//! Messages made by hand, and by the Python packages.

use super::*;
use crate::well_known_types::FrameTransform;

/// A cloud of two points, as written by the Python package protobuf, with comments by hand.
const CLOUD: &[u8] = b"\x0a\x04\x08\x05\x10\x07\x12\x03map\x25\x06\0\0\0\
    \x2a\x05\x0a\x01x\x18\x07\x2a\x0a\x0a\x01i\x15\x04\0\0\0\x18\x03\
    \x32\x0c\0\0\x80\x3f\x01\0\0\0\0\x40\x02\0";

#[test]
fn cloud_is_parsed_from_its_fields() {
    let cloud = PointCloud::parse(CLOUD).unwrap();
    assert_eq!((cloud.nanos, cloud.stride), (5_000_000_007, 6));
    assert_eq!(cloud.frame_id, b"map");
    let x = PackedField { name: b"x", offset: 0, kind: 7 };
    let i = PackedField { name: b"i", offset: 4, kind: 3 };
    assert_eq!(cloud.fields, [x, i]);
    assert_eq!(cloud.data, &CLOUD[CLOUD.len() - 12..]);
    assert_eq!(PointCloud::parse(b""), Some(PointCloud::default()));
    for len in 1..CLOUD.len() {
        // A message that is cut inside a field is rejected.
        let whole = [6, 11, 16, 23, 35];
        assert_eq!(PointCloud::parse(&CLOUD[..len]).is_some(), whole.contains(&len));
    }
    assert_eq!(PointCloud::parse(b"\x20\x06"), None, "a stride of another wire type");
}

/// Messages made by hand: a double is its key, and 8 bytes.
#[test]
fn pose_and_scan_are_parsed_from_their_fields() {
    let double = |number: u8, value: f64| {
        [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
    };
    let sized = |number: u8, bytes: &[u8]| {
        [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat()
    };
    let position = sized(1, &[double(1, 1.0), double(3, 3.0)].concat());
    let orientation = sized(2, &[double(3, 1.0), double(4, 1.0)].concat());
    let pose_bytes = sized(3, &[position, orientation].concat());
    let pose = Pose { position: [1.0, 0.0, 3.0], orientation: [0.0, 0.0, 1.0, 1.0] };
    let cloud = PointCloud::parse(&pose_bytes).unwrap();
    assert_eq!(cloud.pose, pose);
    let packed = [1.0_f64, 2.0].map(f64::to_le_bytes).concat();
    let scan = [
        sized(1, b"\x08\x05"),
        pose_bytes,
        double(4, -0.5),
        double(5, 0.5),
        sized(6, &packed),
        double(6, 3.0),
        double(7, 9.0),
    ];
    let scan = LaserScan::parse(&scan.concat()).unwrap();
    let expected = LaserScan {
        nanos: 5_000_000_000,
        pose,
        start_angle: -0.5,
        end_angle: 0.5,
        ranges: vec![1.0, 2.0, 3.0],
        intensities: vec![9.0],
    };
    assert_eq!(scan, expected);
    assert_eq!(LaserScan::parse(&sized(6, &[0; 7])), None);
    assert_eq!(LaserScan::parse(&[4 << 3, 1]), None, "an angle of another wire type");
}

#[test]
fn pose_rotates_and_then_translates() {
    // 90 degrees about z, as a quaternion of the length 2.
    let half = 2.0_f64.sqrt();
    let pose = Pose { position: [1.0, 2.0, 3.0], orientation: [0.0, 0.0, half, half] };
    let near = |[x, y, z]: [f64; 3], expected: [f64; 3]| {
        let deviations =
            [x, y, z].into_iter().zip(expected).map(|(a, b)| (a - b).abs());
        assert!(deviations.fold(0.0, f64::max) < 1e-12, "{x} {y} {z}, {expected:?}");
    };
    near(pose.apply([1.0, 0.0, 0.0]), [1.0, 3.0, 3.0]);
    near(pose.apply([0.0, 1.0, 0.5]), [0.0, 2.0, 3.5]);
    let third = Pose { position: [0.0; 3], orientation: [0.5, 0.5, 0.5, 0.5] };
    near(third.apply([1.0, 2.0, 3.0]), [3.0, 1.0, 2.0]);
    let absent = Pose { position: [1.0, 0.0, 0.0], orientation: [0.0; 4] };
    near(absent.apply([1.0, 2.0, 3.0]), [2.0, 2.0, 3.0]);
    assert_eq!(Pose::IDENTITY.apply([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
}

#[test]
fn images_are_parsed_from_their_fields() {
    let file = b"\x0a\x02\x08\x01\x12\x03abc\x1a\x03png\x22\x03cam\xa2\x06\x01u";
    let image = CompressedImage::parse(file).unwrap();
    let expected = CompressedImage {
        nanos: 1_000_000_000,
        frame_id: b"cam",
        format: b"png",
        data: b"abc",
    };
    assert_eq!(image, expected);
    let raw =
        b"\x15\x02\0\0\0\x1d\x01\0\0\0\x22\x05mono8\x2d\x02\0\0\0\x32\x02\x07\x09";
    let image = PixelImage::parse(raw).unwrap();
    assert_eq!((image.width, image.height, image.step), (2, 1, 2));
    assert_eq!((image.encoding, image.data), (&b"mono8"[..], &b"\x07\x09"[..]));
}

/// The bytes of foxglove-schemas-protobuf, which omits fields that are 0.
#[test]
fn messages_have_the_bytes_of_the_python_package() {
    let pose = b"\x1a\x0d\x0a\0\x12\x09\x21\0\0\0\0\0\0\xf0\x3f";
    let (head, rest) = CLOUD.split_at(11);
    let mut bytes = Vec::new();
    PointCloud::parse(CLOUD).unwrap().encode(&mut bytes);
    assert_eq!(bytes, [head, pose, rest].concat());

    bytes.clear();
    let transform = FrameTransform {
        nanos: -1,
        parent: "world",
        child: "base",
        translation: [1.0, 2.0, 3.0],
        rotation: [0.5, -0.5, 0.25, 1.0],
    };
    transform.encode(&mut bytes);
    let from_python = b"\x0a\x11\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\xff\x93\xeb\
        \xdc\x03\x12\x05world\x1a\x04base\x22\x1b\x09\0\0\0\0\0\0\xf0\x3f\x11\0\0\0\0\0\0\0\x40\
        \x19\0\0\0\0\0\0\x08\x40\x2a\x24\x09\0\0\0\0\0\0\xe0\x3f\x11\0\0\0\0\0\0\xe0\xbf\
        \x19\0\0\0\0\0\0\xd0\x3f\x21\0\0\0\0\0\0\xf0\x3f";
    assert_eq!(bytes, from_python);
}
