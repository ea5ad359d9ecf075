//! Decodes all typed columns of a ULog with logtool, and touches every value, on one thread.

use std::{
    error::Error,
    fs::File,
    sync::{Arc, Mutex},
};

use arrow_array::{Array, RecordBatch, cast::AsArray as _, types::*};
use arrow_schema::{DataType, SchemaRef};
use logtool_core::{
    Columns, FileSource, OpenOptions, Result, Selection, TableJob, TableSink,
    TableWriter, TimeBase, Topic, View, export_tables,
};
use logtool_ulog::UlogLog;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: columns_logtool FILE")?;
    let log = UlogLog::open(
        Arc::new(FileSource::new(File::open(path)?)?),
        OpenOptions::default(),
    )?;
    let job = TableJob {
        selection: Selection::default(),
        columns: Columns::new(View::Nested),
        columns_by_topic: Default::default(),
        time: TimeBase::default(),
        part_bytes: 8 << 20,
        progress: &|_| {},
    };
    let touch = Touch::default();
    let report = export_tables(&log, &job, &touch)?;
    println!(
        "{} records, sum {:?}",
        report.records,
        touch.sum.lock().map_err(|err| err.to_string())?
    );
    Ok(())
}

/// A sink that adds up all values.
#[derive(Default)]
struct Touch {
    sum: Arc<Mutex<f64>>,
}

struct TouchTable(Arc<Mutex<f64>>);

impl TableSink for Touch {
    fn new_table(&self, _: &Topic, _: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(TouchTable(self.sum.clone())))
    }
}

impl TableWriter for TouchTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let sum: f64 = batch.columns().iter().map(|column| sum(column)).sum();
        if let Ok(mut all) = self.0.lock() {
            *all += sum;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Returns the sum of all values; strings count as their lengths.
fn sum(array: &dyn Array) -> f64 {
    macro_rules! add {
        ($type:ty) => {
            side_by_side(array.as_primitive::<$type>().values(), |value| value as f64)
        };
    }
    match array.data_type() {
        DataType::Int8 => add!(Int8Type),
        DataType::Int16 => add!(Int16Type),
        DataType::Int32 => add!(Int32Type),
        DataType::Int64 => add!(Int64Type),
        DataType::UInt8 => add!(UInt8Type),
        DataType::UInt16 => add!(UInt16Type),
        DataType::UInt32 => add!(UInt32Type),
        DataType::UInt64 => add!(UInt64Type),
        DataType::Float32 => add!(Float32Type),
        DataType::Float64 => add!(Float64Type),
        DataType::Timestamp(_, _) => add!(TimestampNanosecondType),
        DataType::Boolean => array.as_boolean().true_count() as f64,
        DataType::Utf8 => array.as_string::<i32>().value_data().len() as f64,
        DataType::FixedSizeList(_, _) => sum(array.as_fixed_size_list().values()),
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(|column| sum(column)).sum()
        }
        other => panic!("a column of {other}"),
    }
}

/// Returns the sum of `values`, each read by `number`. Eight partial sums are computed in parallel, so
/// that adding costs little compared to reading.
fn side_by_side<T: Copy>(values: &[T], number: impl Fn(T) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += number(*value);
        }
    }
    sums.into_iter().chain(rest.iter().map(|value| number(*value))).sum()
}
