//! Full typed columns of a ULog, every value touched, by the crate px4-ulog.

use std::error::Error;

use px4_ulog::full_parser::{SomeVec, read_file};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: columns_px4_ulog FILE")?;
    let data = read_file(&path)?;
    let (mut all, mut columns) = (0.0, 0);
    for fields in data.messages.values().flat_map(|instances| instances.values()) {
        for column in fields.values() {
            columns += 1;
            all += sum(column);
        }
    }
    println!("{columns} columns, sum {all:?}");
    Ok(())
}

/// The sum of all values.
fn sum(column: &SomeVec) -> f64 {
    match column {
        SomeVec::Int8(values) => values.iter().map(|v| f64::from(*v)).sum(),
        SomeVec::UInt8(values) => values.iter().map(|v| f64::from(*v)).sum(),
        SomeVec::Int16(values) => values.iter().map(|v| f64::from(*v)).sum(),
        SomeVec::UInt16(values) => values.iter().map(|v| f64::from(*v)).sum(),
        SomeVec::Int32(values) => values.iter().map(|v| f64::from(*v)).sum(),
        SomeVec::UInt32(values) => values.iter().map(|v| f64::from(*v)).sum(),
        SomeVec::Int64(values) => values.iter().map(|v| *v as f64).sum(),
        SomeVec::UInt64(values) => values.iter().map(|v| *v as f64).sum(),
        SomeVec::Float(values) => values.iter().map(|v| f64::from(*v)).sum(),
        SomeVec::Double(values) => values.iter().sum(),
        SomeVec::Bool(values) => values.iter().filter(|v| **v).count() as f64,
        SomeVec::Char(values) => values.len() as f64,
    }
}
