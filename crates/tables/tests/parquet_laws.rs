//! Tests that Parquet files keep the laws of all formats, and that their values are read correctly.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

mod common;

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray,
    Float64Array, Int64Array, LargeStringArray, ListArray, RecordBatch, StructArray,
    TimestampMicrosecondArray, UInt8Array,
    cast::AsArray as _,
    types::{Float64Type, Int32Type, TimestampNanosecondType},
};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use common::table;
use logtool_core::{
    ClockZero, DamageKind, ErrorKind, Format as _, Log, OpenOptions, View,
};
use logtool_tables::parquet::{FORMAT, Parquet};
use parquet::{
    arrow::ArrowWriter,
    basic::Compression,
    file::{metadata::KeyValue, properties::WriterProperties},
};

const ROWS: i64 = 100;

/// Returns a table with nested columns, nulls and several kinds of strings.
fn rows() -> RecordBatch {
    let times =
        TimestampMicrosecondArray::from_iter_values((0..ROWS).map(|row| row * 500));
    let x = Float64Array::from_iter(
        (0..ROWS).map(|row| (row % 3 > 0).then_some(row as f64)),
    );
    let mode: DictionaryArray<Int32Type> =
        (0..ROWS).map(|row| ["manual", "auto"][row as usize % 2]).collect();
    let text =
        LargeStringArray::from_iter((0..ROWS).map(|row| Some(format!("row {row}"))));
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..ROWS as i32).map(|row| Some((0..row % 4).map(Some))),
    );
    let array = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(
        (0..ROWS).map(|row| Some([Some(row as f64), None])),
        2,
    );
    let inner = UInt8Array::from_iter_values((0..ROWS).map(|row| row as u8));
    let nested = StructArray::from(vec![(
        Arc::new(Field::new("level", DataType::UInt8, false)),
        Arc::new(inner) as ArrayRef,
    )]);
    let ok = BooleanArray::from_iter((0..ROWS).map(|row| Some(row % 2 == 0)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("x", Arc::new(x)),
        ("timestamp", Arc::new(times)),
        ("mode", Arc::new(mode)),
        ("text", Arc::new(text)),
        ("list", Arc::new(list)),
        ("array", Arc::new(array)),
        ("nested", Arc::new(nested)),
        ("ok", Arc::new(ok)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Returns a Parquet file with row groups of 30 rows, and with `topic` in its metadata.
fn file(batch: &RecordBatch, compression: Compression, topic: Option<&str>) -> Bytes {
    let topic = topic
        .map(|topic| vec![KeyValue::new("logtool.topic".into(), topic.to_owned())]);
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(30))
        .set_key_value_metadata(topic)
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap().into()
}

fn open(bytes: Bytes) -> Box<dyn Log> {
    FORMAT.open(Arc::new(bytes), OpenOptions::default()).unwrap()
}

#[test]
fn parquet_files_keep_the_laws() {
    // The file is small, because it is read many times, truncated and damaged at many positions.
    let rows = rows().slice(0, 40).project(&[0, 1, 2, 4, 6]).unwrap();
    let bytes = file(&rows, Compression::SNAPPY, None);
    logtool_core::conformance::check(&FORMAT, bytes);
}

#[test]
fn columns_have_their_values_with_each_compression() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
        Compression::GZIP(Default::default()),
    ] {
        let log = open(file(&rows(), compression, Some("imu")));
        let manifest = log.manifest();
        assert_eq!(
            (manifest.topics[0].name.as_str(), manifest.parts.len()),
            ("imu", 4)
        );
        assert_eq!(manifest.clock.zero, ClockZero::Boot);
        let batch = table(&*log, View::Nested);
        let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
        assert_eq!(times.value(99), 49_500_000);
        let x: &Float64Array = batch["x"].as_primitive();
        assert!(x.is_null(0) && x.value(1) == 1.0);
        assert_eq!(batch["mode"].as_string::<i32>().value(1), "auto");
        assert_eq!(batch["text"].as_string::<i32>().value(42), "row 42");
        assert_eq!(batch["list"].as_list::<i32>().value(3).len(), 3);
        let flat = table(&*log, View::Flat);
        let array: &Float64Array = flat["array[0]"].as_primitive();
        assert_eq!(array.value(77), 77.0);
        assert_eq!(flat["array[1]"].null_count(), 100);
        let level: &UInt8Array = flat["nested.level"].as_primitive();
        assert_eq!(level.value(99), 99);
    }
}

#[test]
fn rows_without_a_time_are_damage() {
    let times = Int64Array::from(vec![Some(1_717_200_000_000), None, Some(5)]);
    let batch = RecordBatch::try_from_iter([("time", Arc::new(times) as ArrayRef)]);
    let log = open(file(&batch.unwrap(), Compression::SNAPPY, None));
    let manifest = log.manifest();
    assert_eq!(manifest.records(), Some(2));
    assert_eq!((manifest.damage[0].records, manifest.damage[0].lost_bytes), (1, 0));
    // The first value shows that the unit is milliseconds. The end is exclusive.
    let end = manifest.time.unwrap().end.as_nanos();
    assert_eq!(end, 1_717_200_000_000_000_001);
    assert_eq!(table(&*log, View::Nested).num_rows(), 2);
}

#[test]
fn damaged_row_group_is_reported_and_the_others_are_read() {
    let mut bytes = file(&rows(), Compression::SNAPPY, None).to_vec();
    let log = open(bytes.clone().into());
    let second_part = log.manifest().parts[1].bytes.clone();
    bytes[second_part.start as usize..second_part.end as usize].fill(0xa5);
    let log = open(bytes.into());
    let damage = &log.manifest().damage;
    assert_eq!((damage[0].kind, damage[0].records), (DamageKind::Garbled, 30));
    assert_eq!(damage[0].bytes, second_part);
    assert_eq!(log.manifest().records(), Some(70));
    assert_eq!(table(&*log, View::Nested).num_rows(), 70);
}

#[test]
fn file_without_footer_cannot_be_recovered() {
    let bytes = file(&rows(), Compression::SNAPPY, None);
    for len in [4, 11, bytes.len() / 2, bytes.len() - 1] {
        let source = Arc::new(bytes.slice(..len));
        let err = FORMAT.open(source, OpenOptions::default()).err().unwrap();
        assert_eq!(err.kind(), ErrorKind::Malformed);
        assert!(err.to_string().contains("cannot be recovered"), "{err}");
    }
}

#[test]
fn time_column_can_be_chosen() {
    let x = Int64Array::from(vec![1, 2]);
    let batch = RecordBatch::try_from_iter([("a:b", Arc::new(x) as ArrayRef)]).unwrap();
    let bytes = file(&batch, Compression::SNAPPY, None);
    let source: Arc<Bytes> = Arc::new(bytes);
    let err = FORMAT.open(source.clone(), OpenOptions::default()).err().unwrap();
    assert!(err.to_string().contains("its columns are a:b"), "{err}");
    let format = Parquet::default().with_time_column("a:b:us".parse().unwrap());
    let log = format.open(source, OpenOptions::default()).unwrap();
    assert_eq!(log.manifest().time.unwrap().start.as_nanos(), 1_000);
}
