//! Tests that small Parquet files do not take much memory: their values may share bytes.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

mod common;

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, Float64Array, ListArray, RecordBatch, StringArray,
    StructArray,
    builder::{ListBuilder, StringBuilder},
    cast::AsArray as _,
};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use common::table;
use logtool_core::{DamageKind, Format as _, Log, OpenOptions, View};
use logtool_tables::parquet::FORMAT;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding},
    file::properties::{WriterProperties, WriterPropertiesBuilder},
};

/// The rows of each file, and the length of the string that all of them have: 96 MiB together, from
/// less than 10 kB.
const ROWS: usize = 96;
const LEN: usize = 1 << 20;

fn strings() -> StringArray {
    StringArray::from(vec!["x".repeat(LEN); ROWS])
}

fn dictionary() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_dictionary_page_size_limit(2 * LEN)
}

/// Returns a file with `column` after a time column.
fn file(column: ArrayRef, properties: WriterPropertiesBuilder) -> Bytes {
    let times = Float64Array::from_iter_values((0..ROWS).map(|row| row as f64));
    let batch =
        RecordBatch::try_from_iter([("time", Arc::new(times) as _), ("s", column)]);
    let batch = batch.unwrap();
    let compression = Compression::ZSTD(Default::default());
    let properties = properties.set_compression(compression).build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let bytes: Bytes = writer.into_inner().unwrap().into();
    assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
    bytes
}

fn open(bytes: &Bytes, record_bytes: Option<u32>) -> Box<dyn Log> {
    let mut options = OpenOptions::default();
    options.record_bytes = record_bytes.unwrap_or(options.record_bytes);
    FORMAT.open(Arc::new(bytes.clone()), options).unwrap()
}

#[test]
fn long_values_that_share_bytes_are_damage_and_not_decoded() {
    let list = || -> ListArray {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for _ in 0..ROWS {
            lists.values().append_value("x".repeat(LEN));
            lists.append(true);
        }
        lists.finish()
    };
    let inner = Arc::new(Field::new("a", DataType::Utf8, false));
    let nested = StructArray::from(vec![(inner, Arc::new(strings()) as ArrayRef)]);
    let prefixes = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("s".into(), Encoding::DELTA_BYTE_ARRAY);
    let files = [
        ("dictionary", file(Arc::new(strings()), dictionary())),
        ("dictionary of a list", file(Arc::new(list()), dictionary())),
        ("dictionary of a struct", file(Arc::new(nested), dictionary())),
        ("prefixes", file(Arc::new(strings()), prefixes)),
    ];
    for (name, bytes) in files {
        let log = open(&bytes, None);
        assert_eq!(log.manifest().records(), Some(ROWS as u64), "{name}");
        let selection = logtool_core::Selection::default();
        let part = &log.manifest().plan(&selection, 0)[0];
        let mut cursor = log.read(part, &selection).unwrap();
        let mut block = logtool_core::Block::default();
        assert!(cursor.fill(&mut block).unwrap());
        let [damage] = block.damage() else { panic!("{name}: {:?}", block.damage()) };
        assert_eq!(
            (damage.kind, damage.records),
            (DamageKind::OverLimit, ROWS as u64),
            "{name}"
        );
        assert!(!cursor.fill(&mut block).unwrap(), "{name}");
    }
}

#[test]
fn greater_limit_for_records_reads_long_values() {
    let bytes = file(Arc::new(strings()), dictionary());
    let log = open(&bytes, Some(257 << 20));
    let batch = table(&*log, View::Nested);
    let values = batch["s"].as_string::<i32>();
    assert_eq!(values.len(), ROWS);
    assert!(values.iter().all(|value| value.unwrap().len() == LEN));
}
