//! Decodes all typed columns of a ULog with the crate px4-ulog, and touches every value.

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

/// Returns the sum of all values.
fn sum(column: &SomeVec) -> f64 {
    match column {
        SomeVec::Int8(values) => side_by_side(values, f64::from),
        SomeVec::UInt8(values) => side_by_side(values, f64::from),
        SomeVec::Int16(values) => side_by_side(values, f64::from),
        SomeVec::UInt16(values) => side_by_side(values, f64::from),
        SomeVec::Int32(values) => side_by_side(values, f64::from),
        SomeVec::UInt32(values) => side_by_side(values, f64::from),
        SomeVec::Int64(values) => side_by_side(values, |value| value as f64),
        SomeVec::UInt64(values) => side_by_side(values, |value| value as f64),
        SomeVec::Float(values) => side_by_side(values, f64::from),
        SomeVec::Double(values) => side_by_side(values, |value| value),
        SomeVec::Bool(values) => values.iter().filter(|v| **v).count() as f64,
        SomeVec::Char(values) => values.len() as f64,
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
