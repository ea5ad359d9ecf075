//! Measures how fast a table is written that is similar to one of PX4: it has 20 columns, half of
//! which change slowly.
//!
//! The throughput counts the bytes of the records in the log.
#![allow(clippy::unwrap_used)] // a benchmark may panic

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Int32Array, RecordBatch,
    TimestampNanosecondArray, UInt8Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use divan::{Bencher, counter::BytesCount};
use logtool_core::{TableSink, Topic, time_field};
use logtool_sinks::{
    CsvOptions, CsvSink, ExistingFiles, FileNames, IpcSink, JsonLinesSink,
    MemoryBudget, NameStyle, Outputs, ParquetSink,
};

fn main() {
    divan::main();
}

const ROWS: usize = 200_000;
const BATCH_ROWS: usize = 8_000;
/// The size of a record in a ULog file: two bytes of length, one of type, two of subscription, and
/// the columns.
const RECORD_BYTES: usize = 5 + 8 + 10 * 4 + 3 * 4 + 2 * 4 + 2 + 1 + 8;

#[divan::bench]
fn csv(bencher: Bencher<'_, '_>) {
    write(bencher, |outputs, names| {
        Box::new(CsvSink::new(outputs, names, CsvOptions::default()))
    });
}

#[divan::bench]
fn jsonl(bencher: Bencher<'_, '_>) {
    write(bencher, |outputs, names| Box::new(JsonLinesSink::new(outputs, names)));
}

#[divan::bench]
fn ipc(bencher: Bencher<'_, '_>) {
    write(bencher, |outputs, names| {
        Box::new(IpcSink::new(outputs, names, BTreeMap::new(), MemoryBudget::default()))
    });
}

#[divan::bench]
fn parquet(bencher: Bencher<'_, '_>) {
    write(bencher, |outputs, names| {
        Box::new(ParquetSink::new(
            outputs,
            names,
            BTreeMap::new(),
            MemoryBudget::default(),
        ))
    });
}

fn write(
    bencher: Bencher<'_, '_>,
    sink: impl Fn(Arc<Outputs>, FileNames) -> Box<dyn TableSink> + Sync,
) {
    let batches: Vec<_> = (0..ROWS).step_by(BATCH_ROWS).map(batch).collect();
    let schema = batches[0].schema();
    let topic = Topic {
        encoding: "ulog".to_owned(),
        type_name: "vehicle".to_owned(),
        ..Topic::new("vehicle", schema.clone())
    };
    let dir = tempfile::tempdir().unwrap();
    let output_dir = std::env::var_os("LOGTOOL_BENCH_KEEP");
    bencher.counter(BytesCount::new(ROWS * RECORD_BYTES)).bench_local(|| {
        let outputs = Outputs::new(dir.path(), ExistingFiles::Replace);
        let names = FileNames::new(NameStyle::Topic, std::slice::from_ref(&topic));
        let sink = sink(outputs.clone(), names);
        let mut writer = sink.new_table(&topic, &schema).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        outputs.commit().unwrap()
    });
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap();
        let bytes = file.metadata().unwrap().len();
        eprintln!("{} of {}", bytes, ROWS * RECORD_BYTES);
        if let Some(output_dir) = &output_dir {
            let to = std::path::Path::new(output_dir).join(file.file_name());
            std::fs::copy(file.path(), to).unwrap();
        }
    }
}

/// Rows `start..start + BATCH_ROWS`. Moving columns have noise; resting columns repeat their
/// values.
fn batch(start: usize) -> RecordBatch {
    let rows = start..start + BATCH_ROWS;
    let mut random = (start as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut noise = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let micros = |row: usize| 112_574_307 + row as i64 * 4_000;
    let times = rows.clone().map(|row| micros(row) * 1_000).collect::<Vec<_>>();
    let mut fields = vec![time_field("timestamp", "us")];
    let mut columns: Vec<ArrayRef> =
        vec![Arc::new(TimestampNanosecondArray::from(times))];
    let mut add = |name: String, column: ArrayRef| {
        fields.push(Field::new(name, column.data_type().clone(), false));
        columns.push(column);
    };
    for i in 0..5 {
        let moving = rows
            .clone()
            .map(|row| (row as f32 * 0.01 + i as f32).sin() + noise() * 0.01);
        add(format!("q[{i}]"), Arc::new(Float32Array::from_iter_values(moving)));
        let resting = rows.clone().map(|row| (row / 500) as f32 * 0.25 + i as f32);
        add(format!("rest[{i}]"), Arc::new(Float32Array::from_iter_values(resting)));
    }
    for i in 0..3 {
        let counts = rows.clone().map(|row| (row as i32 + i) * 7 % 100_000);
        add(format!("count[{i}]"), Arc::new(Int32Array::from_iter_values(counts)));
    }
    for i in 0..2 {
        let resting = rows.clone().map(|row| (row / 2_000) as i32 + i);
        add(format!("id[{i}]"), Arc::new(Int32Array::from_iter_values(resting)));
    }
    let state = rows.clone().map(|row| (row / 10_000 % 7) as u8);
    add("state".to_owned(), Arc::new(UInt8Array::from_iter_values(state)));
    let mode = rows.clone().map(|row| (row / 777 % 3) as u8);
    add("mode".to_owned(), Arc::new(UInt8Array::from_iter_values(mode)));
    let armed: Vec<bool> = rows.clone().map(|row| row % 50_000 > 1_000).collect();
    add("armed".to_owned(), Arc::new(BooleanArray::from(armed)));
    let sample = rows.map(|row| micros(row) as u64 - 250);
    add("timestamp_sample".to_owned(), Arc::new(UInt64Array::from_iter_values(sample)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}
