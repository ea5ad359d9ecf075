//! PLY 1.0, Stanford's polygon format, with points and without polygons.
//!
//! ```text
//! ply
//! format binary_little_endian 1.0
//! comment origin of time: 12.500000000 s
//! element vertex 100
//! property float x
//! end_header
//! ```
//! followed by the rows as bytes or text.

use std::{
    collections::BTreeMap,
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Float64Array, PrimitiveArray,
    cast::AsArray as _,
    types::{Float32Type, Float64Type},
};
use logtool_core::Result;

use crate::{
    points::{
        column::{self, NumberType, PointColumn},
        file::{CloudFile, PointOutput, Points, finish_file},
        formats::{point_count_header::PointCountHeader, point_rows},
    },
    provenance::CREATED_BY,
};

/// A PLY file.
pub(crate) struct PlyFile {
    output: PointOutput,
    header: PointCountHeader,
    /// The columns of the file: integers of at most 32 bits, and floats.
    columns: Vec<PointColumn>,
    /// For each column of times, the origin of its seconds in nanoseconds.
    origins: Vec<Option<i64>>,
    is_ascii: bool,
    /// The number of points.
    count: u64,
    /// The number of infinities that were replaced.
    infinities: Arc<AtomicU64>,
}

impl PlyFile {
    /// Starts a file of `columns` in `output`, whose first points are `first_points`. In a text
    /// file, infinities are replaced by `nan`, and `infinities` counts them.
    pub(crate) fn new(
        mut output: PointOutput,
        columns: &[PointColumn],
        is_ascii: bool,
        metadata: &BTreeMap<String, String>,
        first_points: &Points,
        infinities: Arc<AtomicU64>,
    ) -> Result<Self> {
        let mut metadata = metadata.clone();
        let (mut origins, mut columns) = (Vec::new(), columns.to_vec());
        for (column, array) in columns.iter_mut().zip(&first_points.arrays) {
            let origin = column::time_values(array)
                .map(|times| times.into_iter().flatten().next().unwrap_or(0));
            if let Some(origin) = origin {
                metadata
                    .insert(format!("origin of {}", column.name), seconds_text(origin));
            }
            origins.push(origin);
            // PLY has no integers of 64 bits.
            if column.number_type.bytes() == 8 {
                column.number_type = NumberType::Float { bytes: 8 };
            }
        }
        let header = header(&columns, is_ascii, &metadata);
        header.write(&mut output, 0)?;
        Ok(Self { output, header, columns, origins, is_ascii, count: 0, infinities })
    }
}

impl CloudFile for PlyFile {
    fn write(&mut self, points: &Points) -> Result<u64> {
        let mut arrays = Vec::with_capacity(points.arrays.len());
        let columns = self.columns.iter().zip(&self.origins);
        for ((column, origin), array) in columns.zip(&points.arrays) {
            arrays.push(match origin {
                Some(origin) => seconds_since(array, *origin),
                None if column.number_type.bytes() == 8 => {
                    Arc::new(Float64Array::from(column::floats(array)))
                }
                None => array.clone(),
            });
        }
        self.count += points.count as u64;
        if self.is_ascii {
            for array in &mut arrays {
                *array = without_infinities(array, &self.infinities);
            }
            let points = Points { arrays, count: points.count };
            self.output.write_all(&point_rows::text(&points))?;
        } else {
            let points = Points { arrays, count: points.count };
            self.output.write_all(&point_rows::bytes(&points, &self.columns))?;
        }
        Ok(0)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.header.write(&mut self.output, self.count)?;
        finish_file(self.output)
    }
}

/// Replaces infinities in `array` by NaN and adds their number to `count`: readers of text files
/// accept `nan`, but few of them accept `inf`.
fn without_infinities(array: &ArrayRef, count: &AtomicU64) -> ArrayRef {
    if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        return replace_infinities(floats, f32::is_infinite, f32::NAN, count);
    }
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        return replace_infinities(floats, f64::is_infinite, f64::NAN, count);
    }
    array.clone()
}

fn replace_infinities<T: ArrowPrimitiveType>(
    floats: &PrimitiveArray<T>,
    is_infinite: fn(T::Native) -> bool,
    nan: T::Native,
    count: &AtomicU64,
) -> ArrayRef {
    let infinities =
        floats.iter().flatten().filter(|value| is_infinite(*value)).count();
    count.fetch_add(infinities as u64, Ordering::Relaxed);
    let replace = |value| if is_infinite(value) { nan } else { value };
    Arc::new(floats.unary::<_, T>(replace))
}

/// Converts the times of `array` to seconds since `origin`.
fn seconds_since(array: &ArrayRef, origin: i64) -> ArrayRef {
    let times = column::time_values(array).unwrap_or_default();
    let seconds = times.into_iter().map(|nanos| {
        nanos.map(|nanos| (i128::from(nanos) - i128::from(origin)) as f64 / 1e9)
    });
    Arc::new(seconds.collect::<Float64Array>())
}

/// Formats `nanos` as seconds with nine decimals.
fn seconds_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

fn header(
    columns: &[PointColumn],
    is_ascii: bool,
    metadata: &BTreeMap<String, String>,
) -> PointCountHeader {
    let format = if is_ascii { "ascii" } else { "binary_little_endian" };
    let comments: String = metadata
        .iter()
        .map(|(key, value)| format!("comment {key}: {value}\n"))
        .collect();
    let property_line = |column: &PointColumn| {
        let type_name = match column.number_type {
            NumberType::Integer { is_signed: true, bytes: 1 } => "char",
            NumberType::Integer { is_signed: false, bytes: 1 } => "uchar",
            NumberType::Integer { is_signed: true, bytes: 2 } => "short",
            NumberType::Integer { is_signed: false, bytes: 2 } => "ushort",
            NumberType::Integer { is_signed: true, .. } => "int",
            NumberType::Integer { is_signed: false, .. } => "uint",
            NumberType::Float { bytes: 4 } => "float",
            NumberType::Float { .. } | NumberType::Time => "double",
        };
        format!("property {type_name} {}\n", column.name)
    };
    let properties: String = columns.iter().map(property_line).collect();
    let parts =
        [format!("{comments}element vertex "), format!("\n{properties}end_header\n")];
    let first_lines = format!("ply\nformat {format} 1.0\ncomment by {CREATED_BY}");
    PointCountHeader { first_lines, parts: parts.to_vec() }
}
