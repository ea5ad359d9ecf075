mod other_fields;

use super::*;
use crate::sensor::testing::{Message, decode, names, nested_columns, rows};

/// The fields of a cloud: name, offset, type and count of `sensor_msgs/PointField`.
type Fields<'f> = &'f [(&'f str, u32, u8, u32)];

/// A `sensor_msgs/PointCloud2` with the stamp 1.5 s.
struct Cloud2<'c> {
    /// The height and the width.
    size: (u32, u32),
    fields: Fields<'c>,
    is_big: bool,
    /// The point step and the row step.
    steps: (u32, u32),
    data: &'c [u8],
}

impl Cloud2<'_> {
    fn bytes(&self) -> Vec<u8> {
        let (height, width) = self.size;
        let mut message = Message::with_header(1, 500_000_000).u32(height).u32(width);
        message = message.u32(self.fields.len() as u32);
        for (name, offset, kind, count) in self.fields {
            message = message.text(name).u32(*offset).u8(*kind).u32(*count);
        }
        let (point_step, row_step) = self.steps;
        message = message.u8(self.is_big.into()).u32(point_step).u32(row_step);
        message.text(self.data).u8(1).0
    }
}

/// Returns a decoder with the columns that the message `first` declares.
fn decoder(source: PointSource, first: &[u8], columns: &Columns) -> PointDecoder {
    let point_schema =
        source.point_schema_of(first, Encoding::Ros1).unwrap_or_default();
    PointDecoder::new(source, Encoding::Ros1, Arc::new(point_schema), columns).unwrap()
}

/// Returns the rows of `payloads` in the columns of the first of them, and the number of records in
/// the damage.
fn table(source: PointSource, payloads: &[&[u8]]) -> (RecordBatch, u64) {
    decode(decoder(source, payloads[0], &nested_columns()), payloads)
}

/// A FLOAT32 and a UINT16.
const X_AND_I: Fields<'_> = &[("x", 0, 7, 1), ("i", 4, 4, 1)];

/// Returns the data of two points with the fields `X_AND_I`: x 1.5, i 258; x -2, i 3. An unused
/// byte follows each point.
fn two_points() -> Vec<u8> {
    let mut data = Vec::new();
    for (x, i) in [(1.5_f32, 258_u16), (-2.0, 3)] {
        data.extend(x.to_le_bytes());
        data.extend(i.to_le_bytes());
        data.push(0xEE);
    }
    data
}

/// Returns a cloud with `data`, which are those of two points.
fn cloud_of_two(data: &[u8]) -> Cloud2<'_> {
    Cloud2 { size: (1, 2), fields: X_AND_I, is_big: false, steps: (7, 14), data }
}

#[test]
fn cloud_has_a_row_for_each_point() {
    let data = two_points();
    let cloud = cloud_of_two(&data);
    let (batch, damaged_records) = table(PointSource::Cloud2, &[&cloud.bytes()]);
    assert_eq!((names(&batch).as_str(), damaged_records), ("time stamp index x i", 0));
    assert_eq!(rows(&batch), ["1500000000 0 1.5 258", "1500000000 1 -2 3"]);
}

#[test]
fn all_types_are_read_in_both_byte_orders() {
    // 1 as each of INT8 UINT8 INT16 UINT16 INT32 UINT32 FLOAT32 FLOAT64.
    let sizes = [1, 1, 2, 2, 4, 4, 4, 8];
    let (mut fields, mut offset) = (Vec::new(), 0);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for ((name, size), kind) in names.iter().zip(sizes).zip(1..) {
        fields.push((*name, offset, kind, 1));
        offset += size;
    }
    for is_big in [false, true] {
        let mut data: Vec<u8> = Vec::new();
        for (kind, size) in (1..).zip(sizes) {
            let mut value = match kind {
                7 => 1_f32.to_le_bytes().to_vec(),
                8 => 1_f64.to_le_bytes().to_vec(),
                _ => 1_u32.to_le_bytes()[..size as usize].to_vec(),
            };
            if is_big {
                value.reverse();
            }
            data.extend(value);
        }
        let size = (1, 1);
        let cloud =
            Cloud2 { size, fields: &fields, is_big, steps: (26, 26), data: &data };
        let (batch, damaged_records) = table(PointSource::Cloud2, &[&cloud.bytes()]);
        assert_eq!(damaged_records, 0);
        assert_eq!(rows(&batch), ["1500000000 0 1 1 1 1 1 1 1 1"], "{is_big}");
    }
}

#[test]
fn row_step_and_point_step_are_respected() {
    // Two rows of two points. A point has a byte of value after an unused byte, and a row has 5
    // bytes.
    let cloud = Cloud2 {
        size: (2, 2),
        fields: &[("v", 1, 2, 1)],
        is_big: false,
        steps: (2, 5),
        data: &[0, 10, 0, 11, 99, 0, 20, 0, 21],
    };
    let (batch, damaged_records) = table(PointSource::Cloud2, &[&cloud.bytes()]);
    assert_eq!(
        (names(&batch).as_str(), damaged_records),
        ("time stamp index row column v", 0)
    );
    let expected: Vec<String> = ["0 0 0 10", "1 0 1 11", "2 1 0 20", "3 1 1 21"]
        .map(|s| format!("1500000000 {s}"))
        .into();
    assert_eq!(rows(&batch), expected);
}

#[test]
fn rows_with_an_impossible_step_follow_each_other() {
    let expected = ["0 0 0 10", "1 0 1 11", "2 1 0 20", "3 1 1 21"];
    let expected = expected.map(|row| format!("1500000000 {row}"));
    // Not set, the number of points, shorter than a row, the length of all data, too long.
    for row_step in [0, 2, 3, 4, 8, u32::MAX] {
        let cloud = Cloud2 {
            size: (2, 2),
            fields: &[("v", 1, 2, 1)],
            is_big: false,
            steps: (2, row_step),
            data: &[0, 10, 0, 11, 0, 20, 0, 21],
        };
        let (batch, damaged_records) = table(PointSource::Cloud2, &[&cloud.bytes()]);
        assert_eq!((rows(&batch).as_slice(), damaged_records), (&expected[..], 0));
    }
}

#[test]
fn field_with_several_values_is_a_list_or_a_column_each() {
    let data: Vec<u8> =
        [1_f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let fields: Fields<'_> = &[("h", 0, 7, 3)];
    let cloud =
        Cloud2 { size: (1, 1), fields, is_big: false, steps: (12, 12), data: &data };
    let bytes = cloud.bytes();
    let (batch, _) = table(PointSource::Cloud2, &[&bytes]);
    assert_eq!(rows(&batch), ["1500000000 0 [1.0, 2.0, 3.0]"]);
    let flat = decoder(PointSource::Cloud2, &bytes, &Columns::new(View::Flat));
    let (batch, _) = decode(flat, &[&bytes]);
    assert_eq!(names(&batch), "time stamp index h[0] h[1] h[2]");
    assert_eq!(rows(&batch), ["1500000000 0 1 2 3"]);
}

/// Returns the rows of `payloads` in the columns of all of them, and the damage.
fn table_with_merged_columns(
    source: PointSource,
    payloads: &[&[u8]],
) -> (RecordBatch, Vec<Damage>) {
    let mut schemas =
        payloads.iter().filter_map(|p| source.point_schema_of(p, Encoding::Ros1));
    let mut point_schema = schemas.next().unwrap();
    schemas.for_each(|schema| point_schema.merge(&schema));
    let decoder = PointDecoder::new(
        source,
        Encoding::Ros1,
        point_schema.into(),
        &nested_columns(),
    );
    decode_payloads(decoder.unwrap(), payloads)
}

/// Returns the rows of `payloads`, decoded one by one, and the damage.
fn decode_payloads(
    mut decoder: PointDecoder,
    payloads: &[&[u8]],
) -> (RecordBatch, Vec<Damage>) {
    let mut damage = Vec::new();
    for payload in payloads {
        let mut block = logtool_core::Block::default();
        block.reset(payload.to_vec().into(), 0);
        let time = logtool_core::Timestamp::from_nanos(100_000_000_000);
        block.push(logtool_core::TopicId(0), time, 0..payload.len());
        block.runs().for_each(|run| decoder.append(run, &mut damage));
    }
    (decoder.take().unwrap(), damage)
}

/// Returns the kind, the number of records and the reason of each damage.
fn kinds(damage: &[Damage]) -> Vec<(DamageKind, u64, &str)> {
    damage
        .iter()
        .map(|loss| {
            (loss.kind, loss.records, loss.reason.as_deref().unwrap_or_default())
        })
        .collect()
}

#[test]
fn invalid_cloud_is_damage() {
    let data = two_points();
    let valid = cloud_of_two(&data);
    let first = valid.bytes();
    let invalid_clouds = [
        Cloud2 { steps: (0, 14), ..valid },
        Cloud2 { steps: (u32::MAX, 14), ..valid },
        Cloud2 { fields: &[("x", 4, 7, 1)], ..valid },
        Cloud2 { fields: &[("x", u32::MAX, 7, 1)], ..valid },
        Cloud2 { fields: &[("x", 0, 7, u32::MAX)], ..valid },
        Cloud2 { fields: &[("x", 0, 9, 1)], ..valid },
    ];
    for invalid in invalid_clouds {
        let invalid = invalid.bytes();
        let (batch, damaged_records) = table(PointSource::Cloud2, &[&first, &invalid]);
        assert_eq!((batch.num_rows(), damaged_records), (2, 1));
    }
    for len in 0..first.len() {
        let (batch, damaged_records) =
            table(PointSource::Cloud2, &[&first, &first[..len]]);
        assert_eq!(
            (batch.num_rows(), damaged_records),
            (2, 1),
            "truncated to {len} bytes"
        );
    }
}

#[test]
fn trailing_bytes_are_counted_and_the_points_are_read() {
    let data = two_points();
    let cloud2 = cloud_of_two(&data);
    let cloud = Message::with_header(1, 0).u32(2).raw(&[0; 24]).u32(0);
    let scan = (0..7).fold(Message::with_header(1, 0), |scan, _| scan.f32(1.0));
    let scan = scan.floats(&[1.0, 1.0]).u32(0);
    for (source, message) in [
        (PointSource::Cloud2, cloud2.bytes()),
        (PointSource::Cloud, cloud.0),
        (PointSource::Scan, scan.0),
    ] {
        let with_trailing = [&message[..], b"zz"].concat();
        let decoder = decoder(source, &with_trailing, &nested_columns());
        let (batch, damage) = decode_payloads(decoder, &[&message, &with_trailing]);
        assert_eq!(batch.num_rows(), 4, "{source:?}");
        assert_eq!(kinds(&damage), [(DamageKind::ExtraBytes, 1, "")]);
        assert_eq!(damage[0].lost_bytes, 2);
    }
}

#[test]
fn existing_points_of_an_incomplete_cloud_are_read() {
    let data = two_points();
    let complete = cloud_of_two(&data);
    let first = complete.bytes();
    let incomplete_clouds = [
        (Cloud2 { size: (1, 3), ..complete }, 2),
        (Cloud2 { size: (1, u32::MAX), ..complete }, 2),
        (Cloud2 { steps: (8, 14), ..complete }, 1),
        (Cloud2 { data: &data[..13], ..complete }, 1),
    ];
    for (incomplete, count) in incomplete_clouds {
        let incomplete = incomplete.bytes();
        let (batch, damaged_records) =
            table(PointSource::Cloud2, &[&first, &incomplete]);
        assert_eq!((batch.num_rows(), damaged_records), (2 + count, 1));
        assert_eq!(rows(&batch)[2], "1500000000 0 1.5 258");
    }
    // All bytes of two rows of two points, with a row step of 5 bytes, except the last two.
    let cloud = Cloud2 {
        size: (2, 2),
        fields: &[("v", 1, 2, 1)],
        is_big: false,
        steps: (2, 5),
        data: &[0, 10, 0, 11, 99, 0, 20],
    };
    let (batch, damaged_records) = table(PointSource::Cloud2, &[&cloud.bytes()]);
    let expected =
        ["0 0 0 10", "1 0 1 11", "2 1 0 20"].map(|s| format!("1500000000 {s}"));
    assert_eq!((rows(&batch), damaged_records), (expected.into(), 1));
}

#[test]
fn points_of_a_cloud_with_a_wrong_row_step_are_read() {
    let data = two_points();
    let complete = cloud_of_two(&data);
    for row_step in [0, 6, 13, u32::MAX] {
        let wrong = Cloud2 { size: (2, 1), steps: (7, row_step), ..complete };
        let (batch, damaged_records) =
            table(PointSource::Cloud2, &[&complete.bytes(), &wrong.bytes()]);
        assert_eq!((batch.num_rows(), damaged_records), (4, 0), "{row_step}");
    }
}

#[test]
fn equal_names_of_columns_are_made_unique() {
    let fields: Fields<'_> = &[("time", 0, 2, 1), ("x", 0, 2, 1), ("x", 1, 2, 1)];
    let data = &[4, 5];
    let cloud = Cloud2 { size: (1, 1), fields, is_big: false, steps: (2, 2), data };
    let (batch, _) = table(PointSource::Cloud2, &[&cloud.bytes()]);
    assert_eq!(names(&batch), "time stamp index time_ x x_");
    assert_eq!(rows(&batch), ["1500000000 0 4 4 5"]);
}

#[test]
fn only_beams_with_a_valid_range_have_a_position() {
    // The angle of a beam is angle_min + i * angle_increment.
    let scan = Message::with_header(2, 0)
        .f32(0.0)
        .f32(1.5)
        .f32(std::f32::consts::FRAC_PI_2) // angles
        .f32(0.001)
        .f32(0.1) // times
        .f32(0.5)
        .f32(10.0) // ranges
        .floats(&[1.0, 2.0, 0.25, f32::INFINITY])
        .floats(&[7.0, 8.0]);
    let (batch, damaged_records) = table(PointSource::Scan, &[&scan.0]);
    assert_eq!(damaged_records, 0);
    assert_eq!(names(&batch), "time stamp index range intensity angle x y z beam_time");
    let rows = rows(&batch);
    assert_eq!(rows[0], "2000000000 0 1 7 0 1 0 0 2000000000");
    assert!(rows[1].starts_with("2000000000 1 2 8 1.5707964 "), "{}", rows[1]);
    assert!(rows[1].ends_with(" 2 0 2001000000"), "{}", rows[1]);
    assert_eq!(rows[2], "2000000000 2 0.25 - 3.1415927 - - - 2002000000");
    assert_eq!(rows[3], "2000000000 3 inf - 4.712389 - - - 2003000000");
}

/// The messages are JSON: five distances over 180 degrees, one of them infinite, of a sensor that is
/// 10 m ahead.
#[test]
fn beams_of_a_foxglove_scan_are_between_its_angles() {
    let scan = br#"{"timestamp":{"sec":2,"nsec":0},"start_angle":0,"end_angle":4,
        "pose":{"position":{"x":10,"y":0,"z":1},"orientation":{"w":1}},
        "ranges":[1,2,null,4,0],"intensities":[7]}"#;
    let source = PointSource::FoxgloveScan;
    let point_schema = source.point_schema().unwrap().into();
    let decoder =
        PointDecoder::new(source, Encoding::Json, point_schema, &nested_columns());
    let (batch, damaged_records) = decode(decoder.unwrap(), &[scan]);
    assert_eq!(damaged_records, 0);
    assert_eq!(names(&batch), "time stamp index range intensity angle x y z");
    let rows = rows(&batch);
    assert_eq!(rows[0], "2000000000 0 1 7 0 11 0 1");
    // 10 + 2 cos 1 and 2 sin 1
    assert_eq!(rows[1], "2000000000 1 2 - 1 11.080605 1.6829419 1");
    assert_eq!(rows[2], "2000000000 2 NaN - 2 - - -");
    assert!(rows[3].starts_with("2000000000 3 4 - 3 6.04"), "{}", rows[3]);
    assert_eq!(rows[4], "2000000000 4 0 - 4 10 0 1");
}

#[test]
fn cloud_of_the_old_type_has_its_channels_as_columns() {
    let points = || {
        let message = Message::with_header(3, 0).u32(2);
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].into_iter().fold(message, Message::f32)
    };
    let first = points().u32(1).text("rgb").floats(&[8.0, 9.0]).0;
    let no_channel = points().u32(0).0;
    let short = points().u32(1).text("rgb").floats(&[8.0]).0;
    let long = points().u32(1).text("rgb").floats(&[8.0, 9.0, 10.0]).0;
    let other = points().u32(1).text("curvature").floats(&[8.0, 9.0]).0;
    let payloads: [&[u8]; 5] = [&first, &no_channel, &short, &long, &other];
    let (batch, damaged_records) = table(PointSource::Cloud, &payloads);
    assert_eq!(
        (names(&batch).as_str(), damaged_records),
        ("time stamp index x y z rgb", 3)
    );
    let expected = [
        "0 0 1 2 8",
        "1 3 4 5 9",
        "0 0 1 2 -",
        "1 3 4 5 -",
        "0 0 1 2 8",
        "1 3 4 5 -",
        "0 0 1 2 8",
        "1 3 4 5 9",
        "0 0 1 2 -",
        "1 3 4 5 -",
    ];
    assert_eq!(rows(&batch), expected.map(|row| format!("3000000000 {row}")));
    let reasons = [
        "its channel rgb has 1 value for 2 points",
        "its channel rgb has 3 values for 2 points",
        "its channel curvature has no column, because no message that was inspected before had it",
    ];
    let decoder = decoder(PointSource::Cloud, &first, &nested_columns());
    let (_, damage) = decode_payloads(decoder, &payloads);
    let [too_few, too_many, no_column] = reasons;
    let mismatch = |reason| (DamageKind::TypeMismatch, 1, reason);
    let no_column = (DamageKind::NoColumn, 1, no_column);
    assert_eq!(kinds(&damage), [mismatch(too_few), mismatch(too_many), no_column]);
    let (batch, damage) = table_with_merged_columns(PointSource::Cloud, &payloads);
    assert_eq!(
        (names(&batch).as_str(), damage.len()),
        ("time stamp index x y z rgb curvature", 2)
    );
    assert_eq!(rows(&batch)[9], "3000000000 1 3 4 5 - 9");
}

#[test]
fn malicious_cloud_does_not_fill_memory() {
    // 500 fields of a byte for 8 million points: 4 GB of columns from 8 MB.
    let names: Vec<String> = (0..500).map(|index| index.to_string()).collect();
    let fields: Vec<_> = names.iter().map(|name| (name.as_str(), 0, 2, 1)).collect();
    let (size, data) = ((1, 1 << 23), vec![0; 1 << 23]);
    let cloud =
        Cloud2 { size, fields: &fields, is_big: false, steps: (1, 0), data: &data };
    let (batch, damaged_records) = table(PointSource::Cloud2, &[&cloud.bytes()]);
    assert_eq!((batch.num_rows(), damaged_records), (0, 1));
}

/// Converts `message` of the common type `type_name` to CDR.
fn to_cdr(type_name: &str, message: &[u8]) -> Vec<u8> {
    let layout = crate::Definition::by_name(type_name).unwrap().layout().unwrap();
    let transcoder = crate::Transcoder::for_ros1_layout(&layout).unwrap();
    let mut cdr = Vec::new();
    assert!(transcoder.to_cdr(message, &mut cdr), "{type_name}");
    cdr
}

#[test]
fn messages_in_cdr_have_the_same_points() {
    let data = two_points();
    let cloud2 = cloud_of_two(&data);
    let parameters = [0.0, 1.5, 0.5, 0.001, 0.1, 0.5, 10.0];
    let scan = parameters.into_iter().fold(Message::with_header(2, 0), Message::f32);
    let scan = scan.floats(&[1.0, 20.0]).floats(&[7.0, 8.0]).0;
    let cloud = Message::with_header(3, 0).u32(1).f32(0.0).f32(1.0).f32(2.0);
    let cloud = cloud.u32(1).text("rgb").floats(&[8.0]).0;
    for (source, type_name, message) in [
        (PointSource::Cloud2, "sensor_msgs/PointCloud2", cloud2.bytes()),
        (PointSource::Scan, "sensor_msgs/LaserScan", scan),
        (PointSource::Cloud, "sensor_msgs/PointCloud", cloud),
    ] {
        let (expected, damaged_records) = table(source, &[&message]);
        assert!(damaged_records == 0 && expected.num_rows() > 0, "{type_name}");
        let cdr = to_cdr(type_name, &message);
        let point_schema = source.point_schema_of(&cdr, Encoding::Cdr).unwrap();
        let decoder = PointDecoder::new(
            source,
            Encoding::Cdr,
            point_schema.into(),
            &nested_columns(),
        );
        let (actual, damaged_records) = decode(decoder.unwrap(), &[&cdr]);
        assert_eq!((actual, damaged_records), (expected, 0), "{type_name}");
    }
}
