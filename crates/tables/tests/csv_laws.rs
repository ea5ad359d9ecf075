//! Tests that CSV files keep the laws of all formats, and that their values are read correctly.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

mod common;

use std::sync::Arc;

use arrow_array::{
    Array as _, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array,
    cast::AsArray as _, types::TimestampNanosecondType,
};
use arrow_schema::DataType;
use bytes::Bytes;
use common::table;
use logtool_core::{
    Block, ClockZero, DamageKind, ErrorKind, Format as _, Log, OpenOptions, Selection,
    View,
};
use logtool_tables::csv::{Csv, FORMAT};

fn open(text: impl Into<Bytes>) -> Box<dyn Log> {
    FORMAT.open(Arc::new(text.into()), OpenOptions::default()).unwrap()
}

/// Returns a table with cells of every type, quotes, empty cells and line endings in cells.
fn sample() -> String {
    let mut text = "timestamp,count,x[0],x[1],ok,note,empty\r\n".to_owned();
    for row in 0..60 {
        let note = match row % 4 {
            0 => "\"two\r\nlines, \"\"quoted\"\"\"",
            1 => "",
            _ => "plain",
        };
        let x = if row % 7 == 0 { String::new() } else { format!("{}.5", row * 3) };
        let time = 1_000_000 + row * 1_000;
        text += &format!("{time},{row},{x},-{row},{},{note},\r\n", row % 2 == 0);
    }
    text
}

#[test]
fn csv_files_keep_the_laws() {
    logtool_core::conformance::check(&FORMAT, sample().into());
}

#[test]
fn damaged_tables_keep_the_laws() {
    let damaged = sample().replacen("plain,", "plain", 3).replacen("1005000,", "x,", 1);
    logtool_core::conformance::check_damaged(&FORMAT, damaged.clone().into());
    let truncated = damaged + "1,2,\"open";
    logtool_core::conformance::check_damaged(&FORMAT, truncated.into());
}

#[test]
fn long_tables_have_several_parts_that_keep_the_laws() {
    let row = |row: u32| format!("{row},\"{}\n\"\n", "x".repeat(400));
    let text = "time,x\n".to_owned() + &(0..6_000).map(row).collect::<String>();
    let log = open(text.clone());
    assert_eq!(log.manifest().parts.len(), 2);
    assert_eq!(log.manifest().records(), Some(6_000));
    // A row without its comma.
    let log = open(text.replace("\n5500,", "\n5500;"));
    let selection = Selection::default();
    let (mut block, mut damage) = (Block::default(), Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            damage.extend_from_slice(block.damage());
        }
    }
    assert_eq!(damage, log.manifest().damage);
    // Line 1 is the header, and each of the 5500 rows before this one has two lines.
    assert_eq!(
        damage[0].reason.as_deref(),
        Some("line 11002 has the wrong number of cells: 1, not 2")
    );
}

#[test]
fn cells_have_their_values_and_types() {
    let log = open(sample());
    let batch = table(&*log, View::Nested);
    let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(times.value(1), 1_001_000_000);
    let count: &Int64Array = batch["count"].as_primitive();
    assert_eq!(count.value(59), 59);
    let ok: &BooleanArray = batch["ok"].as_boolean();
    assert!(ok.value(0) && !ok.value(1));
    let note: &StringArray = batch["note"].as_string();
    assert_eq!(note.value(0), "two\r\nlines, \"quoted\"");
    assert!(note.is_null(1));
    let x = batch["x"].as_fixed_size_list();
    assert_eq!(x.value_length(), 2);
    let values: &Float64Array = x.values().as_primitive();
    assert!(values.is_null(0));
    assert_eq!((values.value(2), values.value(3)), (3.5, -1.0));
    assert_eq!(batch["empty"].null_count(), 60);
    let flat = table(&*log, View::Flat);
    let values: &Float64Array = flat["x[1]"].as_primitive();
    assert_eq!(values.value(59), -59.0);
}

#[test]
fn columns_of_mixed_types_are_text_and_a_remark_states_why() {
    let log = open("t,a,b,c\n1,1,18446744073709551615,x\n2,2.5,1,y\n3,z,2,\n");
    let batch = table(&*log, View::Nested);
    assert_eq!(batch["a"].data_type(), &DataType::Utf8);
    let b: &UInt64Array = batch["b"].as_primitive();
    assert_eq!(b.value(0), u64::MAX);
    let remarks = &log.manifest().remarks;
    let mixed: Vec<&String> =
        remarks.iter().filter(|text| text.contains("text")).collect();
    assert_eq!(mixed.len(), 1, "{remarks:?}");
    assert!(mixed[0].contains("`z` in line 4"), "{mixed:?}");
}

#[test]
fn rows_that_do_not_fit_are_damage_with_their_line() {
    let log = open("time,x\r\n1,2\r\n3\r\n\r\n4,5,6\r\n,7\r\n8,9\r\n");
    let manifest = log.manifest();
    assert_eq!(manifest.records(), Some(2));
    let reported: Vec<_> = manifest
        .damage
        .iter()
        .map(|damage| {
            (
                damage.kind,
                damage.bytes.start,
                damage.reason.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    let garbled = DamageKind::Garbled;
    assert_eq!(
        reported,
        [
            (garbled, 13, "line 3 has the wrong number of cells: 1, not 2"),
            // The range starts with the blank line before the row.
            (garbled, 16, "line 5 has the wrong number of cells: 3, not 2"),
            (garbled, 25, "line 6 has no time"),
        ]
    );
}

#[test]
fn truncated_tables_have_their_complete_rows() {
    let log = open("time,x\n1,2\n3,\"4\n5,6\n");
    assert_eq!(log.manifest().records(), Some(2));
    assert_eq!(log.manifest().damage[0].kind, DamageKind::Truncated);
    let log = open("time,x\n1,2\n3");
    assert_eq!(log.manifest().damage[0].kind, DamageKind::Truncated);
    let log = open("time,x\n1,2\n3,4");
    assert_eq!(log.manifest().records(), Some(2));
    assert!(log.manifest().damage.is_empty());
    assert!(log.manifest().remarks[1].contains("no end of its line"));
}

#[test]
fn time_column_is_detected_or_chosen() {
    // `date -u -d 2024-06-01 +%s` is 1717200000.
    let june_2024 = 1_717_200_000_000_000_000;
    for (text, nanos, clock_zero) in [
        ("timestamp,x\n5020174,1\n", 5_020_174_000, ClockZero::Boot),
        ("Time,x\n1.5,1\n", 1_500_000_000, ClockZero::Boot),
        ("time,x\n1717200000000000000,1\n", june_2024, ClockZero::Unix),
        ("%time,field.x\n1717200000000000000,1\n", june_2024, ClockZero::Unix),
        ("x,rosbagTimestamp\n1,1717200000000000000\n", june_2024, ClockZero::Unix),
        (",x\n2024-06-01 00:00:00,1\n", june_2024, ClockZero::Unix),
        ("x;when\n1;2024-06-01T02:00:00+02:00\n", june_2024, ClockZero::Unix),
    ] {
        let log = open(text);
        let manifest = log.manifest();
        assert_eq!(manifest.time.unwrap().start.as_nanos(), nanos, "{text}");
        assert_eq!(manifest.clock.zero, clock_zero, "{text}");
        assert_eq!(manifest.topics[0].schema.fields().len(), 2, "{text}");
    }
    let text = Bytes::from_static(b"a,b\n1,2\n");
    let options = OpenOptions::default();
    let err = FORMAT.open(Arc::new(text.clone()), options).err().unwrap();
    assert_eq!(err.kind(), ErrorKind::Unsupported);
    assert!(err.to_string().contains("its columns are a, b"), "{err}");
    let csv = Csv::default().with_time_column("b:ms".parse().unwrap());
    let log = csv.open(Arc::new(text.clone()), options).unwrap();
    assert_eq!(log.manifest().time.unwrap().start.as_nanos(), 2_000_000);
    let csv = Csv::default().with_time_column("c".parse().unwrap());
    assert_eq!(
        csv.open(Arc::new(text), options).err().unwrap().kind(),
        ErrorKind::NoSuch
    );
}

#[test]
fn text_that_is_not_utf8_is_decoded_as_latin1() {
    let log = open(&b"time,x\n1,S\xfcd\n2,\0\n"[..]);
    let batch = table(&*log, View::Nested);
    let x: &StringArray = batch["x"].as_string();
    assert_eq!((x.value(0), x.value(1)), ("Süd", "\0"));
}

#[test]
fn rows_beyond_the_limit_are_damage() {
    let mut options = OpenOptions::default();
    options.record_bytes = 1_000;
    options.block_bytes = 64;
    let text = format!(
        "time,x\n1,\"{}\"\n2,3\n4,\"{}",
        "x".repeat(5_000),
        "\n5,6".repeat(900)
    );
    let log = FORMAT.open(Arc::new(Bytes::from(text)), options).unwrap();
    let manifest = log.manifest();
    assert_eq!(manifest.records(), Some(901));
    assert_eq!(manifest.damage[0].kind, DamageKind::OverLimit);
    assert_eq!(
        (manifest.damage[0].bytes.clone(), manifest.damage[0].records),
        (7..5_012, 1)
    );
}
