//! Files of a few points, compared byte for byte with their specifications.

use std::{fs, path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, UInt8Array, UInt32Array,
};

use super::*;
use crate::{
    ExistingFiles, NameStyle, PointColor, PointsPerFile,
    testing::{column, table, times, topic},
};

/// Two points of scan 4, and one of scan 5 without a position.
fn points() -> RecordBatch {
    let floats =
        |values: [f32; 3]| Arc::new(Float32Array::from(values.to_vec())) as ArrayRef;
    table(vec![
        times("ns", vec![Some(1_500_000_000), Some(1_500_000_007), None]),
        column("z", floats([3.0, -0.5, 0.0])),
        column("intensity", Arc::new(UInt8Array::from(vec![255, 51, 0]))),
        column("x", floats([1.0, 0.1, f32::NAN])),
        column("y", Arc::new(Float64Array::from(vec![2.0, 0.25, 0.0]))),
        column("scan", Arc::new(UInt32Array::from(vec![4, 4, 5]))),
    ])
}

/// Writes the points into `dir`, and returns how many points the format could not store.
fn write(dir: &Path, format: PointFormat, points_per_file: PointsPerFile) -> u64 {
    // The second batch continues the scan of the first.
    let (batch, topic) = (points(), topic("points", 0));
    write_batches(
        dir,
        &[batch.slice(0, 1), batch.slice(1, 2)],
        &topic,
        format,
        points_per_file,
    )
}

/// Writes `batches` of `topic` into `dir`, and returns how many points the format could not store.
fn write_batches(
    dir: &Path,
    batches: &[RecordBatch],
    topic: &Topic,
    format: PointFormat,
    points_per_file: PointsPerFile,
) -> u64 {
    let (sink, outputs) = sink(dir, topic, format, points_per_file);
    let mut survey = sink.survey.new_table(topic, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| survey.write(batch).unwrap());
    survey.finish().unwrap();
    let mut writer = sink.new_table(topic, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    outputs.commit().unwrap();
    sink.losses().points
}

/// Creates a sink that writes files of points of `topic` into `dir`.
fn sink(
    dir: &Path,
    topic: &Topic,
    format: PointFormat,
    points_per_file: PointsPerFile,
) -> (PointSink, Arc<Outputs>) {
    let outputs = Outputs::new(dir, ExistingFiles::Refuse);
    let names = [NameStyle::OmitInstanceZero, NameStyle::FolderIndex]
        .map(|style| FileNames::new(style, std::slice::from_ref(topic)));
    let (is_from_start, is_to_end) = (true, true);
    let options = PointOptions {
        format,
        points_per_file,
        is_unix: false,
        is_from_start,
        is_to_end,
        color: PointColor::Height,
        reach_metres: None,
    };
    let survey = PointSurvey::new(format, None);
    (PointSink::new(outputs.clone(), names, BTreeMap::new(), options, survey), outputs)
}

/// Returns the header without its comments, and the bytes after it.
fn split_header(file: &[u8], last_line: &str) -> (String, Vec<u8>) {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let end = lines.iter().position(|line| line.starts_with(last_line.as_bytes()));
    let (header, data) = lines.split_at(end.unwrap() + 1);
    let header = header.iter().map(|line| str::from_utf8(line).unwrap());
    let header = header.filter(|line| !line.starts_with(['#', 'c']));
    (header.collect(), data.concat())
}

#[test]
fn pcd_fields_are_the_columns_with_the_position_first() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), PointFormat::PcdBinary, PointsPerFile::Log);
    let file = fs::read(dir.path().join("points.pcd")).unwrap();
    let (header, data) = split_header(&file, "DATA");
    let expected = "VERSION 0.7\nFIELDS x y z timestamp intensity scan\n\
                    SIZE 4 8 4 8 4 4\nTYPE F F F I F U\nCOUNT 1 1 1 1 1 1\nWIDTH 3\n\
                    HEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 3\nDATA binary\n";
    assert_eq!(header, expected);
    let first = [
        &1_f32.to_le_bytes()[..],
        &2_f64.to_le_bytes(),
        &3_f32.to_le_bytes(),
        &1_500_000_000_i64.to_le_bytes(),
        &255_f32.to_le_bytes(),
        &4_u32.to_le_bytes(),
    ];
    assert_eq!(data[..32], first.concat());
    assert_eq!(data.len(), 3 * 32);
}

#[test]
fn scan_files_are_named_by_number_and_time() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), PointFormat::PcdAscii, PointsPerFile::Scan);
    let folder = dir.path().join("points");
    let file = fs::read(folder.join("000004_1.500000000.pcd")).unwrap();
    let (_, data) = split_header(&file, "DATA");
    let rows = "1.0 2.0 3.0 1500000000 255.0 4\n0.1 0.25 -0.5 1500000007 51.0 4\n";
    assert_eq!(String::from_utf8(data).unwrap(), rows);
    let (_, data) = split_header(&fs::read(folder.join("000005.pcd")).unwrap(), "DATA");
    assert_eq!(data, b"nan 0.0 0.0 0 0.0 5\n");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    let index = fs::read_to_string(folder.join("index.csv")).unwrap();
    let row = "1500000000,1500000007,4,2,000004_1.500000000.pcd\n";
    assert!(index.contains(row), "{index}");
}

#[test]
fn ply_times_are_seconds_since_the_stated_origin() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), PointFormat::PlyAscii, PointsPerFile::Log);
    let file = fs::read(dir.path().join("points.ply")).unwrap();
    let text = str::from_utf8(&file).unwrap();
    assert!(text.starts_with("ply\nformat ascii 1.0\ncomment "));
    assert!(text.contains("\ncomment origin of timestamp: 1.500000000 s\n"), "{text}");
    let (header, data) = split_header(&file, "end_header");
    let expected = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\n\
                    property double y\nproperty float z\nproperty double timestamp\n\
                    property uchar intensity\nproperty uint scan\nend_header\n";
    assert_eq!(header, expected);
    let rows = "1.0 2.0 3.0 0.0 255 4\n0.1 0.25 -0.5 7e-9 51 4\nnan 0.0 0.0 nan 0 5\n";
    assert_eq!(String::from_utf8(data).unwrap().replace("e-09", "e-9"), rows);
}

/// Text files of PLY replace infinities by `nan` and count them; all other formats keep them.
#[test]
fn infinities_are_replaced_and_counted_in_ply_text_only() {
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    let floats = |values: [f32; 4]| Arc::new(Float32Array::from(values.to_vec())) as _;
    let doubles = vec![f64::NEG_INFINITY, 0.5, f64::MAX, f64::NAN];
    let batch = table(vec![
        column("x", floats([1.0, infinity, nan, f32::MAX])),
        column("y", Arc::new(Float64Array::from(doubles))),
        column("z", floats([-infinity, infinity, 0.0, -0.0])),
        column("intensity", Arc::new(UInt8Array::from(vec![1, 2, 3, 4]))),
    ]);
    let write = |format| {
        let dir = tempfile::tempdir().unwrap();
        let (sink, outputs) =
            sink(dir.path(), &topic("points", 0), format, PointsPerFile::Log);
        let mut writer = sink.new_table(&topic("points", 0), &batch.schema()).unwrap();
        writer.write(&batch.slice(0, 1)).unwrap();
        writer.write(&batch.slice(1, 3)).unwrap();
        writer.finish().unwrap();
        outputs.commit().unwrap();
        let file = dir.path().join(format!("points.{}", format.extension()));
        (fs::read(file).unwrap(), sink.losses().infinities)
    };
    let (file, infinities) = write(PointFormat::PlyAscii);
    let (_, rows) = split_header(&file, "end_header");
    let rows = String::from_utf8(rows).unwrap();
    let cells: Vec<Vec<&str>> =
        rows.lines().map(|row| row.split(' ').collect()).collect();
    let nans = cells.iter().flatten().filter(|cell| **cell == "nan").count();
    assert_eq!((cells[0][1], cells[1][0], nans), ("nan", "nan", 4 + 2), "{rows}");
    assert!(!rows.contains("inf") && infinities == 4, "{infinities}: {rows}");
    for format in
        [PointFormat::PlyBinary, PointFormat::PcdAscii, PointFormat::PcdBinary]
    {
        assert_eq!(write(format).1, 0, "{format:?}");
    }
}

#[test]
fn kitti_has_four_floats_for_each_point_with_a_position() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(write(dir.path(), PointFormat::Kitti, PointsPerFile::Log), 1);
    let file = fs::read(dir.path().join("points.bin")).unwrap();
    let numbers = [1.0_f32, 2.0, 3.0, 1.0, 0.1, 0.25, -0.5, 0.2];
    assert_eq!(file, numbers.map(f32::to_le_bytes).concat());
}

#[test]
fn kitti_has_intensities_from_0_to_1_and_counts_others() {
    let intensities = [-0.5_f32, 0.25, 1.0, f32::NAN, f32::INFINITY];
    let coordinate = || Arc::new(Float32Array::from(vec![2.0; 5])) as ArrayRef;
    let batch = table(vec![
        column("x", coordinate()),
        column("y", coordinate()),
        column("z", coordinate()),
        column("intensity", Arc::new(Float32Array::from(intensities.to_vec()))),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let (topic, format) = (topic("points", 0), PointFormat::Kitti);
    let (sink, outputs) = sink(dir.path(), &topic, format, PointsPerFile::Log);
    let mut survey = sink.survey.new_table(&topic, &batch.schema()).unwrap();
    survey.write(&batch).unwrap();
    survey.finish().unwrap();
    let mut writer = sink.new_table(&topic, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    outputs.commit().unwrap();
    assert_eq!(sink.losses().intensities, 3);
    let file = fs::read(dir.path().join("points.bin")).unwrap();
    let stored: Vec<u8> =
        file.chunks(16).flat_map(|point| point[12..].to_vec()).collect();
    let expected = [0.0_f32, 0.25, 1.0, 0.0, 1.0];
    assert_eq!(stored, expected.map(f32::to_le_bytes).concat());
}

#[test]
fn las_has_the_layout_of_its_specification() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(write(dir.path(), PointFormat::Las, PointsPerFile::Log), 1);
    let file = fs::read(dir.path().join("points.las")).unwrap();
    // LAS 1.2, table 1: signature, version, offset of the points, their format, length and number;
    // tables 5 and 6: x, y, z, intensity, returns, ..., GPS time; and four extra bytes, the number
    // of the scan.
    assert_eq!(file[..4], *b"LASF");
    assert_eq!(file[24..26], [1, 2]);
    assert_eq!(file[104..107], [1, 32, 0]);
    assert_eq!(file[107..111], 2_u32.to_le_bytes());
    let points_offset = u32::from_le_bytes(file[96..100].try_into().unwrap()) as usize;
    let second_point = &file[points_offset + 32..points_offset + 64];
    let coordinates = [1_000_i32, 2_500, -5_000].map(i32::to_le_bytes).concat();
    assert_eq!(second_point[..12], coordinates);
    assert_eq!(second_point[12..14], (51 * 257_u16).to_le_bytes());
    assert_eq!(second_point[14], 0b001_001);
    assert_eq!(second_point[20..28], 1.500_000_007_f64.to_le_bytes());
    assert_eq!(second_point[28..], 4_u32.to_le_bytes());
}

#[test]
fn table_without_position_columns_has_no_points() {
    let batch = table(vec![column("x", Arc::new(UInt8Array::from(vec![1])))]);
    assert!(!has_points(&batch.schema()));
    assert!(has_points(&points().schema()));
}

/// Three clouds of one point each: with intensities from 0 to 1, with bytes, and without
/// intensity.
fn clouds() -> (RecordBatch, Topic) {
    let floats = |values: [Option<f32>; 3]| {
        Arc::new(Float32Array::from(values.to_vec())) as ArrayRef
    };
    let bytes = |values: [Option<u8>; 3]| {
        Arc::new(UInt8Array::from(values.to_vec())) as ArrayRef
    };
    // The second column with a name.
    let second = |name: &str, array: ArrayRef| {
        let (field, array) = column(&format!("{name}_"), array);
        let own_name = ("own_name".to_owned(), name.to_owned());
        (field.with_metadata([own_name].into()), array)
    };
    let batch = table(vec![
        times("ns", vec![Some(1), Some(2), Some(3)]),
        column("stamp", times("ns", vec![Some(1), Some(2), Some(3)]).1),
        column("index", Arc::new(UInt32Array::from(vec![0, 0, 0]))),
        column("x", floats([1.0, 2.0, 3.0].map(Some))),
        column("y", floats([0.0; 3].map(Some))),
        column("z", floats([0.0; 3].map(Some))),
        column("intensity", floats([Some(0.25), None, None])),
        column("ring", floats([Some(3.0), None, None])),
        second("intensity", bytes([None, Some(250), None])),
        second("ring", bytes([None, Some(7), None])),
    ]);
    (batch, Topic { origin: TopicOrigin::Derived, ..topic("points", 0) })
}

#[test]
fn intensity_is_read_from_the_column_of_the_cloud() {
    let (batch, topic) = clouds();
    let dir = tempfile::tempdir().unwrap();
    for format in [PointFormat::Kitti, PointFormat::Las] {
        write_batches(
            dir.path(),
            std::slice::from_ref(&batch),
            &topic,
            format,
            PointsPerFile::Log,
        );
    }
    let file = fs::read(dir.path().join("points.bin")).unwrap();
    let intensities = [15, 31, 47].map(|end| file[end - 3..=end].to_vec());
    // A byte is divided by 255; a missing intensity is 0.
    let expected = [0.25_f32, 250.0 / 255.0, 0.0].map(|i| i.to_le_bytes().to_vec());
    assert_eq!(intensities, expected);
    let file = fs::read(dir.path().join("points.las")).unwrap();
    let points_offset = u32::from_le_bytes(file[96..100].try_into().unwrap()) as usize;
    // In a point of 58 bytes, the intensity is at 12, the user data at 17, the source at 18.
    for (index, intensity, ring) in [(0, 16_384_u16, 3_u8), (1, 64_250, 7), (2, 0, 0)] {
        let point = &file[points_offset + 58 * index..points_offset + 58 * (index + 1)];
        assert_eq!(point[12..14], intensity.to_le_bytes(), "{index}");
        assert_eq!(point[17..20], [ring, ring, 0], "{index}");
    }
}

#[test]
fn file_of_one_cloud_has_the_columns_of_that_cloud() {
    let (batch, derived_topic) = clouds();
    let common_columns = ["x", "y", "z", "record_time", "stamp", "index"];
    for format in [PointFormat::PcdAscii, PointFormat::PlyAscii] {
        let dir = tempfile::tempdir().unwrap();
        write_batches(
            dir.path(),
            std::slice::from_ref(&batch),
            &derived_topic,
            format,
            PointsPerFile::Scan,
        );
        for (file, columns) in [
            ("000000_0.000000001", &["intensity", "ring"][..]),
            ("000001_0.000000002", &["intensity", "ring"]),
            ("000002_0.000000003", &[]),
        ] {
            let file = format!("points/{file}.{}", format.extension());
            let text = fs::read_to_string(dir.path().join(file)).unwrap();
            let fields = text.lines().find_map(|line| line.strip_prefix("FIELDS "));
            let properties = text.lines().filter(|line| line.starts_with("property"));
            let properties = properties.filter_map(|line| line.split(' ').nth(2));
            let fields = fields.into_iter().flat_map(|fields| fields.split(' '));
            let names: Vec<&str> = fields.chain(properties).collect();
            assert_eq!(names, [&common_columns, columns].concat());
        }
    }
    // Other topics may have values later in columns that are null in the first points.
    let dir = tempfile::tempdir().unwrap();
    let logged_topic = Topic { origin: TopicOrigin::Logged, ..derived_topic };
    write_batches(
        dir.path(),
        &[batch],
        &logged_topic,
        PointFormat::PcdAscii,
        PointsPerFile::Scan,
    );
    let text = fs::read_to_string(dir.path().join("points/000002_0.000000003.pcd"));
    assert!(text.unwrap().contains(" intensity ring intensity_ ring_\n"));
}

#[test]
fn pcd_has_the_packed_colours_of_pcl_besides_three_columns() {
    let bytes = |value: u8| Arc::new(UInt8Array::from(vec![value])) as ArrayRef;
    let coordinate = || Arc::new(Float32Array::from(vec![1.0])) as ArrayRef;
    let batch = table(vec![
        times("ns", vec![Some(0)]),
        column("x", coordinate()),
        column("y", coordinate()),
        column("z", coordinate()),
        column("r", bytes(0x11)),
        column("g", bytes(0x22)),
        column("b", bytes(0x33)),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let (topic, format) = (topic("points", 0), PointFormat::PcdBinary);
    write_batches(dir.path(), &[batch], &topic, format, PointsPerFile::Log);
    let file = fs::read(dir.path().join("points.pcd")).unwrap();
    let (header, data) = split_header(&file, "DATA");
    assert!(header.contains("FIELDS x y z timestamp r g b rgb\n"), "{header}");
    assert!(header.contains("SIZE 4 4 4 8 1 1 1 4\n"), "{header}");
    // PCL: 0x00RRGGBB in the bits of a float.
    assert_eq!(data[20..], [0x11, 0x22, 0x33, 0x33, 0x22, 0x11, 0]);
}

/// Writes one point for each of the values of `column` as a PCD file, and returns its fields with
/// their sizes and types, and its data.
fn pcd_of_column(
    name: &str,
    values: ArrayRef,
    format: PointFormat,
) -> (Vec<String>, Vec<u8>) {
    let count = values.len();
    let coordinate = || Arc::new(Float32Array::from(vec![1.0; count])) as ArrayRef;
    let batch = table(vec![
        column("x", coordinate()),
        column("y", coordinate()),
        column("z", coordinate()),
        column(name, values),
    ]);
    let dir = tempfile::tempdir().unwrap();
    write_batches(
        dir.path(),
        &[batch],
        &topic("points", 0),
        format,
        PointsPerFile::Log,
    );
    let file = fs::read(dir.path().join("points.pcd")).unwrap();
    let (header, data) = split_header(&file, "DATA");
    let lines = ["FIELDS", "SIZE", "TYPE"]
        .map(|key| header.lines().find_map(|line| line.strip_prefix(key)).unwrap());
    // Without x, y and z.
    (
        lines.map(|line| line.split(' ').skip(4).collect::<Vec<_>>().join(" ")).into(),
        data,
    )
}

/// PCL's rule: in text, the bits of `rgb` are an unsigned integer (`TYPE U`), because opaque colours
/// with a red of 128 or more are NaN as floats.
#[test]
fn pcd_keeps_the_bits_of_packed_colours() {
    let colors = [0xFF11_2233_u32, 0xFFEE_DDCC, 0xFFFF_FFFF, 0];
    let float = colors.map(f32::from_bits).to_vec();
    let signed = colors.map(u32::cast_signed).to_vec();
    let arrays: [ArrayRef; 3] = [
        Arc::new(Float32Array::from(float)),
        Arc::new(Int32Array::from(signed)),
        Arc::new(UInt32Array::from(colors.to_vec())),
    ];
    for array in arrays {
        for (name, binary_type) in [("rgb", "F"), ("rgba", "U")] {
            let (lines, data) =
                pcd_of_column(name, array.clone(), PointFormat::PcdAscii);
            assert_eq!(lines, [name, "4", "U"]);
            let rows = "1.0 1.0 1.0 4279312947\n1.0 1.0 1.0 4293844428\n\
                        1.0 1.0 1.0 4294967295\n1.0 1.0 1.0 0\n";
            assert_eq!(str::from_utf8(&data).unwrap(), rows);
            let (lines, data) =
                pcd_of_column(name, array.clone(), PointFormat::PcdBinary);
            assert_eq!(lines, [name, "4", binary_type]);
            let bits: Vec<u8> =
                data.chunks(16).flat_map(|row| row[12..].to_vec()).collect();
            assert_eq!(bits, colors.map(u32::to_le_bytes).concat());
        }
    }
}

#[test]
fn pcd_has_times_of_64_bits_as_float32_and_exactly() {
    let pcd = |times: [f64; 2]| {
        let times = Arc::new(Float64Array::from(times.to_vec()));
        pcd_of_column("time", times, PointFormat::PcdAscii)
    };
    let (lines, data) = pcd([-0.5, 0.1]);
    assert_eq!(lines, ["time timestamp", "4 8", "F F"]);
    assert_eq!(data, b"1.0 1.0 1.0 -0.5 -0.5\n1.0 1.0 1.0 0.1 0.1\n");
    // Unix time, in seconds since the first point: a float32 has steps of 128 s there.
    let (_, data) = pcd([1_700_000_000.5, 1_700_000_000.75]);
    let rows = "1.0 1.0 1.0 0.0 1700000000.5\n1.0 1.0 1.0 0.25 1700000000.75\n";
    assert_eq!(str::from_utf8(&data).unwrap(), rows);
}
